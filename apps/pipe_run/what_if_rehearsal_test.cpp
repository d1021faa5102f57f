// Answers about changes of a rehearsed run are compared with rehearsals of these changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/median.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/what_if.h"
#include "apps/pipe_run/testing/rehearsed.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/order_messages.h"

namespace pipetrace {
namespace {

// This machine may be busy, which makes single steps longer. A fault shows in every try.
constexpr int kMostRunsOfWhatIf = 5;
constexpr int kSteps = 3;
constexpr double kNear = 0.02;

/// Stages of 2.5 to 4 ms, backwards twice as long, links of 1 ms.
Costs unevenStages() {
  Costs costs;
  for (const Nanoseconds forward : {3'000'000, 4'000'000, 2'500'000, 3'500'000}) {
    costs.stages.push_back({.forward = forward, .backward = 2 * forward});
  }
  costs.transfer = kNsPerMs;
  return costs;
}

Timeline rehearsalOf(const Plan& plan, const Costs& costs,
                     CommStreams lines = CommStreams::kAsReached) {
  return testing::rehearsed(
      {.plan = CheckedPlan(plan), .costs = costs, .commStreams = lines, .steps = kSteps});
}

Nanoseconds usualStep(const Timeline& run) {
  std::vector<Nanoseconds> windows;
  for (const StepSummary& step : summarize(run).steps) windows.push_back(step.window());
  return medianOf(windows);
}

/// A question about the rehearsed 1F1B, and its rehearsal.
struct Case {
  const char* name;
  WhatIfQuestion question;
  Plan plan;
  Costs costs;
};

std::vector<Case> casesOf(const Plan& oneFOneB) {
  const Costs costs = unevenStages();
  std::vector<Case> cases;
  Costs halves;
  halves.transfer = costs.transfer;
  for (const StageCosts& stage : costs.stages) {
    for (int chunk = 0; chunk < 2; ++chunk) {
      halves.stages.push_back({.forward = stage.forward / 2, .backward = stage.backward / 2});
    }
  }
  cases.push_back({"Interleaved1F1B", {}, buildSchedule("Interleaved1F1B", 4, 8), halves});
  cases.back().question.plan.schedule = "Interleaved1F1B";
  cases.push_back({"FThenB", {}, buildSchedule("FThenB", 4, 8), costs});
  cases.back().question.plan.schedule = "FThenB";
  cases.push_back({"16 micro-batches", {}, buildSchedule("1F1B", 4, 16), costs});
  cases.back().question.plan.microBatches = 16;
  Costs faster = costs;
  faster.stages[2] = {.forward = 2'000'000, .backward = 4'000'000};
  cases.push_back({"stage 2", {}, oneFOneB, faster});
  cases.back().question.run.scales = {parseScale("stage=2:0.8")};
  cases.push_back(
      {"messages in time", {}, withMessagesInTime(CheckedPlan(oneFOneB), costs), costs});
  cases.back().question.plan.transfers = "in-time";
  cases.back().question.plan.lines = CommStreams::kRank;
  // Blocks of 2 and 1 ms, 1.5 and 2.5, 0.5 and 2, 3.5. The second one moves to stage 1.
  Costs moved = costs;
  moved.stages[0] = {.forward = 2'000'000, .backward = 4'000'000};
  moved.stages[1] = {.forward = 5'000'000, .backward = 10'000'000};
  cases.push_back({"partition", {}, oneFOneB, moved});
  cases.back().question.plan.partition = BlockPartition{.blocks = {1, 3, 2, 1}, .recomputed = {}};
  BlockTable table;
  for (const Nanoseconds forward : {20, 10, 15, 25, 5, 20, 35}) {
    table.blocks.push_back({.forward = forward, .backward = 2 * forward});
  }
  cases.back().question.blocks =
      GivenBlocks{table, BlockPartition{.blocks = {2, 2, 2, 1}, .recomputed = {}}};
  return cases;
}

double off(double value, double from) { return std::abs(value / from - 1); }

TEST(WhatIfRehearsalTest, ARehearsalPredictsRehearsalsOfItsChanges) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Timeline base = rehearsalOf(plan, unevenStages());
  for (int i = 1;
       i < kMostRunsOfWhatIf && off(1 + whatIf(asRun(base), {}).modelError.value_or(1), 1) > kNear;
       ++i) {
    base = rehearsalOf(plan, unevenStages());
  }
  for (const Case& each : casesOf(plan)) {
    SCOPED_TRACE(each.name);
    const WhatIfAnswer answer = whatIf(asRun(base), each.question);
    ASSERT_EQ(answer.refusal, "");
    EXPECT_EQ(answer.replayError, 0);
    ASSERT_TRUE(answer.modelError.has_value()) << answer.noModel;
    EXPECT_LE(std::abs(*answer.modelError), kNear);
    const auto predicted = static_cast<double>(answer.changed.step);
    double nearest = 1;
    for (int i = 0; i < kMostRunsOfWhatIf && nearest > kNear; ++i) {
      const auto rehearsed = static_cast<double>(usualStep(rehearsalOf(
          each.plan, each.costs, each.question.plan.lines.value_or(CommStreams::kAsReached))));
      nearest = std::min(nearest, off(predicted, rehearsed));
    }
    EXPECT_LE(nearest, kNear);
  }
}

}  // namespace
}  // namespace pipetrace
