// Answers about runs that lack jobs in some steps, or all jobs of a rank.
#include <gmock/gmock.h>

#include "analysis/testing/faulty_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/what_if.h"
#include "schedule/scale/scale_option.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The grounds of an answer about a faster stage 2. Rank 1 has no jobs from `step` on.
std::vector<std::string> groundsWithout(std::int32_t step, const std::vector<NumberRange>& chosen) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Timeline run = test::completedRun(plan, test::costsOf(plan, 0.2), 4);
  for (Track& track : run.tracks) {
    if (track.rank != 1) continue;
    std::erase_if(track.events, [&](const Event& event) { return event.step >= step; });
  }
  if (step == 0) {
    std::erase_if(run.tracks, [](const Track& track) { return track.rank == 1; });
    run.ranks.erase(1);
  }
  WhatIfQuestion question{.steps = chosen};
  question.run.scales = {parseScale("stage=2:0.9")};
  return whatIf(asRun(run), question).assumptions;
}

TEST(WhatIfOfCutLogs, StepsLackJobsAndNoRankIsMissing) {
  const std::vector<std::string> grounds = groundsWithout(2, {});
  EXPECT_THAT(grounds, Contains("jobs are missing in 2 steps, which are left out"));
  EXPECT_THAT(grounds, Not(Contains(StartsWith("ranks are missing"))));
}

TEST(WhatIfOfCutLogs, StepsThatWereChosenAllTheSameAreNamed) {
  const std::vector<std::string> grounds = groundsWithout(2, {{0}});
  EXPECT_THAT(grounds, Contains("jobs are missing in 2 steps: what others waited for stays as it "
                                "was; leave these out with --steps 0:2"));
  EXPECT_THAT(grounds, Not(Contains(StartsWith("ranks are missing"))));
}

TEST(WhatIfOfCutLogs, ARankWithoutALogIsMissing) {
  const std::vector<std::string> grounds = groundsWithout(0, {});
  EXPECT_THAT(grounds, Contains(StartsWith("ranks are missing: ")));
  EXPECT_THAT(grounds, Not(Contains(HasSubstr("jobs are missing"))));
}

}  // namespace
}  // namespace pipetrace
