#include "schedule/simulate/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;

Plan planOf(std::string_view csv) { return readPlan(csv, "plan.csv"); }

// p = 2, m = 2, F = 10, B = 20, 5 from rank to rank, drawn by hand (see simulate_test).
TEST(DryRun, TimesAreThoseDrawnByHand) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 5;
  costs.lr = 1;
  costs.optimizer = 3;
  const DryRun run = dryRun(buildSchedule("1F1B", 2, 2), costs);
  EXPECT_THAT(run.ranks[0].begin, ElementsAre(1, 11, 51, 81));
  EXPECT_THAT(run.ranks[0].end, ElementsAre(11, 21, 71, 101));
  EXPECT_THAT(run.ranks[1].begin, ElementsAre(16, 26, 46, 56));
  EXPECT_EQ(run.ranks[1].first, 16);
  EXPECT_EQ(run.ranks[1].last, 76);
  EXPECT_EQ(run.ranks[1].busy, 60);
  EXPECT_EQ(run.length, 104);
  EXPECT_DOUBLE_EQ(run.spanBubble(), 0.4);  // rank 0: 100 long, 60 of them work
}

TEST(DryRun, FusedPairTakesItsOwnTimeWhereOneIsGiven) {
  const CheckedPlan plan = planOf("0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n");
  Costs costs = Costs::equal(2, {10, 20});
  EXPECT_EQ(dryRun(plan, costs).length, 90);
  costs.stages[1].forwardBackward = 24;
  EXPECT_EQ(dryRun(plan, costs).length, 84);
  EXPECT_EQ(dryRun(plan, costs).ranks[1].busy, 54);
}

// Rank 0 makes its messages at 10, 20 and 30; each keeps the link for 15 and arrives 2 later:
//   turns 10, 25, 40; arrivals 27, 42, 57.
TEST(DryRun, MessagesOfALinkComeOneAfterAnother) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 2;
  for (StageCosts& stage : costs.stages) stage.message = 30;
  const CheckedPlan plan = buildSchedule("FThenB", 2, 3);
  EXPECT_THAT(dryRun(plan, costs).ranks[1].begin, ElementsAre(12, 22, 32, 42, 62, 82));
  costs.bandwidth = 2e9;  // two bytes a nanosecond
  EXPECT_THAT(dryRun(plan, costs).ranks[1].begin, ElementsAre(27, 42, 57, 67, 87, 107));
  // Gradients go the other way on a link of their own: made at 87, 107 and 127.
  EXPECT_THAT(dryRun(plan, costs).ranks[0].begin, ElementsAre(0, 10, 20, 104, 124, 144));
}

TEST(DryRun, MessageOfAStageIsAsLongGoingUpAsItsGradientComingBack) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.stages[0].message = 7;
  costs.stages[1].message = 1000;  // no stage gets the last stage's
  costs.bandwidth = 1e9;
  const DryRun run = dryRun(buildSchedule("1F1B", 2, 1), costs);
  EXPECT_EQ(run.ranks[1].begin[0], 17);
  EXPECT_EQ(run.ranks[0].begin[1], 17 + 30 + 7);
}

TEST(DryRun, PeaksCountWeightsAndWhatTheHalvesGiveBack) {
  // 0F0 0F1 hold 100 each; 0I0 gives 60 back, 0W0 the other 40.
  const CheckedPlan plan = planOf("0F0,0F1,0I0,0F2,0W0,0I1,0W1,0I2,0W2\n");
  const Costs costs = Costs::equal(1, {.forward = 1,
                                       .backwardInput = 1,
                                       .backwardWeight = 1,
                                       .activation = 100,
                                       .freedByInput = 60,
                                       .weights = 1000});
  const DryRun run = dryRun(plan, costs);
  EXPECT_EQ(run.ranks[0].peakLive, 3);
  EXPECT_EQ(run.ranks[0].peakMemory, 1000 + 300 - 60);
}

TEST(DryRun, StageOnTwoRanksHasItsWeightsOnBoth) {
  Costs costs = Costs::equal(2, {.forward = 1, .backward = 2, .activation = 0, .weights = 7});
  EXPECT_EQ(dryRun(planOf("0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n"), costs).ranks[1].peakMemory, 14);
  EXPECT_EQ(dryRun(buildSchedule("1F1B", 2, 2), costs).ranks[1].peakMemory, 7);
}

TEST(DryRun, AsynchronousPlanUpdatesAfterEveryBackwardPassAndKeepsVersions) {
  Plan plan = buildSchedule("1F1B", 3, 8);
  plan.updates = WeightUpdates::alike(3, 1);
  Costs costs = Costs::equal(3, {.forward = 10, .backward = 20, .activation = 0, .weights = 100});
  costs.optimizer = 4;
  const DryRun run = dryRun(CheckedPlan(plan), costs);
  for (int s = 0; s < 3; ++s) {
    EXPECT_EQ(run.ranks[static_cast<std::size_t>(s)].peakMemory, 100 * (3 - s));
  }
  EXPECT_EQ(run.ranks[2].begin[2], 20 + 30 + 4);
  EXPECT_EQ(run.ranks[2].last, 20 + 8 * 34 - 4);
  EXPECT_EQ(run.length, 20 + 7 * 34 + 30 + 2 * 20 + 4);
}

TEST(DryRun, TimesEqualThoseOfSimulate) {
  Costs costs = Costs::equal(5, {3, 7, 4, 3});
  costs.transfer = 2;
  costs.lr = 1;
  costs.optimizer = 5;
  for (int m = 1; m < 12; ++m) {
    const CheckedPlan plan = buildSchedule("1F1B", 5, m);
    const DryRun run = dryRun(plan, costs);
    const Simulation simulation = simulate(plan, costs);
    EXPECT_EQ(run.length, simulation.length);
    for (std::size_t r = 0; r < 5; ++r) {
      EXPECT_EQ(run.ranks[r].busy, simulation.ranks[r].busy);
      EXPECT_EQ(run.ranks[r].first, simulation.ranks[r].first);
      EXPECT_EQ(run.ranks[r].last, simulation.ranks[r].last);
      EXPECT_EQ(run.ranks[r].peakLive, simulation.ranks[r].peakLive);
    }
  }
}

TEST(DryRun, CostsOfFewerStagesThanThePlanHasAreAnError) {
  EXPECT_THROW(dryRun(buildSchedule("1F1B", 2, 2), Costs::equal(1, {1, 2})), Error);
}

TEST(DryRunOfCandidate, TimesEqualThoseOfTheCheckedPlan) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  const Costs costs = Costs::equal(4, {3, 7});
  EXPECT_EQ(dryRunOfCandidate(plan, costs).length, dryRun(CheckedPlan(plan), costs).length);
  EXPECT_EQ(dryRunOfCandidate(plan, costs).ranks[0].end,
            dryRun(CheckedPlan(plan), costs).ranks[0].end);
}

TEST(DryRunOfCandidate, PlanThatStopsOrLacksWorkIsAnError) {
  const Costs costs = Costs::equal(2, {1, 2});
  EXPECT_THROW(dryRunOfCandidate(planOf("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"), costs), Error);
  EXPECT_THROW(dryRunOfCandidate(planOf("0F0,0B0,0F1\n1F0,1B0,1B1\n"), costs), Error);
}

}  // namespace
}  // namespace pipetrace
