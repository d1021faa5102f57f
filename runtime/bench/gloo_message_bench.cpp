// Measures what a message over Gloo costs when header and bytes travel together in one buffer, into
// which the sender copies the bytes, and when they travel apart. Two ranks, threads of this
// process, send each other messages as the stages of a pipeline do. Prints microseconds a message
// of each length, processor time of both ranks and wall time: medians of rounds in turn.
//
//   gloo_message_bench [rounds [KiB of the longest message]]
#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <limits>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "runtime/engine/engine_main.h"
#include "runtime/transport/gloo_lanes.h"
#include "runtime/transport/gloo_pairs.h"
#include "runtime/transport/gloo_store.h"

namespace pipetrace {
namespace {

constexpr int kMicroBatches = 8;
constexpr std::size_t kAhead = 2;

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// A rank of the two, with a lane to the other and one from it.
class Rank {
 public:
  Rank(const c10::intrusive_ptr<c10d::Store>& store, int rank) : rank_(rank) {
    auto options = c10d::ProcessGroupGloo::Options::create();
    GlooDevice device = makeGlooDevice("127.0.0.1");
    options->devices.push_back(std::move(device.device));
    const auto group = c10::make_intrusive<LazyGroup>(store, rank, 2, options);
    group_ = std::make_unique<GlooGroup>(
        group, 60 * kNsPerSecond,
        std::make_unique<GlooPairs>(group, std::make_shared<GlooStore>(store), 60 * kNsPerSecond,
                                    device.newPorts));
    group_->open(1 - rank);
    group_->awaitOpen();
  }

  /// Runs that many steps. Messages of the first one come apart in any case.
  void run(std::int64_t bytes, std::int64_t longestTogether, int steps) {
    const MessageKind there = rank_ == 0 ? MessageKind::kActivations : MessageKind::kGradients;
    const MessageKind back = rank_ == 0 ? MessageKind::kGradients : MessageKind::kActivations;
    GlooLaneOptions options{.peer = 1 - rank_,
                            .name = there,
                            .messages = kMicroBatches,
                            .longestTogether = longestTogether};
    const StampClock noClock;
    const auto send = makeGlooSendLane(*group_, options, noClock);
    options.name = back;
    const auto receive = makeGlooReceiveLane(*group_, options, noClock);
    const at::Tensor tensor = at::zeros({bytes}, at::kByte);
    const auto key = [](MessageKind kind, int step, std::size_t microBatch) {
      return MessageKey{.step = step, .microBatch = static_cast<int>(microBatch), .kind = kind};
    };
    for (int step = 0; step < steps; ++step) {
      std::vector<std::uint64_t> posted;
      const auto post = [&](std::size_t until) {
        while (posted.size() < std::min<std::size_t>(kMicroBatches, until)) {
          posted.push_back(receive->post(key(back, step, posted.size())));
        }
      };
      for (std::size_t i = 0; i < kMicroBatches; ++i) {
        post(i + 1 + kAhead);
        if (rank_ == 0) send->send(key(there, step, i), {.tensor = tensor});
        receive->take(posted[i], key(back, step, i));
        if (rank_ == 1) send->send(key(there, step, i), {.tensor = tensor});
      }
    }
    send->awaitAll();
    group_->barrier();
  }

 private:
  const int rank_;
  std::unique_ptr<GlooGroup> group_;
};

struct Time {
  double processor = 0;
  double wall = 0;
};

/// Microseconds a message of `steps` steps after the first two.
Time measure(std::vector<Rank>& ranks, std::int64_t bytes, std::int64_t longestTogether,
             int steps) {
  const auto runBoth = [&](int count) {
    const double wall = seconds(CLOCK_MONOTONIC);
    const double processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    std::thread other([&] { ranks[1].run(bytes, longestTogether, count); });
    ranks[0].run(bytes, longestTogether, count);
    other.join();
    return Time{.processor = seconds(CLOCK_PROCESS_CPUTIME_ID) - processor,
                .wall = seconds(CLOCK_MONOTONIC) - wall};
  };
  const Time start = runBoth(2);
  const Time all = runBoth(2 + steps);
  const double scale = 1e6 / (2.0 * kMicroBatches * steps);
  return {.processor = (all.processor - start.processor) * scale,
          .wall = (all.wall - start.wall) * scale};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(std::vector<Rank>& ranks, std::int64_t bytes, int rounds) {
  constexpr std::int64_t kAlways = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kNever = -1;
  const int steps =
      static_cast<int>(std::clamp<std::int64_t>((std::int64_t{256} << 20) / (16 * bytes), 4, 100));
  std::vector<double> processor[2];
  std::vector<double> wall[2];
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    Time times[2];
    for (const int turn : {0, 1}) {
      const int together = (round + turn) % 2;
      times[together] = measure(ranks, bytes, together == 1 ? kAlways : kNever, steps);
    }
    for (const int i : {0, 1}) {
      processor[i].push_back(times[i].processor);
      wall[i].push_back(times[i].wall);
    }
    ratios.push_back(times[1].processor / times[0].processor);
  }
  std::printf("%6ld KiB  processor: apart %7.1f together %7.1f, ratio %.3f  wall: %7.1f %7.1f\n",
              static_cast<long>(bytes >> 10), median(processor[0]), median(processor[1]),
              median(ratios), median(wall[0]), median(wall[1]));
  std::fflush(stdout);
}

int run(int rounds, int longest) {
  at::set_num_threads(1);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<Rank> ranks;
  {
    std::unique_ptr<Rank> both[2];
    std::thread other([&] { both[1] = std::make_unique<Rank>(store, 1); });
    both[0] = std::make_unique<Rank>(store, 0);
    other.join();
    for (auto& rank : both) ranks.push_back(std::move(*rank));
  }
  for (const std::int64_t kibibytes : {1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 16384}) {
    if (kibibytes <= longest) compare(ranks, kibibytes << 10, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::reuseFreedMemory();
  try {
    return pipetrace::run(argc > 1 ? std::atoi(argv[1]) : 15,
                          argc > 2 ? std::atoi(argv[2]) : 1 << 20);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 2;
  }
}
