// Rehearsals with micro-batches of uneven length, and with pauses at different steps.
#include <gmock/gmock.h>

#include <optional>

#include "analysis/testing/explained_run.h"
#include "apps/pipe_run/testing/rehearsed.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;

constexpr Nanoseconds kMs = kNsPerMs;

/// Jobs of 8 ms, messages of 0.2 ms.
Costs jobsOfEight(const Plan& plan) {
  Costs costs = Costs::equal(plan.numStages, {.forward = 8 * kMs, .backward = 8 * kMs});
  costs.transfer = kMs / 5;
  return costs;
}

ExplainedRun explained(const CheckedPlan& plan, const Costs& costs, int steps) {
  const Timeline run = testing::rehearsed({.plan = plan, .costs = costs, .steps = steps});
  return explainRun(run, {.steps = {{0, steps}}});
}

const Finding* findingWith(const Explanation& run, const auto& has) {
  for (const Finding& finding : run.findings) {
    if (has(finding)) return &finding;
  }
  return nullptr;
}

TEST(FindingsRehearsal, MicroBatchesOfUnevenLengthAreFoundOnAllStages) {
  const CheckedPlan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = jobsOfEight(*plan);
  constexpr int kSteps = 3;
  for (int step = 0; step < kSteps; ++step) {
    for (const std::vector<Action>& row : plan->ranks) {
      for (const Action& action : row) {
        const Nanoseconds longer = (action.microBatch * 5 + step * 3) % 8 * kMs;
        costs.faults.jobs.push_back({action, step, longer, 0});
      }
    }
  }
  const auto run = explained(plan, costs, kSteps);
  const Finding* const found = findingWith(
      run, [](const Finding& each) { return each.kind == FindingKind::kUnevenMicroBatches; });
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->factsOf<UnevenMicroBatches>()->uneven(), ElementsAre(0, 1, 2, 3));
  EXPECT_GT(found->factsOf<UnevenMicroBatches>()->correlation(), 0.9);
  EXPECT_EQ(
      findingWith(run,
                  [](const Finding& each) { return each.kind == FindingKind::kScatteredPauses; }),
      nullptr);
}

TEST(FindingsRehearsal, PausesOfRanksInTurnsAreFoundWithAllRanks) {
  const CheckedPlan plan = buildSchedule("1F1B", 4, 4);
  Costs costs = jobsOfEight(*plan);
  constexpr int kSteps = 9;
  for (int step = 1; step < kSteps; ++step) {
    const int rank = step % 4;
    costs.faults.jobs.push_back({{JobKind::kForward, rank, 1}, step, 30 * kMs, 0});
  }
  const auto run = explained(plan, costs, kSteps);
  const Finding* const found = findingWith(
      run, [](const Finding& each) { return each.kind == FindingKind::kScatteredPauses; });
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->factsOf<ScatteredPauses>()->ranks(), ElementsAre(0, 1, 2, 3));
  EXPECT_NEAR(static_cast<double>(found->factsOf<ScatteredPauses>()->median()), 30e6, 3e6);
  EXPECT_EQ(
      findingWith(
          run, [](const Finding& each) { return each.kind == FindingKind::kUnevenMicroBatches; }),
      nullptr);
}

}  // namespace
}  // namespace pipetrace
