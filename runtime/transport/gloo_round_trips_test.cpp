// How many transfers a message takes, and how often the receiver answers its header before the
// bytes can come.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

#include "runtime/testing/passed_messages.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/transport/gloo_group.h"
#include "runtime/transport/gloo_lanes.h"

namespace pipetrace {
namespace {

using testing::expectSame;
using testing::numbers;

/// Counts a rank's sends and receives, and the second round trips of its messages. A second round
/// trip is a receive that is posted on another thread than the one that made the group. A lane's
/// own thread posts it when it has seen the message's header, and the sender's bytes wait for that.
class CountingGroup : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;

  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int to, int tag) override {
    if (tag != kBarrierTag) ++operations_;
    return ProcessGroupGloo::send(tensors, to, tag);
  }
  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from,
                                      int tag) override {
    if (tag != kBarrierTag) ++operations_;
    if (std::this_thread::get_id() != maker_) ++second_;
    return ProcessGroupGloo::recv(tensors, from, tag);
  }
  int operations() const { return operations_; }
  int second() const { return second_; }

 private:
  const std::thread::id maker_ = std::this_thread::get_id();
  std::atomic<int> operations_ = 0;
  std::atomic<int> second_ = 0;
};

/// The rows of each micro-batch of each step, in the order in which they are sent.
using Steps = std::vector<std::vector<int>>;

/// How much the messages of each step took.
struct Counts {
  std::vector<int> sends;
  std::vector<int> receives;
  std::vector<int> secondTrips;
};

struct Passing {
  std::size_t ahead = 0;  ///< receives of a step that are posted before their use
  std::int64_t longestTogether = ReceiveBufferSizes::kLongestTogether;
};

/// Sends these rows of three floats from one rank to another.
Counts countsOf(const Steps& steps, const Passing& passing = {}) {
  Counts counts;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto errors = testing::runRanks(2, [&](int rank) {
    auto groupOptions = c10d::ProcessGroupGloo::Options::create();
    groupOptions->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    const auto counting = c10::make_intrusive<CountingGroup>(store, rank, 2, groupOptions);
    GlooGroup group(counting, 60 * kNsPerSecond);
    const StampClock noClock;
    const GlooLaneOptions lane{.peer = 1 - rank,
                               .name = MessageKind::kGradients,
                               .messages = steps.front().size(),
                               .longestTogether = passing.longestTogether};
    const auto keyOf = [](std::size_t step, std::size_t message) {
      return MessageKey{.step = static_cast<int>(step),
                        .microBatch = static_cast<int>(message),
                        .kind = MessageKind::kGradients};
    };
    const auto send = rank == 0 ? makeGlooSendLane(group, lane, noClock) : nullptr;
    const auto receive = rank == 1 ? makeGlooReceiveLane(group, lane, noClock) : nullptr;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const std::vector<int>& rows = steps[step];
      const int before = counting->operations();
      const int secondBefore = counting->second();
      std::vector<std::uint64_t> posted;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const at::Tensor tensor = numbers(rows[i], at::kFloat);
        if (rank == 0) {
          send->send(keyOf(step, i), {.tensor = tensor});
          continue;
        }
        while (posted.size() < std::min(rows.size(), i + 1 + passing.ahead)) {
          posted.push_back(receive->post(keyOf(step, posted.size())));
        }
        expectSame(receive->take(posted[i], keyOf(step, i)).message.tensor, tensor);
      }
      (rank == 0 ? counts.sends : counts.receives).push_back(counting->operations() - before);
      if (rank == 1) counts.secondTrips.push_back(counting->second() - secondBefore);
    }
    if (send) send->awaitAll();
    group.barrier();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
  return counts;
}

void expectOperations(const Counts& counts, const std::vector<int>& each) {
  EXPECT_EQ(counts.sends, each);
  EXPECT_EQ(counts.receives, each);
}

// Ten rows in four micro-batches are 3, 3, 2 and 2. GPipe's backwards come newest first.
const std::vector<int> kGpipe{2, 2, 3, 3};

TEST(GlooRoundTripsTest, UnevenMicroBatchesOfGpipeTakeOneTransferAfterTheFirstStep) {
  const Counts counts = countsOf({kGpipe, kGpipe, kGpipe, kGpipe});
  // In the first step the first message, whose length nobody knows, and two that are longer. Each
  // of the two has a header, a byte in the place of its body, and the body.
  EXPECT_EQ(counts.secondTrips, (std::vector{3, 0, 0, 0}));
  expectOperations(counts, {10, 4, 4, 4});
}

TEST(GlooRoundTripsTest, ReceivesThatArePostedAheadTakeOneTransferToo) {
  Counts counts = countsOf({kGpipe, kGpipe, kGpipe, kGpipe}, {.ahead = 3});
  // In the first step it depends on what had come when they were posted.
  counts.secondTrips.erase(counts.secondTrips.begin());
  EXPECT_EQ(counts.secondTrips, (std::vector{0, 0, 0}));
  expectOperations(counts, {10, 4, 4, 4});
}

TEST(GlooRoundTripsTest, OnlyAMessageThatIsLongerThanAllOfTheStepsBeforeTakesASecond) {
  const Counts counts = countsOf({{2, 2, 2}, {1, 5, 0}, {4, 5, 2}, {5, 6, 6}, {6, 1, 6}});
  EXPECT_EQ(counts.secondTrips, (std::vector{1, 1, 0, 2, 0}));
  expectOperations(counts, {6, 4, 3, 5, 3});
}

TEST(GlooRoundTripsTest, MessagesAfterAnEmptyStepTakeASecondOnce) {
  const Counts counts = countsOf({{0, 0}, {4, 3}, {3, 4}});
  EXPECT_EQ(counts.secondTrips, (std::vector{0, 2, 0}));
  expectOperations(counts, {2, 4, 2});
}

TEST(GlooRoundTripsTest, WhereTheRoomIsLongHeaderAndBodyTravelApartInOneRoundTrip) {
  // Three rows are 36 bytes. Four are longer than the room at first, and then make a long one.
  const Counts counts = countsOf({{3, 3}, {3, 3}, {4, 3}, {4, 3}, {0, 5}}, {.longestTogether = 36});
  EXPECT_EQ(counts.secondTrips, (std::vector{1, 0, 1, 0, 1}));
  // An empty message, or one that is longer, has a byte in the place of its body.
  expectOperations(counts, {4, 2, 3, 4, 5});
}

}  // namespace
}  // namespace pipetrace
