// The times of messages on lines, worked out by hand, in whole numbers.
#include "runtime/rehearse/message_lines.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <string>
#include <utility>

#include "runtime/lanes/peer_lost.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

/// Two ranks, two micro-batches, messages of 1. Either rank has the messages F0, B0, F1, B1 on its
/// line: rank 0 posts the receive of gradient 0 before it sends forward 1.
class MessageLinesTest : public ::testing::Test {
 protected:
  static MessageLines made(CommStreams lines) {
    using enum JobKind;
    Plan plan = buildSchedule("1F1B", 2, 2);
    plan.ranks[0] = {{kForward, 0, 0},      {kSendForward, 0, 0}, {kRecvBackward, 0, 0},
                     {kForward, 0, 1},      {kSendForward, 0, 1}, {kBackward, 0, 0},
                     {kRecvBackward, 0, 1}, {kBackward, 0, 1}};
    plan.ranks[1] = {{kRecvForward, 1, 0},  {kForward, 1, 0},     {kBackward, 1, 0},
                     {kSendBackward, 1, 0}, {kRecvForward, 1, 1}, {kForward, 1, 1},
                     {kBackward, 1, 1},     {kSendBackward, 1, 1}};
    Costs costs = Costs::equal(2, {.forward = 10, .backward = 20});
    costs.transfer = 1;
    return {CheckedPlan(std::move(plan)), costs, lines};
  }
  static MessageKey forward(int microBatch, int step = 0) {
    return {.step = step, .stage = 1, .microBatch = microBatch, .direction = Direction::kForward};
  }
  static MessageKey backward(int microBatch, int step = 0) {
    return {.step = step, .stage = 0, .microBatch = microBatch, .direction = Direction::kBackward};
  }
  /// "sent, posted, end".
  static std::string taken(MessageLines& lines, const MessageKey& key) {
    const auto times = lines.take(key);
    if (!times) return "not yet";
    return std::to_string(times->sent) + ", " + std::to_string(times->posted) + ", " +
           std::to_string(times->end);
  }
};

TEST_F(MessageLinesTest, AMessageBeginsWhenItsTurnHasComeOnTheLinesOfBothItsEnds) {
  MessageLines lines = made(CommStreams::kRank);
  lines.beginStep(0, 0);
  lines.beginStep(1, 0);
  lines.made(forward(0), 10);
  EXPECT_EQ(taken(lines, forward(0)), "10, 0, 11");
  lines.made(forward(1), 20);
  EXPECT_EQ(taken(lines, forward(1)), "not yet") << "gradient 0 is in front of it";
  lines.made(backward(0), 41);
  EXPECT_EQ(taken(lines, backward(0)), "41, 11, 42");
  EXPECT_EQ(taken(lines, forward(1)), "42, 42, 43");
  EXPECT_EQ(taken(lines, forward(1)), "42, 42, 43") << "the other end asks, too";
}

TEST_F(MessageLinesTest, AMessageWithALineOfItsOwnWaitsForItsDataAlone) {
  MessageLines lines = made(CommStreams::kMessage);
  lines.beginStep(0, 0);
  lines.beginStep(1, 0);
  lines.made(forward(1), 20);
  EXPECT_EQ(taken(lines, forward(1)), "20, 0, 21");
}

TEST_F(MessageLinesTest, NoMessageMovesBeforeItsReceiverHasBegunTheStep) {
  MessageLines lines = made(CommStreams::kRank);
  lines.beginStep(0, 0);
  lines.made(forward(0), 10);
  EXPECT_EQ(taken(lines, forward(0)), "not yet");
  lines.beginStep(1, 15);
  EXPECT_EQ(taken(lines, forward(0)), "10, 15, 16");
}

TEST_F(MessageLinesTest, LinesGoOnFromStepToStep) {
  MessageLines lines = made(CommStreams::kRank);
  lines.beginStep(0, 0);
  lines.beginStep(1, 0);
  lines.made(forward(0), 10);
  lines.made(forward(1), 20);
  lines.made(backward(0), 41);
  lines.beginStep(0, 100);
  lines.beginStep(1, 100);
  lines.made(forward(0, 1), 110);
  EXPECT_EQ(taken(lines, forward(0, 1)), "not yet") << "gradient 1 of step 0 is in front of it";
  lines.made(backward(1), 150);
  EXPECT_EQ(taken(lines, backward(1)), "150, 100, 151");
  EXPECT_EQ(taken(lines, forward(0, 1)), "151, 151, 152");
}

TEST_F(MessageLinesTest, AWaitNamesTheRankWithoutWhichNothingMovesAndEndsWithTheRun) {
  MessageLines lines = made(CommStreams::kRank);
  lines.beginStep(0, 0);
  lines.beginStep(1, 0);
  lines.made(forward(0), 10);
  lines.made(forward(1), 20);
  std::promise<int> awaited;
  auto waits = std::async(std::launch::async, [&] {
    lines.await(1, forward(1), [&](int rank) { awaited.set_value(rank); });
  });
  auto rank = awaited.get_future();
  const bool isWaiting = rank.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  EXPECT_TRUE(isWaiting && rank.get() == 1) << "it makes gradient 0, which is in front";
  lines.stop("rank 0 failed");
  try {
    waits.get();
    ADD_FAILURE() << "the wait ended as if all were well";
  } catch (const PeerLost& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("rank 0 failed"));
  }
}

}  // namespace
}  // namespace pipetrace
