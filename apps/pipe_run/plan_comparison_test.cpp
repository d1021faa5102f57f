#include "apps/pipe_run/plan_comparison.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PlanComparison comparisonOf(Nanoseconds measured, Nanoseconds planned, double measuredBubble,
                            double plannedBubble) {
  return {.steps = 5,
          .measuredStep = measured,
          .plannedStep = planned,
          .measuredBubble = measuredBubble,
          .plannedBubble = plannedBubble};
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

}  // namespace
}  // namespace pipetrace
