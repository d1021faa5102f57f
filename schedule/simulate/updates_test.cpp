// Updates of asynchronous plans whose stages stand on several ranks: each waits for the gradients
// of all ranks.
#include <gmock/gmock.h>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/random_plans.h"
#include "schedule/testing/second_clock.h"
#include "schedule/testing/simulated_events.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using test::eventsOf;
using ::testing::ElementsAre;
using ::testing::Pair;

using Spans = std::vector<std::pair<Nanoseconds, Nanoseconds>>;

Spans updatesOf(const Simulation& simulation, int rank) {
  Spans spans;
  for (const Event& event : eventsOf(simulation, rank)) {
    if (event.kind == JobKind::kOptimizer) spans.emplace_back(event.begin, event.end);
  }
  return spans;
}

Spans reductionsOf(const Simulation& simulation, int rank) {
  Spans spans;
  for (const Event& event : eventsOf(simulation, rank, kReductionLane)) {
    spans.emplace_back(event.begin, event.end);
  }
  return spans;
}

/// Forwards of 1, backwards of 2, updates of 1.
Costs costsWith(int stages, Nanoseconds reduction) {
  Costs costs = Costs::equal(stages, {.forward = 1, .backward = 2});
  for (StageCosts& stage : costs.stages) stage.reduction = reduction;
  costs.optimizer = 1;
  return costs;
}

// Rank 2: F0 1, B0 2-4, update, F1 5, B1 6-8, update, F2 9, B2 10-12, update, F3 13, B3 14-16,
// update. Rank 0 has done 0B0 at 6 and waits for rank 1's 0B1, at 10.
TEST(UpdatesOnSeveralRanks, WaitForTheGradientsOfAllRanks) {
  const CheckedPlan plan = buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 4);
  const Simulation simulation = simulate(plan, costsWith(2, 3));
  EXPECT_THAT(updatesOf(simulation, 0), ElementsAre(Pair(13, 14), Pair(21, 22)));
  EXPECT_THAT(updatesOf(simulation, 1), ElementsAre(Pair(13, 14), Pair(21, 22)));
  EXPECT_THAT(updatesOf(simulation, 2),
              ElementsAre(Pair(4, 5), Pair(8, 9), Pair(12, 13), Pair(16, 17)));
  EXPECT_THAT(reductionsOf(simulation, 0), ElementsAre(Pair(6, 13), Pair(16, 21)));
  EXPECT_THAT(reductionsOf(simulation, 1), ElementsAre(Pair(10, 13), Pair(18, 21)));
  EXPECT_EQ(simulation.length, 22);
  EXPECT_EQ(simulation.criticalPath.length(), 22);
  EXPECT_THAT(simulation.criticalPath.totals(),
              ElementsAre(Pair("forward", 5), Pair("backward", 10), Pair("optimizer", 4),
                          Pair("all_reduce", 3)));
  EXPECT_EQ(dryRun(plan, costsWith(2, 3)).length, 22);
}

TEST(UpdatesOnSeveralRanks, WaitWhereAddingTakesNoTimeToo) {
  const CheckedPlan plan = buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 4);
  const Simulation simulation = simulate(plan, costsWith(2, 0));
  EXPECT_THAT(updatesOf(simulation, 0), ElementsAre(Pair(10, 11), Pair(18, 19)));
  EXPECT_THAT(updatesOf(simulation, 1), ElementsAre(Pair(10, 11), Pair(18, 19)));
  EXPECT_EQ(simulation.criticalPath.length(), 19);
}

// The rank that has no part in the last update comes to it with the one before.
TEST(UpdatesOnSeveralRanks, TakeWhatThereIsOfTheLastMicroBatches) {
  const CheckedPlan plan = buildOnStageRanks("PipeDream", {{0, 1}}, 3);
  const Simulation simulation = simulate(plan, costsWith(1, 3));
  // Rank 0: F0, B0 1-3, update 6-7, F2 7-8, B2 8-10. Rank 1 waits from 7 on.
  EXPECT_THAT(updatesOf(simulation, 0), ElementsAre(Pair(6, 7), Pair(13, 14)));
  EXPECT_THAT(updatesOf(simulation, 1), ElementsAre(Pair(6, 7), Pair(13, 14)));
  EXPECT_THAT(reductionsOf(simulation, 1), ElementsAre(Pair(3, 6), Pair(7, 13)));
  EXPECT_EQ(simulation.criticalPath.length(), 14);
}

TEST(UpdatesOnSeveralRanks, TakeAMicroBatchOfEachReplica) {
  const CheckedPlan plan(withReplicas(buildSchedule("PipeDream", 1, 2), 2));
  Costs costs = costsWith(1, 3);
  // Replica 1's first backward takes 4 longer.
  costs.faults.jobs.push_back({.action = {JobKind::kBackward, 0, 2}, .longer = 4});
  const Simulation simulation = simulate(plan, costs);
  for (const int rank : {0, 1}) {
    EXPECT_THAT(updatesOf(simulation, rank), ElementsAre(Pair(10, 11), Pair(17, 18)));
  }
}

TEST(UpdatesOnSeveralRanks, HaveAReduceGradEach) {
  EXPECT_EQ(toCsv(withReductions(buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 3))),
            "# name = PipeDream, update_every = 2,1, double_buffered = 0, ranks_of_stage = 0,1/2, "
            "run = 1\n"
            "0F0,0F2,0B0,0REDUCE_GRAD,0B2,0REDUCE_GRAD\n"
            "0F1,0B1,0REDUCE_GRAD,0REDUCE_GRAD\n"
            "1F0,1B0,1F1,1B1,1F2,1B2\n");
  // In place of those that a file has.
  const Plan plan = readPlan(
      "# update_every = 2, ranks_of_stage = 0,1\n0F0,0B0,0F2,0B2,0REDUCE_GRAD\n0F1,0B1,0F3,0B3\n",
      "file");
  EXPECT_EQ(withReductions(plan).ranks, withReductions(withReductions(plan)).ranks);
  EXPECT_EQ(withReductions(plan).ranks, readPlan("0F0,0B0,0REDUCE_GRAD,0F2,0B2,0REDUCE_GRAD\n"
                                                 "0F1,0B1,0REDUCE_GRAD,0F3,0B3,0REDUCE_GRAD\n",
                                                 "file")
                                            .ranks);
}

TEST(UpdatesOnSeveralRanks, HaveTheTimesOfTheSecondClock) {
  test::RandomPlans random(11);
  int meet = 0;
  for (int round = 0; round < 1000; ++round) {
    Plan plan = random.asynchronous();
    if (random.below(3) == 0) plan.credits = 1 + random.below(2);
    if (!check(plan).empty()) continue;
    meet += UpdateMeetings::exist(plan) ? 1 : 0;
    Costs costs = Costs::equal(plan.numStages, {});
    for (StageCosts& stage : costs.stages) {
      stage = {.forward = 1 + random.below(5),
               .backward = 1 + random.below(8),
               .backwardInput = 1 + random.below(5),
               .backwardWeight = 1 + random.below(4),
               .recompute = 1 + random.below(5)};
      stage.reduction = random.below(6);
    }
    costs.transfer = random.below(4);
    costs.optimizer = random.below(3);
    const int steps = 1 + random.below(2);
    const Simulation simulation = simulate(CheckedPlan(plan), costs, {.steps = steps});
    const test::SecondClock clock(plan, costs, steps);
    ASSERT_EQ(simulation.length, clock.length()) << toCsv(plan);
    for (int rank = 0; rank < plan.numRanks(); ++rank) {
      std::vector<Nanoseconds> begun;
      for (const Event& event : eventsOf(simulation, rank)) {
        if (event.kind != JobKind::kOptimizer) begun.push_back(event.begin);
      }
      ASSERT_EQ(begun, clock.begins(rank)) << rank << "\n" << toCsv(plan);
    }
    if (steps > 1) continue;
    ASSERT_EQ(simulation.criticalPath.length(), simulation.length) << toCsv(plan);
    ASSERT_EQ(simulate(CheckedPlan(withReductions(plan)), costs).length, simulation.length);
  }
  EXPECT_GT(meet, 50);
}

}  // namespace
}  // namespace pipetrace
