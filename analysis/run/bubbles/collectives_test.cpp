// Collectives cause idle time. All times are worked out by hand, in whole nanoseconds.
#include <gmock/gmock.h>

#include "analysis/causes/critical_path.h"
#include "analysis/testing/collectives_in_bubbles.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::Pair;

class CollectivesInBubbles : public test::CollectivesInBubbles {};

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
  // After the last backward of rank 0, 12 of 42 are the collective and the optimizer, 30 are the
  // wait for rank 1. Rank 0 has 40 besides its own optimizer: 11 are sync, 10 of them its own.
  EXPECT_THAT(bubblesOf(0), ElementsAre("peer_wait 30-59 by 1", "sync 59-60 by 1",
                                        "sync 60-70 by 1", "sync 70-72 by 0"));
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
  EXPECT_THAT(bubblesOf(0), ElementsAre("peer_wait 10-30 by 1", "sync 30-40 by 1"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("sync 30-40 by 1"));
}

TEST_F(CollectivesInBubbles, ACollectiveThatBeginsLateIsALateStart) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    add(replica, JobKind::kForward, 0, 10);
    addCollective(replica, JobKind::kAllReduce, replica == 0 ? 10 : 35, 40);
    add(replica, JobKind::kBackward, 40, 60);
  }
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("late_start 10-35 by 1", "sync 35-40 by 1"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("late_start 10-35 by 1", "sync 35-40 by 1"));
}

TEST_F(CollectivesInBubbles, TheNormOfGradientsWaitsForTheirSumOnAnotherStream) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    add(replica, JobKind::kForward, 0, 10);
    add(replica, JobKind::kBackward, 10, 30);
    addCollective(replica, JobKind::kAllReduce, 30, 50);
    add(replica, JobKind::kAllReduce, 50, 55, "norm");
    add(replica, JobKind::kOptimizer, 55, 57);
  }
  classify();
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_THAT(bubblesOf(rank), testing::Each(testing::StartsWith("sync"))) << rank;
  }
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
  EXPECT_THAT(bubblesOf(0), ElementsAre("late_start 10-12 by 0"));
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
