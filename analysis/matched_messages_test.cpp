#include "analysis/matched_messages.h"

#include <gmock/gmock.h>

#include <string>

#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MatchedMessagesTest : public testing::Test {
 protected:
  Event& add(int rank, int peer, JobKind kind, Nanoseconds begin, std::int32_t step,
             std::int32_t microBatch, std::int32_t stage = kNotGiven) {
    Event& event = made_.add(rank, kind, begin, begin + 5, step, microBatch,
                             isSend(kind) ? kSendLane : kRecvLane);
    event.peer = peer;
    event.stage = stage;
    return event;
  }

  /// "0>1 of 10 at 20": from rank to rank, begins of both ends.
  std::vector<std::string> matched(const std::function<bool(const Event&)>& isWanted = {},
                                   int threads = 1) const {
    std::vector<std::string> list;
    for (const MatchedMessage& each : matchedMessages(made_.timeline, isWanted, threads)) {
      list.push_back(std::to_string(each.sender) + ">" + std::to_string(each.receiver) + " of " +
                     std::to_string(each.send->begin) + " at " +
                     std::to_string(each.receive->begin));
    }
    return list;
  }

  HandMadeTimeline made_;
};

TEST_F(MatchedMessagesTest, EndsOfOneStepMicroBatchAndDirectionBelongTogether) {
  add(0, 1, JobKind::kSendForward, 10, 0, 0);
  add(0, 1, JobKind::kSendForward, 20, 0, 1);
  add(0, 1, JobKind::kSendForward, 30, 1, 0);
  add(1, 0, JobKind::kRecvForward, 7, 0, 1);  // the other rank's clock may be anything
  add(1, 0, JobKind::kRecvForward, 8, 1, 0);
  add(1, 0, JobKind::kRecvForward, 9, 0, 0);
  add(1, 0, JobKind::kSendBackward, 40, 0, 0);
  add(0, 1, JobKind::kRecvBackward, 50, 0, 0);
  EXPECT_THAT(matched(),
              ElementsAre("0>1 of 10 at 9", "0>1 of 20 at 7", "0>1 of 30 at 8", "1>0 of 40 at 50"));
  EXPECT_THAT(matched([](const Event& event) { return event.step == 1; }),
              ElementsAre("0>1 of 30 at 8"));
}

// Until found jobs have their stages, a micro-batch is a place among the jobs of one rank: that of
// two chunks goes on counting.
TEST_F(MatchedMessagesTest, MessagesOfFoundJobsAreMatchedInTheirOrder) {
  for (const int rank : {0, 1}) made_.timeline.ranks[rank].jobsFound = 4;
  for (const std::int32_t step : {0, 1}) {
    const Nanoseconds begin = 1000 * step;
    add(0, 1, JobKind::kSendBackward, begin + 10, step, 6);
    add(0, 1, JobKind::kSendBackward, begin + 20, step, 7);
    add(1, 0, JobKind::kRecvBackward, begin + 15, step, 2);
    add(1, 0, JobKind::kRecvBackward, begin + 25, step, 6);
  }
  EXPECT_THAT(matched(), ElementsAre("0>1 of 10 at 15", "0>1 of 20 at 25", "0>1 of 1010 at 1015",
                                     "0>1 of 1020 at 1025"));
}

TEST_F(MatchedMessagesTest, MessagesOfSeveralStagesAreMatchedByStage) {
  add(0, 1, JobKind::kSendForward, 10, 0, 0, 0);
  add(0, 1, JobKind::kSendForward, 20, 0, 0, 2);
  add(1, 0, JobKind::kRecvForward, 31, 0, 0, 3);
  add(1, 0, JobKind::kRecvForward, 32, 0, 0, 1);
  EXPECT_THAT(matched(), ElementsAre("0>1 of 10 at 32", "0>1 of 20 at 31"));
}

TEST_F(MatchedMessagesTest, WithoutStagesAndNumbersTheOrderOfEachRankCounts) {
  for (const Nanoseconds begin : {30, 10, 20}) add(0, 1, JobKind::kSendForward, begin, -1, -1);
  for (const Nanoseconds begin : {5, 7, 6}) add(1, 0, JobKind::kRecvForward, begin, -1, -1);
  EXPECT_THAT(matched(), ElementsAre("0>1 of 10 at 5", "0>1 of 20 at 6", "0>1 of 30 at 7"));
}

TEST_F(MatchedMessagesTest, WhereAnEndIsMissingNoneIsMatched) {
  add(0, 1, JobKind::kSendForward, 10, 0, 0);
  add(0, 1, JobKind::kSendForward, 20, 0, 0);
  add(1, 0, JobKind::kRecvForward, 15, 0, 0);
  add(2, kNotGiven, JobKind::kRecvForward, 15, 0, 0);
  EXPECT_THAT(matched(), IsEmpty());
}

TEST_F(MatchedMessagesTest, ThreadsMakeNoDifference) {
  for (int rank = 0; rank < 9; ++rank) {
    for (int i = 0; i < 40; ++i) {
      const int peer = (rank + 1 + i % 3) % 9;
      add(rank, peer, JobKind::kSendForward, 100 - i, i / 10, i % 10);
      if ((rank + i) % 7 > 0) add(peer, rank, JobKind::kRecvForward, 200 + i, i / 10, i % 10);
    }
  }
  const std::vector<std::string> one = matched();
  EXPECT_GT(one.size(), 300U);
  EXPECT_EQ(matched({}, 4), one);
}

}  // namespace
}  // namespace pipetrace
