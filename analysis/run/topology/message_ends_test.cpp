#include "analysis/run/topology/message_ends.h"

#include <gmock/gmock.h>

#include <limits>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using enum JobKind;

class MessageEnds : public testing::Test {
 protected:
  /// A job of a stage.
  void job(int rank, JobKind kind, std::int32_t stage, Nanoseconds begin) {
    made_.add(rank, kind, begin, begin + 10, 0).stage = stage;
  }

  Event& message(int rank, JobKind kind, std::int32_t stage, Nanoseconds begin, Nanoseconds end,
                 std::int32_t microBatch = 0) {
    Event& event =
        made_.add(rank, kind, begin, end, 0, microBatch, isSend(kind) ? kSendLane : kRecvLane);
    event.stage = stage;
    if (isSend(kind)) mark(event, device_arguments::kHostEnd);
    return event;
  }

  void mark(Event& event, std::string_view key) {
    const Argument argument = Argument::ofInteger(made_.timeline.strings.intern(key), end_);
    made_.timeline.setArguments(event, {&argument, 1});
  }

  void complete() {
    made_.timeline.sort();
    givePeers(made_.timeline);
    endSendsWithReceives(made_.timeline);
  }

  const std::vector<Event>& sends(int rank) const {
    return made_.timeline.findTrack(rank, kSendLane)->events;
  }
  const std::vector<Event>& receives(int rank) const {
    return made_.timeline.findTrack(rank, kRecvLane)->events;
  }
  bool isEarly(const Event& event) const {
    for (const Argument& each : made_.timeline.argumentsOf(event)) {
      if (made_.timeline.strings[each.key] == message_arguments::kArrived) return true;
    }
    return false;
  }

  HandMadeTimeline made_;
  std::int64_t end_ = 900;
};

TEST_F(MessageEnds, SendEndsWithItsReceive) {
  job(0, kForward, 0, 0);
  job(1, kForward, 1, 60);
  message(0, kSendForward, 0, 10, 900);
  message(1, kRecvForward, 1, 5, 50);
  complete();
  EXPECT_EQ(sends(0)[0].peer, 1);
  EXPECT_EQ(receives(1)[0].peer, 0);
  EXPECT_EQ(sends(0)[0].end, 50);
  EXPECT_FALSE(isEarly(sends(0)[0]));
}

TEST_F(MessageEnds, PeersThatTheLogNamesStay) {
  job(0, kForward, 0, 0);
  job(1, kForward, 1, 60);
  message(0, kSendForward, 0, 10, 900).peer = 5;
  message(1, kRecvForward, 1, 5, 50);
  made_.add(0, kAllReduce, 20, 30, 0, 0, kSendLane).stage = 0;
  complete();
  EXPECT_EQ(sends(0)[0].peer, 5);
  EXPECT_EQ(sends(0)[1].peer, kNotGiven) << "a collective has no single peer";
  EXPECT_EQ(sends(0)[0].end, 900) << "the receive is of another message";
}

TEST_F(MessageEnds, TransfersOutsideOfTheLanesOfMessagesStay) {
  job(0, kForward, 0, 0);
  job(1, kForward, 1, 60);
  message(0, kSendForward, 0, 10, 900);
  made_.add(0, kSendForward, 30, 40, 0, 1, "stream 7").stage = 0;
  complete();
  EXPECT_EQ(made_.timeline.findTrack(0, "stream 7")->events[0].peer, kNotGiven);
  EXPECT_EQ(sends(0)[0].peer, 1);
}

TEST_F(MessageEnds, BackwardGoesToTheStageBefore) {
  job(0, kForward, 3, 0);  // V: stages 2 and 3 are on ranks 1 and 0
  job(1, kForward, 2, 0);
  message(0, kSendBackward, 3, 10, 900);
  message(1, kRecvBackward, 2, 5, 50);
  complete();
  EXPECT_EQ(sends(0)[0].peer, 1);
  EXPECT_EQ(receives(1)[0].peer, 0);
  EXPECT_EQ(sends(0)[0].end, 50);
}

TEST_F(MessageEnds, SendOfAnEarlyReceiveIsMarkedOnceHoweverOftenTheRunIsCompleted) {
  job(0, kForward, 0, 0);
  job(1, kForward, 1, 60);
  message(0, kSendForward, 0, 10, 900);
  mark(message(1, kRecvForward, 1, 5, 50), message_arguments::kArrived);
  complete();
  EXPECT_TRUE(isEarly(sends(0)[0]));
  const std::size_t arguments = made_.timeline.argumentsOf(sends(0)[0]).size();
  complete();
  EXPECT_EQ(made_.timeline.argumentsOf(sends(0)[0]).size(), arguments);
  EXPECT_EQ(sends(0)[0].end, 50);
}

TEST_F(MessageEnds, MessagesOfOneIdentityArePairedInTheOrderOfPosting) {
  job(0, kForward, 0, 0);
  job(1, kForward, 1, 100);
  message(0, kSendForward, 0, 10, 900);
  message(0, kSendForward, 0, 20, 900);
  message(0, kSendForward, 0, 30, 900, 1);
  message(1, kRecvForward, 1, 1, 60, 1);
  message(1, kRecvForward, 1, 2, 50);
  message(1, kRecvForward, 1, 3, 70);
  complete();
  EXPECT_THAT(sends(0),
              ElementsAre(testing::Field(&Event::end, 50), testing::Field(&Event::end, 70),
                          testing::Field(&Event::end, 60)));
}

TEST_F(MessageEnds, SendWithoutAReceiveKeepsItsEnd) {
  job(0, kForward, 0, 0);
  job(1, kForward, 1, 100);
  message(0, kSendForward, 0, 10, 900);
  complete();
  EXPECT_EQ(sends(0)[0].end, 900);
  EXPECT_EQ(sends(0)[0].peer, 1);
}

TEST_F(MessageEnds, ReceiveThatClocksPutBeforeItsSendEndsTheSendAtItsBegin) {
  job(0, kForward, 0, 0);
  job(1, kForward, 1, 100);
  message(0, kSendForward, 0, 10, 900);
  message(1, kRecvForward, 1, 1, 5);
  complete();
  EXPECT_EQ(sends(0)[0].begin, 10);
  EXPECT_EQ(sends(0)[0].end, 10);
}

TEST_F(MessageEnds, RanksOfOneStageTalkToThoseInTheSamePlaceOfTheNext) {
  for (int rank = 0; rank < 4; ++rank) job(rank, kForward, rank / 2, 0);
  message(0, kSendForward, 0, 10, 900);
  message(1, kSendForward, 0, 10, 900);
  message(3, kRecvForward, 1, 1, 50);
  complete();
  EXPECT_EQ(sends(0)[0].peer, 2);
  EXPECT_EQ(sends(1)[0].peer, 3);
  EXPECT_EQ(receives(3)[0].peer, 1);
  Diagnostics diagnostics;
  completeTimeline(made_.timeline, diagnostics);
  const RunSummary summary = summarize(made_.timeline);
  ASSERT_EQ(summary.ranks.size(), 4U);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(summary.ranks[static_cast<std::size_t>(rank)].replica, rank % 2)
        << "the peers show the two pipelines";
  }
}

TEST_F(MessageEnds, StageThatNoRankRunsLeavesThePeerOpen) {
  job(1, kForward, 1, 0);
  message(1, kRecvForward, 1, 1, 50);
  message(1, kSendBackward, 1, 60, 900);
  message(1, kRecvBackward, std::numeric_limits<std::int32_t>::max(), 70, 80);
  complete();
  EXPECT_EQ(receives(1)[0].peer, kNotGiven);
  EXPECT_EQ(receives(1)[1].peer, kNotGiven);
  EXPECT_EQ(sends(1)[0].end, 900);
}

TEST_F(MessageEnds, TransfersOfLogsStayAsTheyWereLogged) {
  job(0, kForward, 0, 0);
  job(1, kForward, 1, 60);
  made_.add(0, kSendForward, 10, 20, 0, 0, kSendLane).stage = 0;
  made_.add(1, kRecvForward, 5, 50, 0, 0, kRecvLane).stage = 1;
  complete();
  EXPECT_EQ(sends(0)[0].end, 20);
  EXPECT_EQ(sends(0)[0].peer, kNotGiven);
}

}  // namespace
}  // namespace pipetrace
