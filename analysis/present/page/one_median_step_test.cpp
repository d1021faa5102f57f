// The step of a run is one figure, wherever it is said.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/present/advice_report.h"
#include "analysis/present/comparison_report.h"
#include "analysis/present/page/run_page.h"
#include "analysis/present/run_report.h"
#include "analysis/present/what_if_report.h"
#include "analysis/run/run.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/page_parts.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"
#include "analysis/what_if/what_if.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using test::completedRun;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr Nanoseconds kWholeMs = kNsPerMs;

/// 1F1B on four ranks with eight micro-batches of 30 ms. A step takes 11 of them and 2 ms of
/// optimizer, and longer by as much as the first forward of rank 3. Step 0 is too long to count,
/// and step 5 lacks jobs. On rank 3 each optimizer reaches 25 ms into the next step, which only
/// spans count.
Timeline runOfLengths() {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = Costs::equal(4, {10 * kWholeMs, 20 * kWholeMs});
  costs.optimizer = 2 * kWholeMs;
  constexpr Nanoseconds kLonger[] = {500, 40, 7, 0, 19, 3};  // ms
  for (const Action& action : plan.ranks[3]) {
    if (action.kind != JobKind::kForward || action.microBatch != 0) continue;
    for (int step = 0; step < 6; ++step) {
      costs.faults.jobs.push_back(
          {.action = action, .step = step, .longer = kLonger[step] * kWholeMs});
    }
  }
  Timeline run =
      simulate(CheckedPlan(plan), costs, {.steps = 6, .stepsStartTogether = true}).timeline;
  for (Track& track : run.tracks) {
    std::erase_if(track.events, [&](const Event& event) {
      return track.rank == 2 && event.step == 5 && event.kind == JobKind::kBackward;
    });
    for (Event& event : track.events) {
      if (track.rank == 3 && event.kind == JobKind::kOptimizer) event.end += 85 * kWholeMs;
    }
  }
  Diagnostics diagnostics;
  completeTimeline(run, diagnostics);
  return run;
}

class OneMedianStep : public testing::Test {
 protected:
  // Windows of 372, 339, 332 and 351 ms.
  static constexpr Nanoseconds kStep = 345 * kWholeMs;
  static constexpr const char* kText = "345.0 ms";

  RunReport report() const { return {explained_, diagnostics_}; }

  Timeline run_ = runOfLengths();
  ExplainedRun explained_ = explainRun(run_, {});
  Diagnostics diagnostics_;
};

TEST_F(OneMedianStep, StandsInTheReport) {
  EXPECT_THAT(runReportText(report()),
              ContainsRegex(std::string("\n *length  [0-9.]+ ms +") + kText));
  const json summary = json::parse(runReportJson(report())).at("summary");
  EXPECT_EQ(summary.at("window_ns").at("median"), kStep);
  for (const ExplainedStep& step : explained_.steps) {
    if (step.summary.step == 5) continue;
    EXPECT_EQ(step.summary.duration(), step.summary.window() + 25 * kWholeMs);
  }
}

TEST_F(OneMedianStep, StandsInThePage) {
  const std::string page = runPage(report(), {});
  EXPECT_THAT(page,
              AllOf(HasSubstr(std::string("<b>") + kText + "</b><span>median length of a step"),
                    HasSubstr(std::string("Step 2, the nearest to the median of 4 that count "
                                          "(") +
                              kText + "): 339.0 ms.")));
  const std::vector<json> charts = test::chartsOf(page);
  EXPECT_THAT(charts.at(1).at("texts"), Contains(std::string("median ") + kText));
}

TEST_F(OneMedianStep, StandsInAdviceWhatIfsAndComparisons) {
  EXPECT_THAT(adviceText(adviceOn(asRun(run_), {})),
              HasSubstr(std::string("the step takes ") + kText));
  const WhatIfAnswer answer = whatIf(asRun(run_), {});
  EXPECT_EQ(answer.measured.step, kStep);
  EXPECT_THAT(whatIfText({answer, {}}), ContainsRegex(std::string("\n *measured +") + kText));
  EXPECT_EQ(planOfRun(asRun(run_)).step, kStep);
}

}  // namespace
}  // namespace pipetrace
