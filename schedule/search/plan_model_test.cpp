#include "schedule/search/plan_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "schedule/build_schedule.h"
#include "schedule/check/plan_network.h"
#include "schedule/search/placement_search.h"
#include "schedule/search/plan_candidates.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/testing/random_plans.h"
#include "trace/testing/is_sanitized.h"

namespace pipetrace {
namespace {

Costs randomCosts(int stages, std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<Nanoseconds>(random() % n); };
  Costs costs{.stages = {}, .transfer = below(500), .bandwidth = 1e9 * double(below(3))};
  for (int s = 0; s < stages; ++s) {
    StageCosts stage{.forward = 1 + below(3000),
                     .backward = 0,
                     .backwardInput = 1 + below(3000),
                     .backwardWeight = 1 + below(2000)};
    stage.backward = stage.backwardInput + stage.backwardWeight - below(2);
    stage.activation = 10 + below(20);
    stage.freedByInput = below(10);
    stage.message = below(2000);
    costs.stages.push_back(stage);
  }
  return costs;
}

std::vector<std::int64_t> peaksOf(const DryRun& run) {
  std::vector<std::int64_t> peaks;
  for (const DryRun::Rank& rank : run.ranks) peaks.push_back(rank.peakMemory);
  return peaks;
}

/// Calls `see` with many plans that the model covers, and costs for them.
template <class See>
void forManyPlans(const See& see) {
  std::mt19937 random(1);
  for (int n = 0; n < 60; ++n) {
    const int ranks = 1 + static_cast<int>(random() % 6);
    const int microBatches = 1 + static_cast<int>(random() % 12);
    const int chunks = 1 + static_cast<int>(random() % 3);
    const Costs costs = randomCosts(ranks * chunks, random);
    for (const Plan& plan : builtPlans({ranks, microBatches, chunks})) {
      SCOPED_TRACE(plan.name + " p=" + std::to_string(ranks) +
                   " m=" + std::to_string(microBatches) + " v=" + std::to_string(chunks));
      if (PlanModel::covers(plan)) see(plan, costs);
    }
  }
}

// The search takes the first of plans that are as good.
TEST(BuiltPlans, FewerChunksComeFirstAndKinTogether) {
  const auto namesOf = [](int chunks) {
    std::string names;
    for (const Plan& plan : builtPlans({4, 8, chunks})) names += plan.name + " ";
    return names;
  };
  EXPECT_TRUE(namesOf(1).starts_with(
      "1F1B Eager1F1B FThenB GPipe ZB-H1 ZB-H2 DualPipe Interleaved1F1B Combined1F1B LoopedBFS "));
  EXPECT_TRUE(
      namesOf(2).starts_with("Interleaved1F1B Combined1F1B LoopedBFS InterleavedZeroBubble "));
  EXPECT_TRUE(namesOf(2).ends_with("ZBV V-Half V-Min DualPipeV "));
}

TEST(PlanModel, TimesAreThoseOfTheDryRun) {
  forManyPlans([](const Plan& plan, const Costs& costs) {
    const DryRun run = dryRun(CheckedPlan(plan), costs);
    PlanModel model(plan, costs, peaksOf(run));
    PlanTimes times;
    PlanScore score;
    ASSERT_TRUE(model.evaluate(model.ordersOf(plan), times, score));
    EXPECT_EQ(score.length, run.length);
    Nanoseconds longest = 0;
    for (std::size_t r = 0; r < run.ranks.size(); ++r) {
      EXPECT_EQ(times.begin[r], run.ranks[r].begin);
      longest = std::max(longest, run.ranks[r].last - run.ranks[r].first);
    }
    EXPECT_EQ(score.longestSpan, longest);
    EXPECT_EQ(model.planOf(model.ordersOf(plan)).ranks, plan.ranks);
  });
}

// The model does not ask the network what waits for what.
TEST(PlanModel, TimesOfRandomPlansAreThoseOfTheNetworkAndSoIsWhetherTheyRun) {
  std::mt19937 random(3);
  test::RandomPlans plans(4);
  int ran = 0;
  int stuck = 0;
  while (ran + stuck < test::drawn(10'000)) {
    const Plan made = plans.computeOnly();
    if (!PlanModel::covers(made)) continue;
    const Costs costs = randomCosts(made.numStages, random);
    PlanModel model(made, costs, std::vector<std::int64_t>(made.ranks.size(), 0));
    for (int orders = 0; orders < 16; ++orders) {
      Plan plan = made;
      for (int swaps = orders % 3; swaps > 0; --swaps) {
        auto& row = plan.ranks[random() % plan.ranks.size()];
        const std::size_t at = random() % row.size();
        std::swap(row[at], row[std::min(at + 1 + random() % 2, row.size() - 1)]);
      }
      PlanTimes times;
      PlanScore score;
      const bool runs = model.evaluate(model.ordersOf(plan), times, score);
      ASSERT_EQ(runs, PlanNetwork(plan, PlanIndex(plan), {}, {}).isComplete());
      ++(runs ? ran : stuck);
      if (!runs) continue;
      const DryRun run = dryRunOfCandidate(plan, costs);
      ASSERT_EQ(score.length, run.length);
      for (std::size_t r = 0; r < run.ranks.size(); ++r) {
        ASSERT_EQ(times.begin[r], run.ranks[r].begin);
      }
    }
  }
  EXPECT_GT(ran, test::drawn(5'000));
  EXPECT_GT(stuck, test::drawn(1'000));
}

TEST(PlanModel, LimitsAreKeptIfTheyAllowThePeakOfTheDryRun) {
  forManyPlans([](const Plan& plan, const Costs& costs) {
    std::vector<std::int64_t> limits = peaksOf(dryRun(CheckedPlan(plan), costs));
    PlanModel enough(plan, costs, limits);
    EXPECT_TRUE(enough.keepsLimits(enough.ordersOf(plan)));
    --limits.back();
    PlanModel tooLittle(plan, costs, limits);
    EXPECT_FALSE(tooLittle.keepsLimits(tooLittle.ordersOf(plan)));
  });
}

TEST(PlanModel, OrdersThatDeadlockHaveNoTimes) {
  const Plan plan = buildSchedule("1F1B", 2, 2);
  const Costs costs = Costs::equal(2, {1, 2, 1, 1});
  PlanModel model(plan, costs, {9, 9});
  PlanTimes times;
  PlanScore score;
  JobOrders orders = model.ordersOf(plan);
  std::swap(orders[1][0], orders[1][1]);  // backward before its forward
  EXPECT_FALSE(model.evaluate(orders, times, score));
  orders = model.ordersOf(plan);
  std::swap(orders[0][1], orders[0][2]);  // rank 0 waits for 0B0, then forwards 1: still runs
  EXPECT_TRUE(model.evaluate(orders, times, score));
  std::swap(orders[1][0], orders[1][2]);  // rank 1 wants 1F1 first, rank 0 wants 0B0 first
  std::swap(orders[1][1], orders[1][3]);
  EXPECT_FALSE(model.evaluate(orders, times, score));
}

TEST(LowerBound, NoPlanHasAShorterLengthOrLongestSpan) {
  forManyPlans([](const Plan& plan, const Costs& costs) {
    const PlanScore bound = lowerBound(plan, costs);
    PlanModel model(plan, costs, std::vector<std::int64_t>(plan.ranks.size(), 1 << 30));
    PlanTimes times;
    PlanScore score;
    ASSERT_TRUE(model.evaluate(model.ordersOf(plan), times, score));
    EXPECT_LE(bound.length, score.length);
    EXPECT_LE(bound.longestSpan, score.longestSpan);
  });
}

TEST(LowerBound, IsReachedByZeroBubbleAndByOneMicroBatch) {
  const Costs units = Costs::equal(4, {1, 2, 1, 1});
  EXPECT_EQ(lowerBound(buildSchedule("ZB-H2", 4, 8), units).length, 27);       // 3 m + p - 1
  EXPECT_EQ(lowerBound(buildSchedule("ZB-H2", 4, 8), units).longestSpan, 24);  // 3 m
  EXPECT_EQ(lowerBound(buildSchedule("ZB-H2", 4, 1), units).length, 9);        // 4 F, 4 I, 1 W
}

TEST(LocalSearch, MakesPlansShorterWithinTheLimitsAndNeverLonger) {
  int shorter = 0;
  int plans = 0;
  forManyPlans([&](const Plan& plan, const Costs& costs) {
    const DryRun run = dryRun(CheckedPlan(plan), costs);
    PlanModel model(plan, costs, peaksOf(run));
    JobOrders orders = model.ordersOf(plan);
    const PlanScore score = improve(model, orders, {20'000, lowerBound(plan, costs)});
    const DryRun improved = dryRun(model.planOf(orders), costs);
    EXPECT_EQ(improved.length, score.length);
    EXPECT_LE(improved.length, run.length);
    EXPECT_TRUE(model.keepsLimits(orders));
    ++plans;
    if (improved.length < run.length) ++shorter;
  });
  EXPECT_GT(shorter, plans / 3);
}

}  // namespace
}  // namespace pipetrace
