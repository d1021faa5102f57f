#include "schedule/builders/squeeze.h"

#include <gtest/gtest.h>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/dry_run.h"

namespace pipetrace {
namespace {

// Two ranks, two micro-batches, forwards and input halves as 1F1B has them.
Plan order() { return readPlan("0F0,0F1,0I0,0I1\n1F0,1I0,1F1,1I1\n", "order"); }
const Costs kUnits = Costs::equal(2, {1, 2, 1, 1});

TEST(Squeeze, WeightHalvesFillTheGaps) {
  const auto plan = squeeze(order(), kUnits, {.limits = {2, 2}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(toCsv(*plan), "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n");
}

TEST(Squeeze, WeightHalvesMakeRoomWhereTheLimitAsksForIt) {
  const auto plan = squeeze(order(), kUnits, {.limits = {2, 1}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(toCsv(*plan), "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1W0,1F1,1I1,1W1\n");
}

TEST(Squeeze, LimitsBelowOneActivationGiveNoPlan) {
  EXPECT_TRUE(squeeze(order(), kUnits, {.limits = {1, 1}}).has_value());
  EXPECT_FALSE(squeeze(order(), kUnits, {.limits = {2, 0}}).has_value());
}

TEST(Squeeze, ForwardsOvertakeWhatStillWaits) {
  const Plan waiting = readPlan("0F0,0I0,0F1,0I1\n1F0,1I0,1F1,1I1\n", "order");
  const auto early = squeeze(waiting, kUnits, {.limits = {2, 2}});
  const auto inOrder = squeeze(waiting, kUnits, {.limits = {2, 2}, .overtake = false});
  ASSERT_TRUE(early.has_value() && inOrder.has_value());
  EXPECT_EQ(early->ranks[0][1].kind, JobKind::kForward);
  EXPECT_EQ(inOrder->ranks[0][1].kind, JobKind::kBackwardInput);
  EXPECT_LT(dryRun(CheckedPlan(*early), kUnits).length,
            dryRun(CheckedPlan(*inOrder), kUnits).length);
  // With room for one only, nothing overtakes, and the order holds.
  const auto narrow = squeeze(waiting, kUnits, {.limits = {1, 1}});
  ASSERT_TRUE(narrow.has_value());
  EXPECT_EQ(narrow->ranks[0][1].kind, JobKind::kBackwardInput);
}

TEST(Squeeze, GapsTooShortForAWeightHalfStayEmptyIfAsked) {
  // Rank 0 gets 0I0 at 9 and 0I1 at 11: a gap of 1 for weight halves of 10.
  Costs slowWeights = Costs::equal(2, {1, 11, 1, 10});
  slowWeights.transfer = 3;
  const auto waits = squeeze(order(), slowWeights, {.limits = {2, 2}, .fillPercent = 100});
  ASSERT_TRUE(waits.has_value());
  EXPECT_EQ(toCsv(*waits), "0F0,0F1,0I0,0I1,0W0,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n");
  const auto fills = squeeze(order(), slowWeights, {.limits = {2, 2}, .fillPercent = 10});
  ASSERT_TRUE(fills.has_value());
  EXPECT_EQ(toCsv(*fills), "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n");
}

}  // namespace
}  // namespace pipetrace
