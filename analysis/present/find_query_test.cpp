#include "analysis/present/run_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/present/finding_sentences.h"
#include "analysis/run/bubbles/bubbles.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "chart/search/job_search.h"
#include "chart/search/parse_query.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using test::completedRun;
using test::costsOf;
using testing::HasSubstr;

/// The events that a search of the viewer finds in the run with its bubbles.
std::vector<ChartHit> foundIn(const ChartModel& model, const std::string& query) {
  JobSearch search(model, parseQuery(query));
  while (!search.advance(1'000'000)) {
  }
  std::vector<ChartHit> found;
  auto place = search.matches().firstFrom({kNsMin, 0, 0});
  while (place) {
    found.push_back(search.matches().hitOf(*place));
    ++place->position;
    place = search.matches().firstFrom(*place);
  }
  return found;
}

/// A run with an imbalance, a slow link, a late launch and a long job.
Timeline faultyRun() {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 2, 1.3);
  costs.faults.links = {{0, 1, 3 * kNsPerMs}};
  return completedRun(plan, costs, 4);
}

TEST(FindQueryTest, EachQueryOfTheReportFindsExactlyItsEvidence) {
  const Timeline run = faultyRun();
  const auto explanation = explainRun(run, {});
  RunReport report{explanation, Diagnostics{}};
  report.all = true;
  Timeline shown = run;
  addBubbles(shown);
  const ChartModel model(shown);
  ASSERT_GE(explanation.findings.size(), 4U);
  const json findings = json::parse(runReportJson(report))["findings"];
  ASSERT_EQ(findings.size(), explanation.findings.size());
  for (const json& finding : findings) {
    ASSERT_TRUE(finding.contains("find")) << finding;
    const std::vector<ChartHit> found = foundIn(model, finding["find"]);
    ASSERT_EQ(found.size(), 1U) << finding["find"];
    const Event& bubble = *found.front().event;
    ASSERT_EQ(bubble.kind, JobKind::kBubble) << finding;
    const json& classes = finding["evidence"]["classes"];
    const std::string name(bubbleClassName(bubble.bubbleClass));
    EXPECT_NE(std::find(classes.begin(), classes.end(), name), classes.end()) << finding;
    // It is the longest of its finding, which the evidence lists first.
    const json& longest = finding["evidence"]["bubbles"][0];
    EXPECT_EQ(model.rows()[found.front().row].rank, longest["rank"]);
    EXPECT_EQ(bubble.begin, longest["begin_ns"]);
    EXPECT_EQ(bubble.end, longest["end_ns"]);
    if (finding["evidence"].contains("culprit")) continue;
    for (const Track& track : shown.tracks) {
      for (const Event& other : track.events) {
        const std::string otherName(bubbleClassName(other.bubbleClass));
        if (std::find(classes.begin(), classes.end(), otherName) == classes.end()) continue;
        EXPECT_LE(other.duration(), bubble.duration());
      }
    }
  }
}

TEST(FindQueryTest, PausesAndEarlyMessagesHaveEvidenceToo) {
  const Timeline run = test::withPauseAndEarlyMessages(faultyRun());
  const auto explanation = explainRun(run, {});
  Timeline shown = run;
  addBubbles(shown);
  const ChartModel model(shown);
  int others = 0;
  for (const Finding& finding : explanation.findings) {
    const std::string query = findQueryOf({explanation, Diagnostics{}}, finding);
    const std::vector<ChartHit> found = foundIn(model, query);
    ASSERT_EQ(found.size(), 1U) << findingText(finding) << ": " << query;
    if (found.front().event->kind != JobKind::kBubble) ++others;
  }
  EXPECT_EQ(others, 2);
}

TEST(FindQueryTest, TheTextHasTheCommandUnderEachFinding) {
  const Timeline run = faultyRun();
  const auto explanation = explainRun(run, {});
  RunReport report{explanation, Diagnostics{}};
  EXPECT_THAT(runReportText(report), testing::Not(HasSubstr("--find")));
  report.viewCommand = "pipe-view 'my logs'";
  report.all = true;
  const std::string text = runReportText(report);
  for (const Finding& finding : explanation.findings) {
    EXPECT_THAT(text, HasSubstr(findingText(finding) + "\n     next: " + remedyText(finding) +
                                "\n     pipe-view 'my logs' --find " +
                                shellWord(findQueryOf(report, finding)) + "\n"));
  }
}

}  // namespace
}  // namespace pipetrace
