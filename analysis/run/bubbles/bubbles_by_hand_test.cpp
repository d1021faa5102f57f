// Idle time of small runs, whose classes follow from a table of times.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "analysis/run/bubbles/bubbles.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum JobKind;

/// Ranks of one stage each, in one step.
class BubblesByHand : public testing::Test {
 protected:
  void add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, std::int32_t microBatch = 0,
           std::int32_t step = 0) {
    made_.add(rank, kind, begin, end, step, microBatch).stage = isCompute(kind) ? rank : kNotGiven;
  }

  /// By rank: "warm_up 0-10 by 0", the last word being the culprit's rank.
  std::vector<std::vector<std::string>> bubbles() {
    made_.timeline.sort();
    for (const Track& track : made_.timeline.tracks) {
      made_.timeline.ranks[track.rank].rank = track.rank;
    }
    Diagnostics diagnostics;
    completeTimeline(made_.timeline, diagnostics);
    const RunSummary summary = summarize(made_.timeline);
    const JobGraph graph(made_.timeline, topologyOf(made_.timeline));
    std::vector<std::vector<std::string>> texts;
    for (const std::vector<Bubble>& ofRank : classifyBubbles(RunBasis(graph, summary)).byRank) {
      texts.emplace_back();
      for (const Bubble& each : ofRank) {
        std::string text{bubbleClassName(each.bubbleClass)};
        text += " " + std::to_string(each.begin) + "-" + std::to_string(each.end);
        if (each.culprit != JobGraph::kNone) {
          text += " by " + std::to_string(graph.ranks()[graph.node(each.culprit).rank].number);
        }
        texts.back().push_back(text);
      }
    }
    return texts;
  }

  HandMadeTimeline made_;
};

TEST_F(BubblesByHand, SteadyIsWhatLiesBetweenTheFirstBackwardAndTheLastForward) {
  for (const int i : {0, 1}) {
    const Nanoseconds begin = 60 * i;
    add(0, kForward, begin, begin + 10, i);
    add(1, kForward, begin + 10, begin + 20, i);
    add(1, kBackward, begin + 20, begin + 40, i);
    add(0, kBackward, begin + 40, begin + 60, i);
  }
  const auto found = bubbles();
  EXPECT_THAT(found[0], ElementsAre("warm_up 10-40", "drain 70-100"));
  EXPECT_THAT(found[1], ElementsAre("warm_up 0-10", "steady 40-70", "drain 100-120"));
}

TEST_F(BubblesByHand, AWaitForTheDataOfAnotherRankIsALateStartOfThatRank) {
  add(0, kForward, 0, 10, 0);
  add(0, kData, 10, 30, -1);
  add(0, kForward, 30, 40, 1);
  add(1, kForward, 10, 20, 0);
  add(1, kForward, 40, 50, 1);
  const auto found = bubbles();
  EXPECT_THAT(found[0], ElementsAre("late_start 10-30 by 0", "drain 40-50"));
  EXPECT_THAT(found[1], ElementsAre("warm_up 0-10", "late_start 20-40 by 0"));
}

TEST_F(BubblesByHand, AWaitForTheCheckpointOfAnotherRankIsASyncOfThatRank) {
  add(0, kForward, 0, 10, 0);
  add(0, kCheckpoint, 10, 30, -1);
  add(0, kForward, 30, 40, 1);
  add(1, kForward, 10, 20, 0);
  add(1, kForward, 40, 50, 1);
  const auto found = bubbles();
  EXPECT_THAT(found[0], ElementsAre("sync 10-30 by 0", "drain 40-50"));
  EXPECT_THAT(found[1], ElementsAre("warm_up 0-10", "sync 20-40 by 0"));
}

TEST_F(BubblesByHand, AStageThatIsFasterThanTheOthersWaitsBecauseOfThat) {
  for (const int i : {0, 1, 2}) {
    add(0, kForward, 10 * i, 10 * i + 10, i);
    add(1, kForward, 10 * i + 10, 10 * i + 20, i);
    add(2, kForward, 10 * i + 20, 10 * i + 25, i);
  }
  // In the plan, where all forwards take 10, no rank waits between its jobs.
  EXPECT_THAT(bubbles()[2],
              ElementsAre("warm_up 0-20", "imbalance 25-30 by 2", "imbalance 35-40 by 2"));
}

/// Rank 1 waits 10 for its first forward in the plan.
TEST_F(BubblesByHand, AGapShorterThanPlannedMayMakeALaterOneLonger) {
  add(0, kForward, 0, 4, 0);
  add(0, kLr, 4, 10, -1);  // where paths end
  add(0, kForward, 10, 20, 1);
  add(0, kForward, 20, 30, 2);
  add(1, kForward, 4, 14, 0);
  add(1, kForward, 20, 30, 1);
  add(1, kForward, 30, 40, 2);
  EXPECT_THAT(bubbles()[1], ElementsAre("warm_up 0-4", "warm_up 14-20"));
}

TEST_F(BubblesByHand, AGapShorterThanPlannedCountsInItsStepOnly) {
  add(0, kForward, 0, 4, 0);
  add(0, kForward, 4, 14, 1);
  add(0, kForward, 14, 24, 2);
  add(1, kForward, 4, 14, 0);
  add(1, kForward, 14, 24, 1);
  add(1, kForward, 24, 34, 2);
  add(0, kForward, 60, 70, 0, 1);
  add(0, kLr, 70, 76, -1, 1);
  add(0, kForward, 76, 86, 1, 1);
  add(0, kForward, 86, 96, 2, 1);
  add(1, kForward, 70, 80, 0, 1);
  add(1, kForward, 86, 96, 1, 1);
  add(1, kForward, 96, 106, 2, 1);
  EXPECT_THAT(bubbles()[1], ElementsAre("warm_up 0-4", "warm_up 60-70", "unknown 80-86"));
}

TEST_F(BubblesByHand, RanksThatNeverWaitHaveNoBubbles) {
  add(0, kForward, 0, 10, 0);
  add(0, kForward, 5, 15, 1);
  add(0, kBackward, 15, 20, 0);
  EXPECT_THAT(bubbles()[0], IsEmpty());
}

}  // namespace
}  // namespace pipetrace
