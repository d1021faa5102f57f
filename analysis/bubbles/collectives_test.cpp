// Collectives cause idle time. All times are worked out by hand, in whole nanoseconds.
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/bubbles/bubbles.h"
#include "analysis/explain/critical_path.h"
#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::Pair;

class CollectivesInBubbles : public testing::Test {
 protected:
  Event& add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end,
             std::string_view lane = kComputeLane) {
    Event& event = made_.add(rank, kind, begin, end, 0, isCompute(kind) ? 0 : -1, lane);
    event.stage = isCompute(kind) ? stageOf_[rank] : kNotGiven;
    return event;
  }
  void addCollective(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end) {
    add(rank, kind, begin, end, "nccl");
  }
  /// Ranks of `replicas` pipelines, of `positions` each.
  void place(int replicas, int positions) {
    for (int rank = 0; rank < replicas * positions; ++rank) {
      RankInfo& info = made_.timeline.ranks[rank];
      info.dataParallelIndex = rank / positions;
      info.numStages = positions;
      info.worldSize = replicas * positions;
      stageOf_[rank] = rank % positions;
    }
  }
  void classify() {
    made_.timeline.sort();
    Diagnostics diagnostics;
    completeTimeline(made_.timeline, diagnostics);
    summary_ = summarize(made_.timeline);
    graph_ = std::make_unique<JobGraph>(made_.timeline, topologyOf(made_.timeline));
    basis_ = std::make_unique<RunBasis>(*graph_, summary_);
    bubbles_ = classifyBubbles(*basis_);
    for (std::uint32_t r = 0; r < bubbles_.byRank.size(); ++r) {
      Nanoseconds sum = 0;
      for (const Bubble& each : bubbles_.byRank[r]) sum += each.end - each.begin;
      EXPECT_EQ(sum, summary_.ranks[r].idle) << "rank " << r;
    }
  }
  /// The bubbles of a rank in order: class, begin, end, culprit's rank.
  std::vector<std::string> bubblesOf(std::uint32_t rank) const {
    std::vector<std::string> texts;
    for (const Bubble& each : bubbles_.byRank[rank]) {
      const JobGraph::Id culprit = each.culprit;
      std::string text{bubbleClassName(each.bubbleClass)};
      text += " " + std::to_string(each.begin) + "-" + std::to_string(each.end);
      if (culprit != JobGraph::kNone) {
        text += " by " + std::to_string(graph_->ranks()[graph_->node(culprit).rank].number);
      }
      texts.push_back(text);
    }
    return texts;
  }

  HandMadeTimeline made_;
  std::map<int, std::int32_t> stageOf_;
  RunSummary summary_;
  std::unique_ptr<JobGraph> graph_;
  std::unique_ptr<RunBasis> basis_;
  Bubbles bubbles_;
};

TEST_F(CollectivesInBubbles, ASlowReplicaIsToBlameForTheWaitBeforeTheOptimizer) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    const int slower = replica + 1;
    add(replica, JobKind::kForward, 0, 10 * slower);
    add(replica, JobKind::kBackward, 10 * slower, 30 * slower);
    addCollective(replica, JobKind::kReduceScatter, 30 * slower, 70);
    add(replica, JobKind::kOptimizer, 70, 72);
  }
  classify();
  EXPECT_THAT(bubblesOf(0),
              ElementsAre("imbalance 30-60 by 1", "sync 60-70 by 1", "sync 70-72 by 0"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("sync 60-70 by 1", "sync 70-72 by 1"));
}

TEST_F(CollectivesInBubbles, TheCriticalPathLeadsThroughTheLastMember) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    const int slower = replica + 1;
    add(replica, JobKind::kForward, 0, 10 * slower);
    add(replica, JobKind::kBackward, 10 * slower, 30 * slower);
    addCollective(replica, JobKind::kReduceScatter, 30 * slower, 70);
    add(replica, JobKind::kOptimizer, 70, 72);
  }
  classify();
  const PipelineBasis& pipeline = basis_->pipelines().front();
  PathShares shares;
  shares.add(*graph_, criticalPathOf(*basis_, pipeline, pipeline.windows.front()));
  EXPECT_THAT(shares.byKind, ElementsAre(Pair("backward", 40), Pair("forward", 20),
                                         Pair("optimizer", 2), Pair("reduce_scatter", 10)));
}

TEST_F(CollectivesInBubbles, TheWaitForTheLastMemberInsideAStepIsThatMembers) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    add(replica, JobKind::kForward, 0, replica == 0 ? 10 : 30);
    addCollective(replica, JobKind::kAllReduce, replica == 0 ? 10 : 30, 40);
    add(replica, JobKind::kBackward, 40, 60);
  }
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("imbalance 10-30 by 1", "sync 30-40 by 1"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("sync 30-40 by 1"));
}

TEST_F(CollectivesInBubbles, ACollectiveThatBeginsLateIsALateLaunch) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    add(replica, JobKind::kForward, 0, 10);
    addCollective(replica, JobKind::kAllReduce, replica == 0 ? 10 : 35, 40);
    add(replica, JobKind::kBackward, 40, 60);
  }
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("launch 10-35 by 1", "sync 35-40 by 1"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("launch 10-35 by 1", "sync 35-40 by 1"));
}

TEST_F(CollectivesInBubbles, OnlyTheLastInputOfAJobIsSync) {
  place(1, 2);
  add(0, JobKind::kForward, 0, 10);
  addCollective(1, JobKind::kAllGather, 0, 25);
  add(1, JobKind::kForward, 25, 35);
  add(1, JobKind::kBackward, 35, 55);
  add(0, JobKind::kBackward, 55, 75);
  classify();
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "sync 10-25 by 1", "drain 55-75"));
  EXPECT_THAT(bubblesOf(0), ElementsAre("drain 10-40", "transfer 40-55 by 1"));
}

TEST_F(CollectivesInBubbles, ACollectiveThatEndsBeforeTheDataIsOverlap) {
  place(1, 2);
  add(0, JobKind::kForward, 0, 10);
  addCollective(1, JobKind::kAllGather, 0, 8);
  add(1, JobKind::kForward, 10, 20);
  add(1, JobKind::kBackward, 20, 40);
  add(0, JobKind::kBackward, 40, 60);
  classify();
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "drain 40-60"));
  EXPECT_THAT(bubblesOf(0), ElementsAre("drain 10-40"));
}

TEST_F(CollectivesInBubbles, ACollectiveInsideAJobCausesNothing) {
  place(1, 1);
  add(0, JobKind::kForward, 0, 10);
  addCollective(0, JobKind::kAllReduce, 2, 9);
  add(0, JobKind::kBackward, 12, 30);
  classify();
  EXPECT_EQ(graph_->messageEnd(), graph_->nodes().size());
  EXPECT_THAT(bubblesOf(0), ElementsAre("launch 10-12 by 0"));
}

TEST_F(CollectivesInBubbles, CollectivesThatFollowEachOtherAllCount) {
  place(1, 2);
  add(0, JobKind::kForward, 0, 10);
  add(1, JobKind::kForward, 10, 20);
  add(1, JobKind::kBackward, 20, 40);
  addCollective(1, JobKind::kReduceScatter, 40, 44);
  addCollective(1, JobKind::kAllGather, 44, 50);
  add(1, JobKind::kOptimizer, 50, 52);
  add(0, JobKind::kBackward, 40, 60);
  classify();
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "sync 40-44 by 1", "sync 44-50 by 1",
                                        "sync 50-52 by 1", "drain 52-60"));
}

TEST_F(CollectivesInBubbles, MembersOfOneMustOverlapInTime) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    const int late = 100 * replica;
    add(replica, JobKind::kForward, late, late + 10);
    addCollective(replica, JobKind::kAllReduce, late + 10, late + 14);
    add(replica, JobKind::kBackward, late + 14, late + 34);
  }
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("sync 10-14 by 0"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("sync 110-114 by 1"));
}

}  // namespace
}  // namespace pipetrace
