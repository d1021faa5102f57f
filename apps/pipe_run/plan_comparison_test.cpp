#include "apps/pipe_run/plan_comparison.h"

#include <gmock/gmock.h>

#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PlanComparison comparisonOf(Nanoseconds measured, Nanoseconds planned, double measuredBubble,
                            double plannedBubble) {
  return {.steps = 5,
          .median = {.measuredStep = measured,
                     .plannedStep = planned,
                     .measuredBubble = measuredBubble,
                     .plannedBubble = plannedBubble}};
}

TEST(PlanComparisonTest, TheBubbleIsJudgedAsAShareOfTheWindow) {
  const PlanComparison close = comparisonOf(1'000, 1'000, 0.0601, 0.0588);
  EXPECT_THAT(close.findings(), IsEmpty());
  EXPECT_THAT(toText(close), HasSubstr("+0.13 points"));
  EXPECT_TRUE(comparisonOf(1'000, 1'000, 0.004, 0).agrees());
  EXPECT_THAT(comparisonOf(1'000, 1'000, 0.0701, 0.0588).findings(),
              ElementsAre("the bubble ratio is off the plan by +1.13 points; up to 1 are fine"));
}

TEST(PlanComparisonTest, TheStepIsJudgedRelativeToThePlan) {
  EXPECT_TRUE(comparisonOf(10'090, 10'000, 0.1, 0.1).agrees());
  EXPECT_THAT(comparisonOf(9'880, 10'000, 0.1, 0.1).findings(),
              ElementsAre("the step length is off the plan by -1.20 %; up to 1 % are fine"));
}

TEST(PlanComparisonTest, AStepOfNoTimeIsOffByATime) {
  const PlanComparison comparison = comparisonOf(50 * kNsPerUs, 0, 0.5, 0);
  EXPECT_FALSE(comparison.agrees());
  EXPECT_THAT(toText(comparison), HasSubstr("+50.00 us"));
  EXPECT_THAT(toText(comparison), Not(HasSubstr("inf")));
}

TEST(PlanComparisonTest, NothingIsMinusZero) {
  const std::string text = toText(comparisonOf(1'999'999'999, 2'000'000'000, 0.29999, 0.3));
  EXPECT_THAT(text, HasSubstr(" +0.00 %\n"));
  EXPECT_THAT(text, HasSubstr(" +0.00 points\n"));
  EXPECT_THAT(toText(comparisonOf(99'990, 100'000, 0, 0)), HasSubstr(" -0.01 %\n"));
}

TEST(PlanComparisonTest, OneStepIsNoMedian) {
  PlanComparison comparison = comparisonOf(1, 1, 0, 0);
  EXPECT_THAT(toText(comparison), HasSubstr("median of 5 steps;"));
  comparison.steps = 1;
  EXPECT_THAT(toText(comparison), HasSubstr("one step;"));
}

/// A run of 1F1B over 4 ranks and 8 micro-batches with 10 and 20 ms, compared with its plan with
/// other faults.
PlanComparison simulatedRun(const Faults& run, const Faults& plan, int steps) {
  const CheckedPlan schedule = buildSchedule("1F1B", 4, 8);
  Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
  costs.faults = run;
  const Timeline timeline = simulate(schedule, costs, {.steps = steps}).timeline;
  costs.faults = plan;
  return compareWithPlan(asRun(timeline), schedule, costs);
}

Faults delay(int step) {
  return {.jobs = {{.action = {JobKind::kForward, 1, 4}, .step = step, .longer = 30 * kNsPerMs}}};
}

TEST(PlanComparisonTest, StepWithAFaultOfItsOwnIsComparedByItself) {
  const PlanComparison comparison = simulatedRun(delay(2), delay(2), 4);
  EXPECT_EQ(comparison.steps, 3);
  EXPECT_EQ(comparison.median.plannedStep, 330 * kNsPerMs);
  ASSERT_EQ(comparison.apart.size(), 1U);
  EXPECT_EQ(comparison.apart.begin()->first, 2);
  EXPECT_EQ(comparison.apart.at(2).plannedStep, 360 * kNsPerMs);
  EXPECT_THAT(toText(comparison),
              AllOf(HasSubstr("median of 3 steps, without step 2;"),
                    ::testing::ContainsRegex("step 2 length +360.0 ms +360.0 ms +\\+0.00 %\n")));
  EXPECT_TRUE(comparison.agrees());
}

TEST(PlanComparisonTest, FaultThatARunLacksIsFoundInItsStep) {
  const PlanComparison comparison = simulatedRun({}, delay(2), 4);
  EXPECT_THAT(
      comparison.findings(),
      ::testing::Contains("the step length of step 2 is off the plan by -8.33 %; up to 1 % are "
                          "fine"));
  EXPECT_NEAR(comparison.worstStep, -30.0 / 360, 1e-9);
}

TEST(PlanComparisonTest, FaultsOfAllStepsAndNoneLeaveTheMedianOverAll) {
  EXPECT_THAT(simulatedRun({}, {}, 4).apart, IsEmpty());
  const PlanComparison comparison =
      simulatedRun(delay(Faults::kEveryStep), delay(Faults::kEveryStep), 4);
  EXPECT_THAT(comparison.apart, IsEmpty());
  EXPECT_EQ(comparison.steps, 4);
  EXPECT_EQ(comparison.median.plannedStep, 360 * kNsPerMs);
}

TEST(PlanComparisonTest, NoMedianIsShownWhereEachStepHasItsOwnFault) {
  Faults faults = delay(0);
  faults.jobs.push_back(delay(1).jobs.front());
  faults.jobs.back().longer = 50 * kNsPerMs;
  const PlanComparison comparison = simulatedRun(faults, faults, 2);
  EXPECT_EQ(comparison.steps, 0);
  EXPECT_THAT(toText(comparison),
              AllOf(HasSubstr("each step by itself;"), HasSubstr("step 0 length"),
                    HasSubstr("step 1 length"), Not(HasSubstr("\nstep length"))));
  EXPECT_TRUE(comparison.agrees());
}

/// Two replicas of 1F1B over 2 ranks and 2 micro-batches with 10 and 20 ms, so 90 ms a step with
/// 60 ms of work. The first forward of the second replica takes 30 ms longer: in 120 ms its ranks
/// work 90 and 60 ms.
TEST(PlanComparisonTest, BubbleRatioOfReplicasIsThatOfAllRanks) {
  const CheckedPlan plan = withReplicas(buildSchedule("1F1B", 2, 2), 2);
  Costs costs = Costs::equal(2, {10 * kNsPerMs, 20 * kNsPerMs});
  const Costs planned = costs;
  costs.faults.jobs = {{.action = {JobKind::kForward, 0, 2}, .longer = 30 * kNsPerMs}};
  const Timeline run = simulate(plan, costs, {.steps = 1}).timeline;
  const PlanComparison comparison = compareWithPlan(asRun(run), plan, planned);
  EXPECT_EQ(comparison.median.measuredStep, 120 * kNsPerMs);
  EXPECT_EQ(comparison.median.plannedStep, 90 * kNsPerMs);
  EXPECT_DOUBLE_EQ(comparison.median.measuredBubble, (30 + 30 + 30 + 60) / (2 * 90 + 2 * 120.0));
  EXPECT_DOUBLE_EQ(comparison.median.plannedBubble, 1 / 3.0);
}

}  // namespace
}  // namespace pipetrace
