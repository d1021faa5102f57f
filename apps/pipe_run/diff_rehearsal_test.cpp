// Rehearsals, which have the noise of a real machine, compared with each other.
#include <gmock/gmock.h>

#include <utility>

#include "analysis/present/diff_reasons.h"
#include "analysis/present/diff_report.h"
#include "analysis/testing/run_of_timeline.h"
#include "apps/pipe_run/testing/rehearsed.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

Timeline rehearsedWith(Costs costs) {
  const Plan plan = buildSchedule("1F1B", 2, 4);
  return testing::rehearsed({.plan = CheckedPlan(plan), .costs = std::move(costs), .steps = 6});
}

TEST(DiffOfRehearsals, AddsUpToTheNanosecond) {
  const Costs usual = Costs::equal(2, {2 * kNsPerMs, 4 * kNsPerMs});
  Costs slow = usual;
  slow.stages[1] = {4 * kNsPerMs, 8 * kNsPerMs};
  const Timeline a = rehearsedWith(usual);
  const RunDiff diff = diffOf(asRun(a), asRun(rehearsedWith(slow)), {});
  Nanoseconds sumOfA = 0;
  Nanoseconds sumOfB = 0;
  for (const DiffPart& part : diff.parts) {
    sumOfA += part.a;
    sumOfB += part.b;
  }
  EXPECT_EQ(sumOfA, diff.step.a);
  EXPECT_EQ(sumOfB, diff.step.b);
  Nanoseconds reasons = 0;
  for (const DiffReason& reason : reasonsOf(diff)) reasons += reason.time;
  EXPECT_EQ(reasons, diff.unit().difference());
  EXPECT_EQ(diffVerdict(diffOf(asRun(a), asRun(a), {})), "equal");
}

}  // namespace
}  // namespace pipetrace
