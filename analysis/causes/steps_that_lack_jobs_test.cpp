// Runs whose logs are all there, but one of which was cut off.
#include "analysis/causes/steps_that_lack_jobs.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Four steps of 1F1B, without the jobs of rank 1 in these.
Timeline runWithout(std::int32_t first, std::int32_t end) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Timeline run = test::completedRun(plan, test::costsOf(plan, 0.2), 4);
  for (Track& track : run.tracks) {
    if (track.rank != 1) continue;
    std::erase_if(track.events,
                  [&](const Event& event) { return event.step >= first && event.step < end; });
  }
  return run;
}

StepsThatLackJobs stepsLackingJobsOf(const Timeline& run) {
  const auto explanation = explainRun(run, {});
  return stepsThatLackJobs(*explanation.basis, explanation.counted);
}

TEST(StepsThatLackJobs, AreListedWithTheLongestStretchOfTheOthers) {
  EXPECT_THAT(stepsLackingJobsOf(runWithout(0, 0)).steps, IsEmpty());
  const StepsThatLackJobs last = stepsLackingJobsOf(runWithout(2, 4));
  EXPECT_THAT(last.steps, ElementsAre(2, 3));
  EXPECT_EQ(last.text(), "jobs are missing in 2 steps");
  EXPECT_EQ(last.leaveOutText(), "leave these out with --steps 0:2");
  const StepsThatLackJobs middle = stepsLackingJobsOf(runWithout(1, 2));
  EXPECT_EQ(middle.text(), "jobs are missing in 1 step");
  EXPECT_EQ(middle.leaveOutText(), "leave it out with --steps 2:4");
}

TEST(StepsThatLackJobs, AreSaidToBeSoInTheFindingAndNoLogIsCalledMissing) {
  const Timeline run = runWithout(2, 4);
  const std::vector<Finding> findings = explainRun(run, {}).findings;
  const auto unknown = std::find_if(findings.begin(), findings.end(), [](const Finding& each) {
    return each.kind == FindingKind::kUnknown;
  });
  ASSERT_NE(unknown, findings.end());
  EXPECT_THAT(findingText(*unknown), HasSubstr("; jobs are missing in 2 steps, so nobody knows"));
  EXPECT_THAT(findingText(*unknown), Not(HasSubstr("no logs")));
  EXPECT_EQ(remedyText(*unknown), "leave these out with --steps 0:2");
}

}  // namespace
}  // namespace pipetrace
