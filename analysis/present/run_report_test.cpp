// The report of runs, as text and as JSON.
#include "analysis/present/run_report.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"
#include "schedule/simulate/order_messages.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using test::completedRun;
using test::costsOf;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RunReportTest : public testing::Test {
 protected:
  static std::string textOf(const Timeline& timeline) {
    return runReportText({explainRun(timeline, {}), Diagnostics{}});
  }
  static json jsonOf(const Timeline& timeline) {
    return json::parse(runReportJson({explainRun(timeline, {}), Diagnostics{}}));
  }
};

TEST_F(RunReportTest, StepOfTwoPipelinesIsOneStep) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  const Timeline run = test::twice(completedRun(plan, costsOf(plan, 0), 5));
  EXPECT_THAT(textOf(run), AllOf(HasSubstr("4 ranks in 2 pipelines, 5 steps, "),
                                 HasSubstr("\n5 steps count\n")));
  const json report = jsonOf(run);
  EXPECT_EQ(report["summary"]["steps"], 5);
  EXPECT_EQ(report["steps"].size(), 10U) << "those of each pipeline";
}

TEST_F(RunReportTest, EvidenceOfTheScheduleNamesAllOfItsClasses) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0);
  costs.optimizer = 20 * kNsPerMs;
  const json report = jsonOf(completedRun(plan, costs));
  const json& schedule = report["findings"][0];
  EXPECT_THAT(schedule["text"], HasSubstr("the schedule itself leaves"));
  EXPECT_EQ(schedule["evidence"]["class"], nullptr);
  EXPECT_EQ(schedule["evidence"]["classes"], json({"warm_up", "drain"}));
  const json& optimizers = report["findings"][1];
  EXPECT_EQ(optimizers["evidence"]["class"], "sync");
  EXPECT_EQ(optimizers["evidence"]["classes"], json({"sync"}));
}

/// Rank 1 begins each of its jobs 0.3 ms late, others 0.02 ms. Messages in line may pass on far
/// more of that than idle time shows.
TEST_F(RunReportTest, AMinorFindingIsListedWhereStepsWouldBeShorterWithoutItByOneInAHundred) {
  const CheckedPlan plan = withMessagesOfTorch(buildSchedule("Interleaved1F1B", 4, 8));
  Costs costs =
      Costs::equal(plan->numStages, {.forward = 10 * kNsPerMs, .backward = 20 * kNsPerMs});
  costs.transfer = kNsPerMs;
  for (std::size_t rank = 0; rank < plan->ranks.size(); ++rank) {
    for (const Action& action : plan->ranks[rank]) {
      if (!isCompute(action.kind)) continue;
      costs.faults.jobs.push_back({.action = action, .late = rank == 1 ? 300'000 : 20'000});
    }
  }
  Timeline timeline =
      simulate(plan, costs, {.steps = 4, .commStreams = CommStreams::kRank}).timeline;
  const auto explanation = explainRun(timeline, {});
  const auto late = std::find_if(
      explanation.findings.begin(), explanation.findings.end(), [](const Finding& finding) {
        return finding.kind == FindingKind::kLateJobs && !finding.isOfMany;
      });
  ASSERT_NE(late, explanation.findings.end());
  ASSERT_TRUE(late->isMinor);
  const std::string text = findingText(*late);
  EXPECT_THAT(text, testing::StartsWith("rank 1 begins its jobs later"));

  AdviceList advice = adviceOn(asRun(std::move(timeline)), {});
  const auto ofRank = std::find_if(advice.ofRun.begin(), advice.ofRun.end(),
                                   [](const Advice& a) { return a.lateRanks == std::vector{1}; });
  ASSERT_NE(ofRank, advice.ofRun.end());
  const Diagnostics none;
  RunReport report{explanation, none};
  report.advice = &advice;
  for (const double gain : {0.009, 0.011}) {
    ofRank->gain = gain;
    const bool isListed = gain > kMinorShare;
    EXPECT_EQ(runReportText(report).find(text) != std::string::npos, isListed);
    const json findings = json::parse(runReportJson(report))["findings"];
    EXPECT_EQ(std::any_of(findings.begin(), findings.end(),
                          [&](const json& each) {
                            return each["text"] == text && each["minor"] == false &&
                                   each["evidence"]["gain"] == gain;
                          }),
              isListed);
  }
  ofRank->lateRanks = {2};
  EXPECT_THAT(runReportText(report), Not(HasSubstr(text))) << "it is about another rank";
}

/// Stage 2, on rank 2, takes 1.05 times as long. What that costs is known for its finding, and is
/// no advice: nobody makes a stage faster.
TEST_F(RunReportTest, ASlowStageHasWhatTheStepWouldTakeWithoutItWhereMessagesAreInLine) {
  const CheckedPlan plan = withMessagesOfTorch(buildSchedule("Interleaved1F1B", 4, 8));
  Costs costs =
      Costs::equal(plan->numStages, {.forward = 10 * kNsPerMs, .backward = 20 * kNsPerMs});
  costs.transfer = kNsPerMs;
  costs.stages[2] = {.forward = 10'500'000, .backward = 21 * kNsPerMs};
  const auto run =
      asRun(simulate(plan, costs, {.steps = 4, .commStreams = CommStreams::kRank}).timeline);
  ASSERT_TRUE(run.graph().areLinesHeld());
  const AdviceList advice = adviceOn(run, {});
  const auto isOfStage = [](const Advice& each) {
    return each.of == Advice::Of::kStage && each.stages == std::vector<std::int32_t>{2};
  };
  EXPECT_TRUE(std::any_of(advice.ofRun.begin(), advice.ofRun.end(), isOfStage));
  EXPECT_FALSE(std::any_of(advice.best.begin(), advice.best.end(), isOfStage));
}

/// With messages of 2 ms, each of 20 ranks waits for others.
TEST_F(RunReportTest, TableOfCostsHasTheMostExpensiveRanks) {
  const Plan plan = buildSchedule("1F1B", {20, 40});
  const std::string text = textOf(completedRun(plan, costsOf(plan, 2), 2));
  const std::size_t table = text.find("who costs whom");
  ASSERT_NE(table, std::string::npos);
  const std::string header = text.substr(table, text.find("\n", text.find("waits", table)) - table);
  std::size_t columns = 0;
  for (std::size_t at = 0; (at = header.find("for rank", at)) != std::string::npos; ++at) ++columns;
  EXPECT_EQ(columns, 16U);
  EXPECT_THAT(text, HasSubstr("these have most of it, of 20 ranks that wait, for 20 ranks; --json "
                              "has all\n"));
  const Plan small = buildSchedule("1F1B", {4, 8});
  EXPECT_THAT(textOf(completedRun(small, costsOf(small, 2))),
              AllOf(HasSubstr("who costs whom"), Not(HasSubstr("these have most of it"))));
}

TEST_F(RunReportTest, CriticalPathsOfManyStagesNameThoseWithMost) {
  const Plan plan = buildSchedule("1F1B", {20, 40});
  const std::string text = textOf(completedRun(plan, costsOf(plan, 2), 2));
  const std::size_t begin = text.find("by stage: ");
  ASSERT_NE(begin, std::string::npos);
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  EXPECT_EQ(std::count(line.begin(), line.end(), '%'), 16);
  EXPECT_THAT(line, testing::EndsWith(", and less of each of 4 more"));
}

TEST_F(RunReportTest, MessagesOfTheCriticalPathHaveTheNameOfTheirKind) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  const json report = jsonOf(completedRun(plan, costsOf(plan, 5)));
  int messages = 0;
  for (const json& link : report["critical_path"]["jobs"]) {
    if (!link.contains("from")) continue;
    ++messages;
    EXPECT_THAT(link["job"], testing::StartsWith("recv_"));
  }
  EXPECT_GT(messages, 0);
}

/// Two of three links are slow, so the ideal has the slow ones' median on all.
TEST_F(RunReportTest, SlowdownBelowOneIsExplained) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  costs.faults.links = {{0, 1, 4 * kNsPerMs}, {1, 2, 4 * kNsPerMs}};
  EXPECT_THAT(textOf(completedRun(plan, costs)),
              AllOf(HasSubstr("a step takes 0.9"), HasSubstr("it is faster than that ideal")));
  EXPECT_THAT(textOf(completedRun(plan, costsOf(plan, 0.1))),
              AllOf(HasSubstr("a step takes 1.0"), Not(HasSubstr("faster than that ideal"))));
}

}  // namespace
}  // namespace pipetrace
