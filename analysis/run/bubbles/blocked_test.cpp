// Messages that wait for their turn on a line. All times are worked out by hand, in milliseconds.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "analysis/run/bubbles/bubbles.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "trace/event_arguments.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using enum JobKind;

/// Ranks of one stage each. Messages are on the lane "messages" unless another one is set.
class Blocked : public testing::Test {
 protected:
  void job(int rank, JobKind kind, std::int32_t microBatch, double begin, double end,
           std::int32_t step = 0) {
    made_.add(rank, kind, inNs(begin), inNs(end), step, microBatch).stage = rank;
  }
  Event& end(int rank, JobKind kind, std::int32_t microBatch, double begin, double end,
             std::int32_t step = 0) {
    const std::string_view lane =
        byKind_ ? (isSend(kind) ? kSendLane : kRecvLane) : std::string_view(kLineLane);
    Event& event = made_.add(rank, kind, inNs(begin), inNs(end), step, microBatch, lane);
    event.stage = rank;
    return event;
  }
  void argument(Event& event, std::string_view key, std::int64_t value) {
    const Argument added = Argument::ofInteger(made_.timeline.strings.intern(key), value);
    made_.timeline.addArguments(event, {&added, 1});
  }

  /// Rank 0 has posted the receive of gradient 0 before it sends forward 1: that waits behind it,
  /// and so does 1F1 by 2 ms.
  void holdUpForwardOne() {
    job(0, kForward, 0, 0, 10);
    job(0, kForward, 1, 10, 20);
    job(1, kForward, 0, 11, 21);
    job(1, kBackward, 0, 21, 41);
    job(1, kForward, 1, 43, 53);
    end(0, kSendForward, 0, 10, 11);
    end(0, kRecvBackward, 0, 41, 42);
    end(0, kSendForward, 1, 42, 43);
    end(1, kRecvForward, 0, 10, 11);
    end(1, kSendBackward, 0, 41, 42);
    end(1, kRecvForward, 1, 42, 43);
  }

  /// The bubbles of a rank: "blocked 41.173913-43 by 1SEND_B0 on 1".
  std::vector<std::string> bubblesOf(std::size_t rank) {
    Timeline timeline = made_.timeline;
    timeline.sort();
    for (const Track& track : timeline.tracks) {
      timeline.ranks[track.rank].rank = track.rank;
      timeline.ranks[track.rank].lines = lines_;
      if (ranksOfReplica_ > 0) {
        timeline.ranks[track.rank].dataParallelIndex = track.rank / ranksOfReplica_;
      }
    }
    Diagnostics diagnostics;
    completeTimeline(timeline, diagnostics);
    const RunSummary summary = summarize(timeline);
    const JobGraph graph(timeline, topologyOf(timeline));
    const Bubbles bubbles = classifyBubbles(RunBasis(graph, summary));
    std::vector<std::string> texts;
    for (const Bubble& each : bubbles.byRank.at(rank)) {
      std::string text{bubbleClassName(each.bubbleClass)};
      text += " " + inMs(each.begin) + "-" + inMs(each.end);
      if (each.culprit != JobGraph::kNone) {
        text += " by " + culpritName(timeline, graph, each) + " on " +
                std::to_string(graph.ranks()[culpritRankOf(graph, each)].number);
      }
      texts.push_back(text);
    }
    return texts;
  }

  static Nanoseconds inNs(double ms) { return static_cast<Nanoseconds>(ms * kNsPerMs); }
  /// "41", "41.173913".
  static std::string inMs(Nanoseconds time) {
    std::string text = std::to_string(time / kNsPerMs);
    if (time % kNsPerMs == 0) return text;
    return text + "." + std::to_string(kNsPerMs + time % kNsPerMs).substr(1);
  }

  HandMadeTimeline made_;
  std::string lines_;
  bool byKind_ = false;
  int ranksOfReplica_ = 0;  // 0: the logs name no replicas
};

// 1F1's message has its data at 20 and begins at 42. On rank 1's line 1SEND_B0 is in front: it
// waits for its own data from 20 to 41, and moves for 1. With its own 1 that makes 21 blocked and
// 2 transfer for the 2 that rank 1 waits.
TEST_F(Blocked, AMessageBehindAnotherOneIsBlockedUntilThatBegins) {
  holdUpForwardOne();
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "transfer 10-11 by 0F0 on 0",
                                        "transfer 41-41.173913 by 1B0 on 1",
                                        "blocked 41.173913-43 by 1SEND_B0 on 1"));
}

TEST_F(Blocked, ALineWhoseMessagesOverlapIsNone) {
  holdUpForwardOne();
  end(1, kSendBackward, 5, 42, 47);  // beside the receive of forward 1
  EXPECT_THAT(bubblesOf(1), Not(Contains(HasSubstr("blocked"))));
}

TEST_F(Blocked, LanesThatHoldSendsOrReceivesAloneAreNoLines) {
  byKind_ = true;
  holdUpForwardOne();
  EXPECT_THAT(bubblesOf(1), Not(Contains(HasSubstr("blocked"))));
}

TEST_F(Blocked, MessagesThatRanOnOneStreamOfADeviceAreALine) {
  byKind_ = true;
  holdUpForwardOne();
  for (Track& track : made_.timeline.tracks) {
    for (Event& event : track.events) {
      if (isTransfer(event.kind)) argument(event, "stream", 20);
    }
  }
  EXPECT_THAT(bubblesOf(1), Contains("blocked 41.173913-43 by 1SEND_B0 on 1"));
}

TEST_F(Blocked, MessagesOnTwoStreamsDoNotWaitForEachOther) {
  byKind_ = true;
  holdUpForwardOne();
  for (Track& track : made_.timeline.tracks) {
    for (Event& event : track.events) {
      if (isTransfer(event.kind))
        argument(event, "stream", isForwardTransfer(event.kind) ? 20 : 21);
    }
  }
  EXPECT_THAT(bubblesOf(1), Not(Contains(HasSubstr("blocked"))));
}

// The host posted the message in front 20 ms after the one before it had ended, at 31. It held the
// line for the 10 until it began, which are blocked. The 11 before are late_start.
TEST_F(Blocked, ALineIsHeldOnceTheMessageInFrontIsPosted) {
  holdUpForwardOne();
  for (Event& event : made_.timeline.track(1, kLineLane).events) {
    if (event.kind == kSendBackward) argument(event, message_arguments::kPostDelay, inNs(20));
  }
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "transfer 10-11 by 0F0 on 0",
                                        "transfer 41-41.173913 by 1B0 on 1",
                                        "blocked 41.173913-42.043478 by 1SEND_B0 on 1",
                                        "late_start 42.043478-43 by 0SEND_F1 on 0"));
}

// Rank 1 waits for forward 1, which stands behind the receive of gradient 0. Both receives begin
// when their turn comes, and no send is there. Forward 1's data came at 20. The receive in front
// held the line until its own data came at 52, and for 1 more. With the message's own 1 that makes
// 32 blocked and 2 transfer for the 33 that rank 1 waits.
TEST_F(Blocked, ReceivesAloneBeginWithTheirData) {
  lines_ = "other;messages";
  job(0, kForward, 0, 0, 10);
  job(0, kForward, 1, 10, 20);
  job(1, kForward, 0, 11, 21);
  job(2, kForward, 0, 22, 32);
  job(2, kBackward, 0, 32, 52);
  job(1, kForward, 1, 54, 64);
  job(1, kBackward, 0, 64, 84);
  end(1, kRecvForward, 0, 0, 11);
  end(1, kRecvBackward, 0, 11, 53);
  end(1, kRecvForward, 1, 53, 54);
  end(2, kRecvForward, 0, 0, 22);
  EXPECT_THAT(bubblesOf(1), Contains("blocked 22.941176-54 by 1RECV_B0 on 1"));
}

// Rank 2 waits for forward 2. Its message to rank 1 has its data at 30 and a free line, but rank 1
// posts the receive when its backward 0 has ended, which takes 60 in place of 20.
TEST_F(Blocked, AMessageThatIsPostedBehindAJobIsAsLateAsThatJob) {
  lines_ = "messages";
  const auto send = [&](int rank, JobKind kind, std::int32_t microBatch, double begin,
                        double until) {
    made_.add(rank, kind, inNs(begin), inNs(until), 0, microBatch, "onward").stage = rank;
  };
  for (const int m : {0, 1, 2}) {
    job(0, kForward, m, 10 * m, 10 * m + 10);
    end(0, kSendForward, m, m < 2 ? 10 * m + 10 : 30, m < 2 ? 10 * m + 11 : 106);
  }
  job(1, kForward, 0, 11, 21);
  job(1, kForward, 1, 21, 31);
  job(1, kBackward, 0, 45, 105);
  job(1, kForward, 2, 106, 116);
  job(1, kBackward, 1, 116, 136);
  job(1, kBackward, 2, 140, 160);
  end(1, kRecvForward, 0, 10, 11);
  end(1, kRecvForward, 1, 20, 21);
  end(1, kRecvForward, 2, 105, 106);
  job(2, kForward, 0, 22, 32);
  job(2, kBackward, 0, 32, 44);
  job(2, kForward, 1, 44, 54);
  job(2, kBackward, 1, 54, 66);
  job(2, kForward, 2, 117, 127);
  job(2, kBackward, 2, 127, 139);
  for (const auto& [m, sent] : {std::pair(0, 21.0), std::pair(1, 31.0), std::pair(2, 116.0)}) {
    send(1, kSendForward, m, sent, sent + 1);
    send(2, kRecvForward, m, sent, sent + 1);
  }
  const std::vector<std::string> bubbles = bubblesOf(2);
  EXPECT_THAT(bubbles, Contains(AllOf(HasSubstr("peer_wait"), HasSubstr("by 1B0 on 1"))));
  EXPECT_THAT(bubbles, Not(Contains(HasSubstr("late_start"))));
}

// Step 1 begins on rank 0 before step 0 has ended on rank 1. Its first message has its data at 20
// and stands behind gradient 0 of step 0, which waits until 41 and moves until 71.
TEST_F(Blocked, AMessageInFrontMayBeOfTheStepBefore) {
  job(0, kForward, 0, 0, 10);
  job(1, kForward, 0, 11, 21);
  job(1, kBackward, 0, 21, 41);
  job(0, kForward, 0, 10, 20, 1);
  job(1, kForward, 0, 72, 82, 1);
  job(1, kBackward, 0, 82, 102, 1);
  end(0, kSendForward, 0, 10, 11);
  end(0, kRecvBackward, 0, 41, 71);
  end(0, kSendForward, 0, 71, 72, 1);
  end(1, kRecvForward, 0, 10, 11);
  end(1, kSendBackward, 0, 41, 71);
  end(1, kRecvForward, 0, 71, 72, 1);
  EXPECT_THAT(bubblesOf(1), Contains("blocked 63.519231-72 by 1SEND_B0 on 1"));
}

// Both ranks hold both stages of a pipeline, one for each direction, as in DualPipe. Micro-batches
// 0 and 1 go from rank 0 to rank 1, and 2 goes the other way: it holds up 1.
TEST_F(Blocked, MessagesOfBothDirectionsShareTheLineOfTheirRank) {
  const auto add = [&](int rank, int stage, std::int32_t microBatch, double begin, double end) {
    made_.add(rank, kForward, inNs(begin), inNs(end), 0, microBatch).stage = stage;
  };
  const auto move = [&](int from, std::int32_t microBatch, double begin) {
    end(from, kSendForward, microBatch, begin, begin + 1).stage = 0;
    end(1 - from, kRecvForward, microBatch, begin, begin + 1).stage = 1;
  };
  add(0, 0, 0, 0, 10);
  add(0, 0, 1, 10, 20);
  add(1, 1, 0, 11, 21);
  add(1, 0, 2, 21, 41);
  add(1, 1, 1, 43, 53);
  add(0, 1, 2, 42, 52);
  move(0, 0, 10);
  move(1, 2, 41);
  move(0, 1, 42);
  EXPECT_THAT(bubblesOf(1), Contains("blocked 41.173913-43 by 0SEND_F2 on 1"));
}

// Ranks 2 and 3 are another replica. Its messages have the same names, and their lines are free.
TEST_F(Blocked, MessagesOfAnotherReplicaAreOnLinesOfTheirOwn) {
  holdUpForwardOne();
  const Timeline first = made_.timeline;
  for (const Track& track : first.tracks) {
    for (Event event : track.events) {
      const bool isForwardOne = isForwardTransfer(event.kind) && event.microBatch == 1;
      if (isTransfer(event.kind) && isForwardOne) {
        event.begin = inNs(20);
        event.end = inNs(21);
      }
      made_.timeline.track(track.rank + 2, track.lane).events.push_back(event);
    }
  }
  ranksOfReplica_ = 2;
  EXPECT_THAT(bubblesOf(1), Contains("blocked 41.173913-43 by 1SEND_B0 on 1"));
  EXPECT_THAT(bubblesOf(3), Not(Contains(HasSubstr("blocked"))));
}

// Nothing but the times says that a step begins, as there is no lr.
TEST_F(Blocked, PathsDoNotLeaveAStepThatBeginsAfterTheOneBefore) {
  holdUpForwardOne();
  Timeline& timeline = made_.timeline;
  for (Track& track : timeline.tracks) {
    const std::vector<Event> first = track.events;
    for (Event event : first) {
      event.step = 1;
      event.begin += inNs(100);
      event.end += inNs(100);
      track.events.push_back(event);
    }
  }
  EXPECT_THAT(bubblesOf(1), Contains("transfer 110-111 by 0F0 on 0"));
  EXPECT_THAT(bubblesOf(1), Contains("blocked 141.173913-143 by 1SEND_B0 on 1"));
  EXPECT_THAT(bubblesOf(1), Not(Contains(HasSubstr("late_start"))));
}

}  // namespace
}  // namespace pipetrace
