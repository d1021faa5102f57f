#include "analysis/run/topology/message_ends.h"

#include <gmock/gmock.h>

#include "analysis/testing/hand_made_timeline.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum JobKind;

/// Messages as NCCL's kernels give them: with a peer, and often with nothing else.
class MessagePairs : public testing::Test {
 protected:
  Event& send(int rank, int peer, Nanoseconds begin, Nanoseconds end, std::int32_t microBatch = -1,
              JobKind kind = kKernel) {
    return add(rank, peer, begin, end, microBatch, kind, kSendLane);
  }
  Event& receive(int rank, int peer, Nanoseconds begin, Nanoseconds end,
                 std::int32_t microBatch = -1, JobKind kind = kKernel) {
    return add(rank, peer, begin, end, microBatch, kind, kRecvLane);
  }

  void pair() {
    made_.timeline.sort();
    pairMessages(made_.timeline);
  }

  const std::vector<Event>& events(int rank, std::string_view lane) const {
    return made_.timeline.findTrack(rank, lane)->events;
  }
  std::vector<std::int64_t> numbers(int rank, std::string_view lane) const {
    std::vector<std::int64_t> list;
    for (const Event& event : events(rank, lane)) {
      for (const Argument& each : made_.timeline.argumentsOf(event)) {
        if (made_.timeline.strings[each.key] == message_arguments::kMessage) {
          list.push_back(each.integer);
        }
      }
    }
    return list;
  }

 private:
  Event& add(int rank, int peer, Nanoseconds begin, Nanoseconds end, std::int32_t microBatch,
             JobKind kind, std::string_view lane) {
    Event& event = made_.add(rank, kind, begin, end, 0, microBatch, lane);
    event.peer = peer;
    return event;
  }

  HandMadeTimeline made_;
};

TEST_F(MessagePairs, NthSendIsTheNthReceiveAndBothHaveItsNumber) {
  send(0, 1, 10, 20);
  send(0, 1, 30, 40);
  send(1, 0, 50, 60);
  receive(1, 0, 5, 20);
  receive(1, 0, 25, 40);
  receive(0, 1, 45, 60);
  pair();
  EXPECT_THAT(numbers(0, kSendLane), ElementsAre(0, 1));
  EXPECT_THAT(numbers(1, kRecvLane), ElementsAre(0, 1));
  EXPECT_THAT(numbers(1, kSendLane), ElementsAre(2));
  EXPECT_THAT(numbers(0, kRecvLane), ElementsAre(2));
}

TEST_F(MessagePairs, OrderCountsWhereTheClocksOfTwoRanksDiffer) {
  send(0, 1, 1010, 1020);
  send(0, 1, 1030, 1040);
  receive(1, 0, 5, 20);
  receive(1, 0, 25, 40);
  pair();
  EXPECT_THAT(numbers(0, kSendLane), ElementsAre(0, 1));
  EXPECT_THAT(numbers(1, kRecvLane), ElementsAre(0, 1));
}

TEST_F(MessagePairs, EndsThatOverlapBelongTogetherWhereATraceLacksSome) {
  send(0, 1, 30, 40);  // the trace of rank 0 begins after its first send
  send(0, 1, 50, 60);
  receive(1, 0, 5, 20);
  receive(1, 0, 25, 40);
  receive(1, 0, 45, 60);
  pair();
  EXPECT_THAT(numbers(0, kSendLane), ElementsAre(0, 1));
  EXPECT_THAT(numbers(1, kRecvLane), ElementsAre(0, 1));
  EXPECT_TRUE(events(1, kRecvLane)[0].argumentCount == 0) << "its send is in no trace";
}

TEST_F(MessagePairs, EndsBeforeTheFirstMessageOfBothAreLeftOut) {
  send(0, 1, 0, 5);
  send(0, 1, 6, 9);
  send(0, 1, 20, 25);
  receive(1, 0, 10, 15);
  receive(1, 0, 20, 25);
  pair();
  ASSERT_EQ(numbers(0, kSendLane).size(), 1U);
  EXPECT_EQ(events(0, kSendLane)[2].argumentCount, 1);
  EXPECT_EQ(events(1, kRecvLane)[1].argumentCount, 1);
  EXPECT_EQ(numbers(1, kRecvLane), numbers(0, kSendLane));
}

TEST_F(MessagePairs, EqualCountsOfDifferentMessagesArePairedByTime) {
  send(0, 1, 30, 40);  // its receive is the second: the first send and the last receive are missing
  send(0, 1, 50, 60);
  receive(1, 0, 5, 20);
  receive(1, 0, 25, 40);
  pair();
  EXPECT_EQ(events(0, kSendLane)[1].argumentCount, 0);
  EXPECT_EQ(events(1, kRecvLane)[0].argumentCount, 0);
  EXPECT_THAT(numbers(1, kRecvLane), ElementsAre(0));
}

TEST_F(MessagePairs, EachEndGetsFromTheOtherWhatItLacks) {
  send(0, 1, 10, 20, 3, kSendForward).stage = 0;
  receive(1, 0, 5, 20);
  send(1, 0, 30, 40);
  receive(0, 1, 25, 40, 3, kRecvBackward).stage = 0;
  pair();
  const Event& received = events(1, kRecvLane)[0];
  EXPECT_EQ(received.kind, kRecvForward);
  EXPECT_EQ(received.microBatch, 3);
  EXPECT_EQ(received.stage, 1);
  const Event& sent = events(1, kSendLane)[0];
  EXPECT_EQ(sent.kind, kSendBackward);
  EXPECT_EQ(sent.stage, 1);
  EXPECT_THAT(numbers(1, kRecvLane), IsEmpty()) << "its micro-batch names it";
}

TEST_F(MessagePairs, PairingAgainChangesNothing) {
  send(0, 1, 10, 20);
  receive(1, 0, 5, 20);
  pair();
  pair();
  EXPECT_THAT(numbers(0, kSendLane), ElementsAre(0));
}

TEST_F(MessagePairs, DescribedMessagesStayAsTheyAre) {
  send(0, 1, 10, 20, 3, kSendForward);
  receive(1, 0, 5, 20, 4, kRecvForward);
  pair();
  EXPECT_EQ(events(1, kRecvLane)[0].microBatch, 4);
  EXPECT_THAT(numbers(0, kSendLane), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
