#include "analysis/run/costs/plan_figures.h"

#include <gtest/gtest.h>

#include "schedule/build_schedule.h"
#include "schedule/check/checked_plan.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

/// Two micro-batches on one rank: 60 ms of work a step, after an lr of 5 ms.
TEST(PlanFigures, TimeBetweenStepsIsPartOfTheLengthAndOfNoWindow) {
  const Plan plan = buildSchedule("1F1B", 1, 2);
  Costs costs = Costs::equal(1, {.forward = 10 * kNsPerMs, .backward = 20 * kNsPerMs});
  costs.lr = 5 * kNsPerMs;
  const PlanFigures figures = planFigures(plan, simulate(CheckedPlan(plan), costs, {.steps = 3}));
  EXPECT_EQ(figures.length, 3 * 65 * kNsPerMs);
  EXPECT_EQ(figures.windows, 3 * 60 * kNsPerMs);
  EXPECT_EQ(figures.bubbleRatio, 0);
  EXPECT_EQ(figures.spanBubble, 0);
  ASSERT_EQ(figures.ranks.size(), 1U);
  EXPECT_EQ(figures.ranks[0].busy, 3 * 60 * kNsPerMs);
  EXPECT_EQ(figures.ranks[0].idle, 0);
  EXPECT_EQ(figures.ranks[0].peakActivations, 1);
  EXPECT_EQ(figures.ranks[0].weightDistance, 0);
}

/// A step of replica 0 takes 60 ms, one of replica 1 takes 80.
TEST(PlanFigures, WindowsOfReplicasAreTheirMean) {
  const Plan plan = withReplicas(buildSchedule("1F1B", 1, 2), 2);
  Costs costs = Costs::equal(1, {.forward = 10 * kNsPerMs, .backward = 20 * kNsPerMs});
  EXPECT_EQ(planFigures(plan, simulate(CheckedPlan(plan), costs)).windows, 60 * kNsPerMs);
  costs.faults.jobs.push_back({.action = {JobKind::kForward, 0, 3}, .late = 20 * kNsPerMs});
  const PlanFigures figures = planFigures(plan, simulate(CheckedPlan(plan), costs, {.steps = 2}));
  EXPECT_EQ(figures.windows, 2 * 70 * kNsPerMs);
  EXPECT_DOUBLE_EQ(figures.bubbleRatio, 20.0 / 140);
}

}  // namespace
}  // namespace pipetrace
