// Messages that begin after the jobs that need them, by clocks of ranks that are a little apart.
// All times are worked out by hand.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "analysis/run/bubbles/bubbles.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using enum JobKind;

/// Two ranks with a stage each, and forwards that usually take 10 ns.
class LateMessages : public testing::Test {
 protected:
  void forward(int rank, std::int32_t microBatch, Nanoseconds begin, Nanoseconds end) {
    made_.add(rank, kForward, begin, end, 0, microBatch).stage = rank;
  }
  void message(std::int32_t microBatch, Nanoseconds sent, Nanoseconds posted,
               Nanoseconds received) {
    made_.add(0, kSendForward, sent, sent, 0, microBatch, kSendForwardLane).stage = 0;
    made_.add(1, kRecvForward, posted, received, 0, microBatch, kRecvForwardLane).stage = 1;
  }

  /// The bubbles of rank 1: "peer_wait 17-37 by 0F1".
  std::vector<std::string> bubbles() {
    for (const int rank : {0, 1}) made_.timeline.ranks[rank].numStages = 2;
    made_.timeline.sort();
    const JobGraph graph(made_.timeline, topologyOf(made_.timeline));
    const Bubbles found = classifyBubbles(RunBasis(graph, summarize(made_.timeline)));
    std::vector<std::string> texts;
    for (const Bubble& bubble : found.byRank[1]) {
      std::string text(bubbleClassName(bubble.bubbleClass));
      text += " " + std::to_string(bubble.begin) + "-" + std::to_string(bubble.end);
      if (bubble.culprit != JobGraph::kNone) {
        text += " by " + culpritName(made_.timeline, graph, bubble);
      }
      texts.push_back(text);
    }
    return texts;
  }

  HandMadeTimeline made_;
};

// The clock of rank 1 is 3 ns behind. Forward 1 of rank 0 takes 20 ns more than usual.
TEST_F(LateMessages, WaitForAMessageIsBlamedOnTheJobsBeforeIt) {
  forward(0, 0, 0, 10);
  forward(0, 1, 10, 40);
  forward(0, 2, 40, 50);
  forward(1, 0, 7, 17);
  forward(1, 1, 37, 47);
  forward(1, 2, 47, 57);
  message(0, 10, 0, 7);
  message(1, 40, 7, 37);
  message(2, 50, 37, 47);
  EXPECT_THAT(bubbles(), Contains("peer_wait 17-37 by 0F1"));
  EXPECT_THAT(bubbles(), Not(Contains(HasSubstr("unknown"))));
}

// The data of forward 1 is made at 20. The receive has its times from a stream that is a little
// later.
TEST_F(LateMessages, JobThatBeginsLateWithItsDataThereIsALateStart) {
  forward(0, 0, 0, 10);
  forward(0, 1, 10, 20);
  forward(0, 2, 20, 30);
  forward(1, 0, 10, 20);
  forward(1, 1, 25, 35);
  forward(1, 2, 35, 45);
  message(0, 10, 0, 10);
  message(1, 20, 26, 26);
  message(2, 30, 30, 30);
  EXPECT_THAT(bubbles(), Contains("late_start 20-25 by 1F1"));
  EXPECT_THAT(bubbles(), Not(Contains(HasSubstr("unknown"))));
}

}  // namespace
}  // namespace pipetrace
