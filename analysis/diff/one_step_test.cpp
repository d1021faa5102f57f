// Runs of which one step is compared: nobody knows the noise.
#include <gmock/gmock.h>

#include "analysis/present/diff_report.h"
#include "analysis/testing/noisy_run.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

using test::costsOf;
using test::noisyRun;
using test::scaleRank;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Plan planOfFour() { return buildSchedule("1F1B", {4, 8}); }

Timeline runOfSteps(unsigned seed, int steps, double factor = 1) {
  const Plan plan = planOfFour();
  Costs costs = costsOf(plan, 0.1);
  scaleRank(costs, plan, 2, factor);
  return noisyRun(plan, costs, steps, seed);
}

TEST(OneStep, SaysThatNobodyKnowsHowSureItIs) {
  const RunDiff diff = diffOf(asRun(runOfSteps(1, 1)), asRun(runOfSteps(2, 1, 1.1)), {});
  EXPECT_EQ(diffVerdict(diff), "unknown");
  EXPECT_FALSE(diff.isSlower());
  EXPECT_THAT(diffAnswer(diff),
              AllOf(HasSubstr("nobody knows how sure that is"), HasSubstr("stage 2's jobs take ")));
}

TEST(OneStep, ChosenFromEachRunSaysNothingOfNoise) {
  const RunDiff diff =
      diffOf(asRun(runOfSteps(1, 6)), asRun(runOfSteps(2, 6, 1.1)), {.steps = {{0, 1}}});
  EXPECT_THAT(diffText({diff, "a", "b"}),
              AllOf(HasSubstr("\nparts of it that differ, the largest first"),
                    HasSubstr("backwards of stage 2"), Not(HasSubstr("noise"))));
  const RunDiff same =
      diffOf(asRun(runOfSteps(1, 6)), asRun(runOfSteps(1, 6)), {.steps = {{0, 1}}});
  EXPECT_THAT(
      diffText({same, "a", "b"}),
      AllOf(HasSubstr("take longer or less time, by 1 % or more ("), Not(HasSubstr("noise"))));
  EXPECT_THAT(diffText({diffOf(asRun(runOfSteps(1, 6)), asRun(runOfSteps(2, 6)), {}), "a", "b"}),
              AllOf(HasSubstr("beyond noise"), HasSubstr("other time until next")));
}

}  // namespace
}  // namespace pipetrace
