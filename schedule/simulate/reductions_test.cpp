// Gradients of stages on several ranks are added up while these go on: times by hand.
#include "schedule/simulate/reductions.h"

#include <gmock/gmock.h>

#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

/// Forwards of 1, backwards of 2, reductions by stage.
Costs costsWith(std::vector<Nanoseconds> reductions) {
  Costs costs =
      Costs::equal(static_cast<int>(reductions.size()),
                   {.forward = 1, .backward = 2, .backwardInput = 1, .backwardWeight = 1});
  for (std::size_t s = 0; s < reductions.size(); ++s) costs.stages[s].reduction = reductions[s];
  return costs;
}

/// 1F1B of two ranks and two micro-batches: stage 1 ends its backwards at 7, stage 0 at 9.
CheckedPlan twoReplicas() {
  return CheckedPlan(withReductions(withReplicas(buildSchedule("1F1B", 2, 2), 2)));
}

TEST(Reductions, StandAfterTheLastBackwardOfStagesOnSeveralRanks) {
  EXPECT_EQ(toCsv(*twoReplicas()),
            "# name = 1F1B, ranks_of_stage = 0/1, replicas = 2\n"
            "0F0,0F1,0B0,0B1,0REDUCE_GRAD\n1F0,1B0,1F1,1B1,1REDUCE_GRAD\n"
            "0F2,0F3,0B2,0B3,0REDUCE_GRAD\n1F2,1B2,1F3,1B3,1REDUCE_GRAD\n");
  EXPECT_EQ(withReductions(*twoReplicas()).ranks, twoReplicas()->ranks);
  const Plan one = buildSchedule("1F1B", 2, 2);
  EXPECT_EQ(withReductions(one).ranks, one.ranks);
  // The last backward of a stage may be half of a pair.
  const Plan dual = withReductions(buildSchedule("DualPipe", 4, 8));
  for (int rank = 0; rank < 4; ++rank) {
    int found = 0;
    for (const Action& action : dual.ranks[static_cast<std::size_t>(rank)]) {
      found += action.kind == JobKind::kReduceScatter ? 1 : 0;
    }
    EXPECT_EQ(found, 2);
  }
}

TEST(Reductions, MakeTheStepLongerByWhatTheOtherStagesDoNotHide) {
  const struct {
    std::vector<Nanoseconds> reductions;
    Nanoseconds length;
  } cases[] = {{{0, 0}, 9}, {{0, 2}, 9}, {{0, 5}, 12}, {{3, 0}, 12}, {{3, 4}, 12}, {{1, 9}, 16}};
  for (const auto& [reductions, length] : cases) {
    const Costs costs = costsWith(reductions);
    const Simulation simulation = simulate(twoReplicas(), costs);
    EXPECT_EQ(simulation.length, length);
    EXPECT_EQ(simulation.criticalPath.length(), length);
    EXPECT_EQ(dryRun(twoReplicas(), costs).length, length);
  }
}

// Windows of steps end with the optimizer, if only in no time.
TEST(Reductions, EndBeforeTheStepDoesWithoutAnOptimizerToo) {
  const Simulation simulation = simulate(twoReplicas(), costsWith({5, 0}));
  for (int rank = 0; rank < 4; ++rank) {
    const Event& last = simulation.timeline.findTrack(rank, kComputeLane)->events.back();
    EXPECT_EQ(last.kind, JobKind::kOptimizer);
    EXPECT_EQ(last.end, rank % 2 == 0 ? 14 : 7);
  }
}

TEST(Reductions, BeginWhenTheLastRankHasCome) {
  Costs costs = costsWith({4, 0});
  // Replica 1's last backward of stage 0 takes 10 longer, so it ends at 19.
  costs.faults.jobs.push_back({.action = {JobKind::kBackward, 0, 3}, .longer = 10});
  const Simulation simulation = simulate(twoReplicas(), costs);
  EXPECT_EQ(simulation.length, 19 + 4);
  const auto& path = simulation.criticalPath;
  EXPECT_EQ(path.links.back().kind, JobKind::kAllReduce);
  EXPECT_EQ(path.links.back().rank, 2);
  EXPECT_EQ(path.links.back().text, "0REDUCE_GRAD");
  EXPECT_EQ(path.links.back().reason, WaitReason::kMaker);
  EXPECT_EQ(path.length(), 23);
  // Each rank's begins when that came to it.
  for (const auto& [rank, begin] : {std::pair{0, 9}, {2, 19}}) {
    const auto& events = simulation.timeline.findTrack(rank, kReductionLane)->events;
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].begin, begin);
    EXPECT_EQ(events[0].end, 23);
    EXPECT_EQ(events[0].stage, 0);
    const Argument& members = simulation.timeline.argumentsOf(events[0])[0];
    EXPECT_EQ(simulation.timeline.strings[members.text], "0 2");
  }
}

TEST(Reductions, FollowEachOtherWhereTheyAreOfOneStage) {
  const CheckedPlan plan = readPlan(
      "0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD,0REDUCE_GRAD\n"
      "0F1,0B1,0REDUCE_GRAD,0REDUCE_GRAD,0REDUCE_GRAD\n# ranks_of_stage = 0, replicas = 2\n",
      "buckets");
  const Simulation simulation = simulate(plan, costsWith({5}));
  EXPECT_EQ(simulation.length, 3 + 3 * 5);
  EXPECT_THAT(simulation.criticalPath.totals(),
              ElementsAre(Pair("forward", 1), Pair("backward", 2), Pair("all_reduce", 15)));
}

TEST(Reductions, ThatARankLacksAndThoseOfOneRankTakeNoTime) {
  const CheckedPlan lacking =
      readPlan("0F0,0B0,0REDUCE_GRAD\n0F1,0B1\n# ranks_of_stage = 0, replicas = 2\n", "lacking");
  EXPECT_EQ(simulate(lacking, costsWith({5})).length, 3);
  const CheckedPlan alone = readPlan("0F0,0B0,0REDUCE_GRAD\n", "alone");
  EXPECT_EQ(simulate(alone, costsWith({5})).length, 3);
}

TEST(Reductions, ComeBeforeTheOptimizerAndHoldUpTheNextStep) {
  Costs costs = costsWith({4, 4});
  costs.optimizer = 10;
  const Simulation simulation = simulate(twoReplicas(), costs, {.steps = 2});
  EXPECT_EQ(simulation.ranks.size(), 4U);
  // Rank 0: 9 + 4 + 10, then the same again. Rank 1 begins earlier and waits.
  EXPECT_EQ(simulation.length, 2 * 23);
}

TEST(Reductions, CountWhereDualPipeHasTwoCopies) {
  const CheckedPlan plan(withReductions(buildSchedule("DualPipe", 4, 8)));
  Costs costs = costsWith({0, 0, 0, 0});
  const Nanoseconds without = simulate(plan, costs).length;
  for (StageCosts& stage : costs.stages) stage.reduction = 7;
  const Simulation with = simulate(plan, costs);
  // The last ranks end together, and nothing hides their reductions.
  EXPECT_EQ(with.length, without + 7);
  EXPECT_EQ(with.criticalPath.length(), with.length);
}

}  // namespace
}  // namespace pipetrace
