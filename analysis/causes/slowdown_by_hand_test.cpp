// Runs of a few jobs, compared with tables made by hand.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/slowdown_of_run.h"

namespace pipetrace {
namespace {

/// Runs of a few jobs, in whole nanoseconds.
class SlowdownByHand : public testing::Test {
 protected:
  Event& add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end,
             std::int32_t microBatch = 0, std::int32_t step = 0,
             std::string_view lane = kComputeLane) {
    Event& event = made_.add(rank, kind, begin, end, step, microBatch, lane);
    event.stage = isCompute(kind) || isTransfer(kind) ? stageOf_[rank] : kNotGiven;
    return event;
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
  Slowdown slowdown(std::vector<std::int32_t> steps = {}) const {
    return test::slowdownIn(made_.timeline, std::move(steps));
  }

  HandMadeTimeline made_;
  std::map<int, std::int32_t> stageOf_;
};

TEST_F(SlowdownByHand, ReplicasWaitForEachOtherInCollectives) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    const int slower = replica + 1;
    add(replica, JobKind::kForward, 0, 10 * slower);
    add(replica, JobKind::kBackward, 10 * slower, 30 * slower);
    add(replica, JobKind::kReduceScatter, 30 * slower, 70, -1, 0, "nccl");
    add(replica, JobKind::kOptimizer, 70, 72);
  }
  const Slowdown s = slowdown();
  ASSERT_EQ(s.reason, "");
  EXPECT_DOUBLE_EQ(s.tSim, 72);
  EXPECT_DOUBLE_EQ(s.tIdeal, 15 + 30 + 10 + 2);
  EXPECT_DOUBLE_EQ(s.launch, 1);
  EXPECT_DOUBLE_EQ(s.byReplica.at(0), 1) << "the other one is slower even if ideal";
  EXPECT_DOUBLE_EQ(s.byReplica.at(1), 72.0 / 57);
  EXPECT_DOUBLE_EQ(s.byStage.at(0), 72.0 / 57);
  EXPECT_DOUBLE_EQ(s.byKind.at("forward"), (20.0 + 30 + 12) / 57);
  EXPECT_DOUBLE_EQ(s.byKind.at("reduce_scatter"), 1) << "what comes before is waiting";
  EXPECT_EQ(s.worstRanks, std::vector{1});
  EXPECT_DOUBLE_EQ(s.mW.value(), 1);
  ASSERT_EQ(s.ranks.size(), 2U);
  EXPECT_DOUBLE_EQ(s.ranks[0].score, 1);
  EXPECT_DOUBLE_EQ(s.ranks[1].score, 72.0 / 57);
}

TEST_F(SlowdownByHand, TensorParallelPeersTakeNoPartInCollectivesOfReplicas) {
  place(4, 1);
  for (int rank = 0; rank < 4; ++rank) {
    RankInfo& info = made_.timeline.ranks[rank];
    info.dataParallelIndex = rank / 2;
    info.tensorParallelIndex = rank % 2;
    const int slower = rank == 2 ? 2 : 1;
    const int done = rank % 2 == 0 ? 70 : 40;
    add(rank, JobKind::kForward, 0, 10 * slower);
    add(rank, JobKind::kBackward, 10 * slower, 30 * slower);
    add(rank, JobKind::kReduceScatter, 30 * slower, done, -1, 0, "nccl");
    add(rank, JobKind::kOptimizer, done, done + 2);
  }
  const Slowdown s = slowdown();
  ASSERT_EQ(s.reason, "");
  EXPECT_DOUBLE_EQ(s.tSim, 72);
  EXPECT_DOUBLE_EQ(s.tIdeal, 12.5 + 25 + 10 + 2);
  ASSERT_EQ(s.byReplica.size(), 2U);
  EXPECT_DOUBLE_EQ(s.byReplica.at(0), 1) << "rank 0 waits for rank 2 even if that is ideal";
  EXPECT_DOUBLE_EQ(s.byReplica.at(1), 72.0 / s.tIdeal);
  EXPECT_EQ(s.worstRanks, std::vector{2});
}

TEST_F(SlowdownByHand, CollectivesThatDoNotOverlapAreNotOne) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    const int late = 100 * replica;
    add(replica, JobKind::kForward, late, late + 10);
    add(replica, JobKind::kAllReduce, late + 10, late + 14, -1, 0, "nccl");
    add(replica, JobKind::kOptimizer, late + 14, late + 15);
  }
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 15);
  EXPECT_DOUBLE_EQ(s.launch, 115.0 / 15);
}

TEST_F(SlowdownByHand, ACollectiveInsideAJobIsPartOfIt) {
  place(1, 1);
  add(0, JobKind::kBackward, 0, 20);
  add(0, JobKind::kAllReduce, 5, 15, -1, 0, "nccl");
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 20);
  EXPECT_FALSE(s.byKind.contains("all_reduce"));
}

TEST_F(SlowdownByHand, ACollectiveThatBeginsDuringAJobFollowsTheJobBefore) {
  place(1, 1);
  add(0, JobKind::kForward, 0, 10);
  add(0, JobKind::kBackward, 10, 30);
  add(0, JobKind::kAllReduce, 25, 40, -1, 0, "nccl");
  add(0, JobKind::kOptimizer, 40, 42);
  // It may begin at 10, so it ends at 25, and the optimizer begins after the backward.
  EXPECT_DOUBLE_EQ(slowdown().tSim, 32);
}

TEST_F(SlowdownByHand, AMessageWaitsForAReceiveThatIsPostedLate) {
  place(1, 2);
  add(0, JobKind::kForward, 0, 10, 0);
  add(0, JobKind::kForward, 10, 20, 1);
  add(0, JobKind::kSendForward, 10, 12, 0, 0, kSendLane);
  add(0, JobKind::kSendForward, 20, 24, 1, 0, kSendLane);
  add(1, JobKind::kRecvForward, 0, 12, 0, 0, kRecvLane);
  add(1, JobKind::kForward, 12, 22, 0);
  add(1, JobKind::kRecvForward, 22, 24, 1, 0, kRecvLane);
  add(1, JobKind::kForward, 24, 34, 1);
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 34);
  EXPECT_DOUBLE_EQ(s.total, 1);
  EXPECT_DOUBLE_EQ(s.launch, 1);
  EXPECT_DOUBLE_EQ(s.byKind.at("forward-pp-comm"), 1);
}

TEST_F(SlowdownByHand, InTracesOfTheStudyAMessageFollowsTheJobBeforeOfItsDirection) {
  place(1, 2);
  add(0, JobKind::kForward, 0, 10, 0);
  add(0, JobKind::kForward, 10, 20, 1);
  add(0, JobKind::kSendForward, 10, 12, 0, 0, kSendLane);
  add(0, JobKind::kSendForward, 20, 72, 1, 0, kSendLane);
  add(1, JobKind::kRecvForward, 0, 12, 0, 0, kRecvLane);
  add(1, JobKind::kForward, 12, 22, 0);
  add(1, JobKind::kBackward, 22, 42, 0);
  add(1, JobKind::kRecvForward, 42, 72, 1, 0, kRecvLane);
  add(1, JobKind::kForward, 72, 82, 1);
  EXPECT_DOUBLE_EQ(slowdown().tSim, 82) << "the receive is posted after the backward";
  Timeline& run = made_.timeline;
  const Argument number = Argument::ofInteger(run.strings.intern("seq_id"), 0);
  for (Track& track : run.tracks) {
    for (Event& event : track.events) run.setArguments(event, {&number, 1});
  }
  EXPECT_DOUBLE_EQ(slowdown().tSim, 22 + 30 + 10) << "it follows forward 0, which ends at 22";
}

TEST_F(SlowdownByHand, LateJobsAreLaunchDelayAndNoSlowdown) {
  place(1, 1);
  add(0, JobKind::kForward, 0, 10, 0);
  add(0, JobKind::kForward, 25, 35, 1);
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.total, 1);
  EXPECT_DOUBLE_EQ(s.launch, 35.0 / 20);
}

TEST_F(SlowdownByHand, JobsWithoutMicroBatchesAreLinkedInTheirOrder) {
  place(1, 2);
  for (const int i : {0, 1}) {
    add(0, JobKind::kForward, 10 * i, 10 * i + 10, kNotGiven);
    add(1, JobKind::kForward, 10 + 20 * i, 30 + 20 * i, kNotGiven);
  }
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 50);
  EXPECT_DOUBLE_EQ(s.tIdeal, 45);
}

TEST_F(SlowdownByHand, ScoresAreOfPlacesWhereStagesAreInAnotherOrder) {
  place(1, 2);
  stageOf_ = {{0, 1}, {1, 0}};
  add(1, JobKind::kForward, 0, 10);
  add(0, JobKind::kForward, 10, 40);
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tIdeal, 20 + 20);
  EXPECT_DOUBLE_EQ(s.byStage.at(0), 30.0 / 40);
  EXPECT_DOUBLE_EQ(s.byStage.at(1), 50.0 / 40);
  EXPECT_DOUBLE_EQ(s.ranks[0].score, 1) << "that of its pipeline; its place has 50 / 40";
  EXPECT_DOUBLE_EQ(s.ranks[1].score, 30.0 / 40);
}

TEST_F(SlowdownByHand, WorkWithoutAStageIsOfTheOnlyStageOfItsRank) {
  place(1, 2);
  for (const int rank : {0, 1}) {
    add(rank, JobKind::kForward, 10 * rank, 10 * rank + 10);
    add(rank, JobKind::kOptimizer, 20, 30 + 20 * rank, -1);
  }
  // Optimizers take 10 and 30, ideally 20: until 40, or until 50 with the one of stage 1.
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tIdeal, 40);
  EXPECT_DOUBLE_EQ(s.byStage.at(0), 1);
  EXPECT_DOUBLE_EQ(s.byStage.at(1), 50.0 / 40);
}

TEST_F(SlowdownByHand, OneJobIsAsLongAsItsIdeal) {
  place(1, 1);
  add(0, JobKind::kForward, 100, 107);
  const Slowdown s = slowdown();
  ASSERT_EQ(s.reason, "");
  EXPECT_DOUBLE_EQ(s.tSim, 7);
  EXPECT_DOUBLE_EQ(s.total, 1);
  EXPECT_DOUBLE_EQ(s.byStage.at(0), 1);
  EXPECT_EQ(s.mS, std::nullopt);
}

TEST_F(SlowdownByHand, StepsThatSomeRankLacksDoNotCount) {
  place(2, 1);
  for (const int step : {0, 1, 2, 3}) {
    add(0, JobKind::kForward, 100 * step, 100 * step + 10, 0, step);
    if (step < 3) add(1, JobKind::kForward, 100 * step, 100 * step + 10, 0, step);
  }
  add(0, JobKind::kForward, 20, 30, 1, 0);
  add(1, JobKind::kForward, 20, 30, 1, 0);
  add(0, JobKind::kForward, 120, 130, 1, 1);
  add(1, JobKind::kForward, 120, 130, 1, 1);
  const Slowdown s = slowdown();
  EXPECT_EQ(s.steps, (std::vector{0, 1})) << "step 2 was cut off, and rank 1 lacks step 3";
  EXPECT_EQ(slowdown({0, 2, 3}).steps, (std::vector{0, 2})) << "what is asked for is used";
}

TEST_F(SlowdownByHand, StepsThatRunIntoEachOtherCountAsOne) {
  place(1, 1);
  add(0, JobKind::kForward, 0, 10, 0, 0);
  add(0, JobKind::kForward, 10, 20, 0, 1);
  add(0, JobKind::kBackward, 20, 40, 0, 0);
  add(0, JobKind::kBackward, 40, 60, 0, 1);
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 60);
  EXPECT_DOUBLE_EQ(s.launch, 1);
}

TEST_F(SlowdownByHand, KindsHaveTheNamesOfTheInputUnlessTheyNumberJobs) {
  place(1, 1);
  const auto name = [&](Event& event, std::string_view text) {
    event.name = made_.timeline.strings.intern(text);
  };
  name(add(0, JobKind::kForward, 0, 10), "forward-compute");
  name(add(0, JobKind::kBackward, 10, 20), "backward 7");
  name(add(0, JobKind::kDefault, 20, 21), "gc");
  name(add(0, JobKind::kDefault, 21, 23), "save");
  const Slowdown s = slowdown();
  std::vector<std::string> kinds;
  for (const auto& [kind, value] : s.byKind) kinds.push_back(kind);
  EXPECT_THAT(kinds, testing::ElementsAre("backward", "forward-compute", "gc", "save"));
}

TEST_F(SlowdownByHand, RunsWithoutTrueNumbersSayWhy) {
  EXPECT_EQ(slowdown().reason, "there are no compute jobs");
  place(1, 2);
  add(0, JobKind::kForward, 0, 0);
  EXPECT_EQ(slowdown().reason, "the jobs take no time");
  add(0, JobKind::kBackward, 30, 50);
  EXPECT_THAT(slowdown().reason,
              testing::HasSubstr("1 job gets its input from jobs that are missing"));
  add(1, JobKind::kForward, 5, 10);
  add(1, JobKind::kBackward, 10, 30);
  EXPECT_EQ(slowdown().reason, "");
  EXPECT_THAT(slowdown({8}).reason, testing::HasSubstr("none of these steps"));
  add(1, JobKind::kForwardBackward, 60, 70);
  EXPECT_EQ(slowdown().reason, "the halves of fused jobs on rank 1 are not known");
}

}  // namespace
}  // namespace pipetrace
