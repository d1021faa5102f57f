// Trains pipelines on one GPU: four ranks as threads, with streams of their own. The bits must be
// those of all on one stream, however long the streams' work takes. So spin kernels of random
// lengths are put into each rank's streams.
//    pipelines [--cpu] [--only SCHEDULE] [RUNS]
// It also trains once with LibTorch's debug mode for synchronising calls on, from lr to optimizer.
// In another training CUPTI counts them: a rank's thread waits for room alone (RankDevice).
// --cpu compares with one process on the CPU, where there is no device.
// Exit code: 0 all equal, 1 not, 2 could not, 77 there is no CUDA device or no libtorch_cuda.so.
#include <ATen/Context.h>
#include <c10/cuda/CUDAFunctions.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "profiler/clock/wall_clock.h"
#include "runtime/device/rank_device.h"
#include "runtime/executor.h"
#include "runtime/stage_work.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "schedule/build_schedule.h"
#include "tests/gpu/cuda_waits.h"
#include "trace/error.h"
#include "trace/nanoseconds.h"

namespace pipetrace {
namespace {

constexpr int kNothingHere = 77;
constexpr int kRanks = 4;
constexpr int kMicroBatches = 8;
const char* const kSchedules[] = {"1F1B", "Interleaved1F1B", "ZB-H1", "ZBV", "DualPipe"};

using testing::firstDifference;
using testing::RankResult;
using testing::TrainingCase;

/// at::cuda::sleep(): a kernel on the current stream that spins for that many cycles.
using Spin = void (*)(std::int64_t cycles);

/// Puts a spin of up to 0.2 ms before most jobs and into the streams of messages.
class SpinningWork : public ForwardingWork {
 public:
  SpinningWork(StageWork& inner, Spin spin, unsigned seed)
      : ForwardingWork(inner), spin_(spin), random_(seed) {}
  void runForward(int stage, int microBatch, JobMessages messages) override {
    spinAtRandom();
    ForwardingWork::runForward(stage, microBatch, messages);
    spinAtRandom();
  }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    spinAtRandom();
    ForwardingWork::runBackward(stage, microBatch, messages);
    spinAtRandom();
  }

 private:
  void spinAtRandom() {
    if (spin_ == nullptr) return;
    const auto cycles = [&] { return static_cast<std::int64_t>(random_() % 300'000); };
    if (random_() % 2 == 0) spin_(cycles());
    if (random_() % 4 != 0) return;
    const c10::StreamGuard guard(device()->receives(random_() % 2 == 0));
    spin_(cycles());
  }

  const Spin spin_;
  std::mt19937 random_;
};

/// Counts the calls of a rank's thread in which it waits for the device.
class CountedWork : public SpinningWork {
 public:
  using SpinningWork::SpinningWork;
  void lr(int step) override {
    SpinningWork::lr(step);
    CudaWaits::begin();
  }
  void optimizerStep() override {
    CudaWaits::end();
    SpinningWork::optimizerStep();
  }
};

/// Calls that synchronise throw between lr and optimizer. The mode is that of the process, so no
/// rank reads its results before all have come to the optimizer of the only step.
class StrictWork : public ForwardingWork {
 public:
  StrictWork(StageWork& inner, std::atomic<int>& inStep) : ForwardingWork(inner), inStep_(inStep) {}
  void lr(int step) override {
    ForwardingWork::lr(step);
    if (++inStep_ == kRanks)
      c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR);
    while (inStep_ < kRanks) std::this_thread::yield();
  }
  void optimizerStep() override {
    if (++inStep_ == 2 * kRanks) {
      c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED);
    }
    while (inStep_ < 2 * kRanks) std::this_thread::yield();
    ForwardingWork::optimizerStep();
  }

 private:
  std::atomic<int>& inStep_;
};

enum class Streams { kOne, kSeparate, kSpinning, kCounted, kStrict };

std::vector<RankResult> train(const TrainingCase& training, const CheckedPlan& plan,
                              c10::DeviceType type, Streams streams, unsigned seed, Spin spin) {
  std::vector<RankResult> results(plan->ranks.size());
  std::atomic<int> inStep = 0;
  const auto errors =
      runConnected(testing::Wiring::kInProcess, plan->numRanks(), [&](Transport& transport) {
        const auto rank = static_cast<unsigned>(transport.rank());
        testing::OnDevice on;
        std::unique_ptr<RankDevice> device;
        if (type != c10::kCPU) {
          device = std::make_unique<RankDevice>(
              deviceOfRank(type, transport.rank(), true), usualJobsAhead(*plan),
              streams == Streams::kOne ? RankDevice::Streams::kDefault
                                       : RankDevice::Streams::kSeparate);
          on.device = device.get();
        }
        on.around = [&](StageWork& inner) -> std::unique_ptr<StageWork> {
          if (streams == Streams::kSpinning) {
            return std::make_unique<SpinningWork>(inner, spin, seed * kRanks + rank);
          }
          if (streams == Streams::kCounted) {
            return std::make_unique<CountedWork>(inner, spin, rank);
          }
          if (streams == Streams::kStrict) return std::make_unique<StrictWork>(inner, inStep);
          return nullptr;
        };
        results[rank] = trainRank(training, plan, transport, {}, on);
      });
  for (const std::string& error : errors) {
    if (!error.empty()) throw Error(plan->name + ": " + error);
  }
  return results;
}

/// How often the hosts of all ranks wait for room in a training.
std::int64_t waitsForRoom(const Plan& plan, int steps) {
  std::int64_t waits = 0;
  for (const auto& actions : plan.ranks) {
    const auto jobs = std::count_if(actions.begin(), actions.end(),
                                    [](const Action& action) { return isCompute(action.kind); });
    waits += std::max<std::int64_t>(0, steps * jobs - usualJobsAhead(plan));
  }
  return waits;
}

/// Trains while CUPTI counts: "; by CUPTI: 88 cudaEventSynchronize (88 waits for room)".
std::string countedWaits(const TrainingCase& training, const CheckedPlan& plan,
                         c10::DeviceType type, Spin spin, int& failed) {
  train(training, plan, type, Streams::kCounted, 0, spin);
  const CudaWaits::Counts counts = CudaWaits::take();
  const std::int64_t rooms = type == c10::kCPU ? 0 : waitsForRoom(*plan, training.steps);
  CudaWaits::Counts expected;
  if (rooms > 0) expected["cudaEventSynchronize"] = rooms;
  failed += counts == expected ? 0 : 1;
  std::string text;
  for (const auto& [call, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + call;
  }
  if (text.empty()) text = "no call that waits";
  return "; by CUPTI: " + text + " (" + std::to_string(rooms) + " waits for room)";
}

int run(bool onCpu, const std::string& only, int runs) {
  c10::DeviceType type = c10::kCPU;
  Spin spin = nullptr;
  if (!onCpu) {
    try {
      type = openDevices("cuda");
    } catch (const Error& error) {
      std::printf("  not run: %s\n", error.what());
      return kNothingHere;
    }
    spin = reinterpret_cast<Spin>(dlsym(RTLD_DEFAULT, "_ZN2at4cuda5sleepEl"));
    if (spin == nullptr) throw Error("libtorch_cuda has no at::cuda::sleep()");
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
    at::globalContext().setAllowTF32CuBLAS(false);
  }
  const CudaWaits waits;
  if (!waits.trouble().empty()) {
    std::printf("  CUPTI's count: not to be had (%s)\n", waits.trouble().c_str());
  }
  int failed = 0;
  int done = 0;
  for (const char* const name : kSchedules) {
    if (!only.empty() && only != name) continue;
    ++done;
    const CheckedPlan plan = buildSchedule(name, kRanks, kMicroBatches);
    TrainingCase training{.numStages = plan->numStages, .microBatches = kMicroBatches, .steps = 2};
    const Nanoseconds begin = monotonicNow();
    const auto count = [&] {
      return waits.trouble().empty() ? countedWaits(training, plan, type, spin, failed) : "";
    };
    if (onCpu) {
      const auto alone = trainAlone(training, *plan);
      const auto different =
          firstDifference(train(training, plan, type, Streams::kSeparate, 0, spin), alone);
      failed += different.empty() ? 0 : 1;
      const std::string counted = count();
      std::printf("  %s on the CPU: %s%s\n", name,
                  different.empty() ? "the bits of one process" : different.c_str(),
                  counted.c_str());
      continue;
    }
    const auto alone = train(training, plan, type, Streams::kOne, 0, spin);
    int equal = 0;
    std::string different;
    for (int i = 0; i < runs; ++i) {
      const auto results =
          train(training, plan, type, Streams::kSpinning, static_cast<unsigned>(i), spin);
      const std::string difference = firstDifference(results, alone);
      equal += difference.empty() ? 1 : 0;
      if (different.empty()) different = difference;
    }
    const std::string counted = count();
    std::string strict = "no synchronising call from lr to optimizer";
    training.steps = 1;
    try {
      train(training, plan, type, Streams::kStrict, 0, spin);
    } catch (const std::exception& error) {
      strict = error.what();
      ++failed;
    }
    c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED);
    failed += equal == runs ? 0 : 1;
    std::printf(
        "  %s on %d streams: %d of %d runs have the bits of one stream%s%s; %s%s (%.1f s)\n", name,
        kRanks, equal, runs, different.empty() ? "" : "; ", different.c_str(), strict.c_str(),
        counted.c_str(), static_cast<double>(monotonicNow() - begin) / 1e9);
    std::fflush(stdout);
  }
  if (done == 0) throw Error("it trains no " + only);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  bool onCpu = false;
  std::string only;
  int runs = 50;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--cpu") {
      onCpu = true;
    } else if (argument == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else {
      runs = std::max(1, std::atoi(argument.c_str()));
    }
  }
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  try {
    return pipetrace::run(onCpu, only, runs);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pipelines: %s\n", error.what());
    return 2;
  }
}
