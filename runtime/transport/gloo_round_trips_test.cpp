// How often the receiver of a message answers its header before the bytes can come.
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

/// Counts the receives that are posted on another thread than the one that made it. A lane's own
/// thread posts a receive only when it has seen the message's header: the sender's bytes wait for a
/// second round trip.
class CountingGroup : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;

  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from,
                                      int tag) override {
    if (std::this_thread::get_id() != maker_) ++second_;
    return ProcessGroupGloo::recv(tensors, from, tag);
  }
  int second() const { return second_; }

 private:
  const std::thread::id maker_ = std::this_thread::get_id();
  std::atomic<int> second_ = 0;
};

/// The rows of each micro-batch of each step, in the order in which they are sent.
using Steps = std::vector<std::vector<int>>;

/// Sends these rows from one rank to another, `ahead` receives of a step posted ahead of their use.
/// Returns for each step how many second round trips its messages took.
std::vector<int> secondTripsOf(const Steps& steps, std::size_t ahead) {
  std::vector<int> trips;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto errors = testing::runRanks(2, [&](int rank) {
    auto groupOptions = c10d::ProcessGroupGloo::Options::create();
    groupOptions->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    const auto counting = c10::make_intrusive<CountingGroup>(store, rank, 2, groupOptions);
    GlooGroup group(counting, 60 * kNsPerSecond);
    const StampClock noClock;
    const GlooLaneOptions lane{
        .peer = 1 - rank, .name = Direction::kBackward, .messages = steps.front().size()};
    const auto keyOf = [](std::size_t step, std::size_t message) {
      return MessageKey{.step = static_cast<int>(step),
                        .microBatch = static_cast<int>(message),
                        .direction = Direction::kBackward};
    };
    const auto send = rank == 0 ? makeGlooSendLane(group, lane, noClock) : nullptr;
    const auto receive = rank == 1 ? makeGlooReceiveLane(group, lane, noClock) : nullptr;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const std::vector<int>& rows = steps[step];
      const int before = counting->second();
      std::vector<std::uint64_t> posted;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const at::Tensor tensor = numbers(rows[i], at::kFloat);
        if (rank == 0) {
          send->send(keyOf(step, i), {.tensor = tensor});
          continue;
        }
        while (posted.size() < std::min(rows.size(), i + 1 + ahead)) {
          posted.push_back(receive->post(keyOf(step, posted.size())));
        }
        expectSame(receive->take(posted[i], keyOf(step, i)).message.tensor, tensor);
      }
      if (rank == 1) trips.push_back(counting->second() - before);
    }
    if (send) send->awaitAll();
    group.barrier();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
  return trips;
}

// Ten rows in four micro-batches are 3, 3, 2 and 2. GPipe's backwards come newest first.
const std::vector<int> kGpipe{2, 2, 3, 3};

TEST(GlooRoundTripsTest, UnevenMicroBatchesOfGpipeTakeOneRoundTripAfterTheFirstStep) {
  // In the first step the first message, whose length nobody knows, and two that are longer.
  EXPECT_EQ(secondTripsOf({kGpipe, kGpipe, kGpipe, kGpipe}, 0), (std::vector{3, 0, 0, 0}));
}

TEST(GlooRoundTripsTest, ReceivesThatArePostedAheadTakeOneRoundTripToo) {
  std::vector<int> trips = secondTripsOf({kGpipe, kGpipe, kGpipe, kGpipe}, 3);
  trips.erase(trips.begin());  // it depends on what had come when they were posted
  EXPECT_EQ(trips, (std::vector{0, 0, 0}));
}

TEST(GlooRoundTripsTest, OnlyAMessageThatIsLongerThanAllOfTheStepsBeforeTakesASecond) {
  EXPECT_EQ(secondTripsOf({{2, 2, 2}, {1, 5, 0}, {4, 5, 2}, {5, 6, 6}, {6, 1, 6}}, 0),
            (std::vector{1, 1, 0, 2, 0}));
}

TEST(GlooRoundTripsTest, MessagesAfterAnEmptyStepTakeASecondOnce) {
  EXPECT_EQ(secondTripsOf({{0, 0}, {4, 3}, {3, 4}}, 0), (std::vector{0, 2, 0}));
}

}  // namespace
}  // namespace pipetrace
