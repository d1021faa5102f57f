// The times of messages on lines, by hand.
#include "runtime/rehearse/message_lines.h"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/lanes/lane.h"
#include "schedule/file/schedule_file.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rank 1 receives both activations before it sends one on, so under kRank its send of the first
// waits for the second.
constexpr const char* kRows =
    "0F0,0SEND_F0,0F1,0SEND_F1\n"
    "1RECV_F0,1F0,1RECV_F1,1SEND_F0,1F1,1SEND_F1\n"
    "2RECV_F0,2F0,2RECV_F1,2F1\n";

/// The activations of a micro-batch for a stage, which is the number of its rank.
MessageKey activations(int microBatch, int stage, int step = 0) {
  return {.step = step, .stage = stage, .microBatch = microBatch};
}

class MessageLinesTest : public ::testing::Test {
 protected:
  static constexpr Nanoseconds kMs = kNsPerMs;

  static Costs costs() {
    StageCosts stage{.forward = kMs};
    stage.message = 2'000'000;
    Costs costs = Costs::equal(3, stage);
    costs.transfer = 3 * kMs;
    costs.bandwidth = 1'000'000'000;  // 2 ms for a message
    return costs;
  }
  /// Lines on which all ranks have begun a step at 1 ms.
  static std::unique_ptr<MessageLines> lines(CommStreams commStreams) {
    auto made =
        std::make_unique<MessageLines>(CheckedPlan(readPlan(kRows, "rows")), costs(), commStreams);
    for (int rank = 0; rank < 3; ++rank) made->beginStep(rank, kMs);
    return made;
  }
  static void expectTimes(MessageLines& lines, const MessageKey& key, Nanoseconds sent,
                          Nanoseconds posted, Nanoseconds end) {
    const std::optional<MessageLines::Times> times = lines.take(key);
    ASSERT_TRUE(times) << toText(key);
    EXPECT_EQ(times->sent, sent * kMs) << toText(key);
    EXPECT_EQ(times->posted, posted * kMs) << toText(key);
    EXPECT_EQ(times->end, end * kMs) << toText(key);
  }
};

TEST_F(MessageLinesTest, MessagesOfARankWaitForThoseBeforeThemAtBothEnds) {
  const auto rank = lines(CommStreams::kRank);
  rank->made(activations(0, 1), 10 * kMs);
  expectTimes(*rank, activations(0, 1), 10, 1, 15);
  rank->made(activations(0, 2), 25 * kMs);
  EXPECT_FALSE(rank->take(activations(0, 2))) << "what is before it on rank 1's line is not made";
  rank->made(activations(1, 1), 40 * kMs);
  expectTimes(*rank, activations(1, 1), 40, 15, 45);
  expectTimes(*rank, activations(0, 2), 45, 1, 50);
  rank->made(activations(1, 2), 48 * kMs);
  expectTimes(*rank, activations(1, 2), 50, 50, 55);
}

TEST_F(MessageLinesTest, MessagesOfTwoRanksWaitForEachOther) {
  const auto peer = lines(CommStreams::kPeer);
  peer->made(activations(0, 1), 10 * kMs);
  peer->made(activations(0, 2), 25 * kMs);
  expectTimes(*peer, activations(0, 2), 25, 1, 30);
  peer->made(activations(1, 1), 12 * kMs);
  expectTimes(*peer, activations(1, 1), 15, 15, 20);
}

TEST_F(MessageLinesTest, MessagesOnLinesOfTheirOwnWaitForNone) {
  const auto message = lines(CommStreams::kMessage);
  message->made(activations(1, 1), 12 * kMs);
  message->made(activations(0, 1), 10 * kMs);
  expectTimes(*message, activations(1, 1), 12, 1, 17);
  expectTimes(*message, activations(0, 1), 10, 1, 15);
}

TEST_F(MessageLinesTest, MessagesWaitForTheStepOfTheirReceiverAndGoOnWithTheLinesOfTheStepBefore) {
  const auto rank = lines(CommStreams::kRank);
  rank->made(activations(0, 1), 10 * kMs);
  rank->made(activations(1, 1), 12 * kMs);
  rank->beginStep(0, 13 * kMs);
  rank->made(activations(0, 1, 1), 14 * kMs);
  rank->made(activations(0, 2), 16 * kMs);
  rank->made(activations(1, 2), 17 * kMs);
  EXPECT_FALSE(rank->take(activations(0, 1, 1))) << "rank 1 is still in step 0";
  rank->beginStep(1, 40 * kMs);
  for (int end = 0; end < 2; ++end) {
    expectTimes(*rank, activations(0, 1), 10, 1, 15);
    expectTimes(*rank, activations(0, 1, 1), 20, 40, 45);
  }
}

TEST_F(MessageLinesTest, ARankThatWaitsHearsWhoHoldsItUp) {
  const auto rank = lines(CommStreams::kRank);
  rank->made(activations(0, 1), 10 * kMs);
  std::vector<int> heard;
  std::atomic<int> count = 0;
  std::thread waiting([&] {
    rank->await(2, activations(0, 2), [&](int of) {
      if (heard.empty() || heard.back() != of) heard.push_back(of);
      count = static_cast<int>(heard.size());
    });
  });
  while (count < 1) std::this_thread::yield();
  rank->made(activations(1, 1), 40 * kMs);  // rank 0's, in front of it
  while (count < 2) std::this_thread::yield();
  rank->made(activations(0, 2), 42 * kMs);
  waiting.join();
  EXPECT_THAT(heard, ElementsAre(0, 1));
  expectTimes(*rank, activations(0, 2), 45, 1, 50);
}

TEST_F(MessageLinesTest, StopEndsAllWaits) {
  const auto rank = lines(CommStreams::kRank);
  std::atomic<bool> waits = false;
  std::string ended;
  const auto await = [&] {
    try {
      rank->await(2, activations(0, 2), [&](int) { waits = true; });
    } catch (const PeerLost& e) {
      ended = e.what();
    }
  };
  std::thread waiting(await);
  while (!waits) std::this_thread::yield();
  rank->stop("rank 0 failed");
  waiting.join();
  EXPECT_THAT(ended, HasSubstr("rank 0 failed"));
  ended.clear();
  await();
  EXPECT_THAT(ended, HasSubstr("rank 0 failed"));
}

}  // namespace
}  // namespace pipetrace
