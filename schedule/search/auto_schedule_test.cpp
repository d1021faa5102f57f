#include "schedule/search/auto_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>

#include "schedule/build_schedule.h"
#include "schedule/builders/placements.h"
#include "schedule/check/check.h"
#include "schedule/search/plan_candidates.h"
#include "schedule/search/plan_model.h"
#include "schedule/simulate/dry_run.h"
#include "trace/error.h"
#include "trace/testing/is_sanitized.h"

namespace pipetrace {
namespace {

std::int64_t peakOf(const DryRun& run) {
  std::int64_t peak = 0;
  for (const DryRun::Rank& rank : run.ranks) peak = std::max(peak, rank.peakMemory);
  return peak;
}

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  /// first .. last
  int roll(int first, int last) {
    return first + static_cast<int>(random_() % static_cast<unsigned>(last - first + 1));
  }

 private:
  std::mt19937 random_;
};

Costs randomCosts(int stages, Dice& dice) {
  Costs costs{.stages = {}, .transfer = dice.roll(0, 3000)};
  for (int s = 0; s < stages; ++s) {
    StageCosts stage;
    stage.forward = dice.roll(1000, 20000);
    stage.backwardInput = dice.roll(1000, 20000);
    stage.backwardWeight = dice.roll(500, 15000);
    stage.backward = stage.backwardInput + stage.backwardWeight;
    if (dice.roll(0, 2) == 0) stage.backward -= dice.roll(0, 180);
    stage.activation = dice.roll(100, 200);
    stage.freedByInput = dice.roll(0, 100);
    stage.weights = dice.roll(0, 500);
    stage.message = dice.roll(0, 1'000'000);
    costs.stages.push_back(stage);
  }
  if (dice.roll(0, 3) == 0) costs.stages.assign(costs.stages.size(), costs.stages.front());
  if (dice.roll(0, 4) == 0) costs.bandwidth = 1e9 * dice.roll(100, 1000);
  return costs;
}

constexpr int kSets = test::kIsSanitized ? 40 : 250;

/// A thousand sets of costs, in four parts.
class AutoScheduleOfRandomCosts : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, AutoScheduleOfRandomCosts, testing::Range(1U, 5U));

TEST_P(AutoScheduleOfRandomCosts, IsNeverLongerThanAnyBuilderWithinTheLimit) {
  Dice dice(GetParam());
  for (int n = 0; n < kSets; ++n) {
    const int ranks = dice.roll(1, 8);
    const int microBatches = dice.roll(1, 16);
    const int chunks = dice.roll(1, 2);
    const Costs costs = randomCosts(ranks * chunks, dice);
    SCOPED_TRACE("set " + std::to_string(n));
    std::vector<DryRun> built;
    for (const Plan& plan : builtPlans({ranks, microBatches, chunks})) {
      built.push_back(dryRun(CheckedPlan(plan), costs));
    }
    // The limit is the memory that one of them needs, or there is none.
    const int chosen = dice.roll(0, static_cast<int>(built.size()));
    const bool isLimited = chosen < static_cast<int>(built.size());
    const std::int64_t limit = isLimited ? peakOf(built[static_cast<std::size_t>(chosen)]) : 0;

    const Plan plan = autoSchedule(ranks, microBatches, chunks, costs, {limit});
    const auto problems = check(plan);
    ASSERT_TRUE(problems.empty()) << plan.name << ": " << toText(problems.front());
    const DryRun run = dryRun(CheckedPlan(plan), costs);
    if (isLimited) {
      EXPECT_LE(peakOf(run), limit) << plan.name;
    }
    for (const DryRun& other : built) {
      if (isLimited && peakOf(other) > limit) continue;
      EXPECT_LE(run.length, other.length) << plan.name;
    }
  }
}

/// 1.5B model, p = 8, m = 24: Zero Bubble paper, tables 5 and 6.
Costs paperCosts() {
  Costs costs = Costs::equal(8, {.forward = 18'522'000,
                                 .backward = 27'423'000,
                                 .backwardInput = 18'086'000,
                                 .backwardWeight = 9'337'000,
                                 .activation = 201216,
                                 .freedByInput = 127488});
  costs.transfer = 601'000;
  return costs;
}

double paperBubble(int activations) {
  const Plan plan = autoSchedule(8, 24, 1, paperCosts(), {activations * 201216LL});
  const DryRun run = dryRun(CheckedPlan(plan), paperCosts());
  EXPECT_LE(peakOf(run), activations * 201216LL);
  return run.spanBubble();
}

TEST(AutoSchedule, BubblesAreNoLargerThanThoseOfThePapersSearch) {
  EXPECT_LT(paperBubble(8), 0.15855);   // ZB-1p: 0.1585
  EXPECT_LT(paperBubble(16), 0.04335);  // ZB-2p: 0.0433
}

TEST(AutoSchedule, BubblesShrinkWithMemory) {
  // The authors' heuristics (zb.py) have 0.0719 within twelve activations.
  EXPECT_LT(paperBubble(12), 0.0540);
  EXPECT_LE(paperBubble(12), paperBubble(10));
  EXPECT_LE(paperBubble(14), paperBubble(12));
}

TEST(AutoSchedule, EqualTimesGiveTheBoundOfZeroBubbleSchedules) {
  for (const int p : {2, 4, 7}) {
    const int m = 3 * p;
    const auto lengthOf = [&](int chunks) {
      StageCosts stage{1, 2, 1, 1};
      stage.weights = 1000;  // no room for DualPipe's second copy
      const Costs costs = Costs::equal(chunks * p, stage);
      return dryRun(autoSchedule(p, m, chunks, costs, {1000 * chunks + 2 * p}), costs).length;
    };
    EXPECT_EQ(lengthOf(1), 3 * m + p - 1);
    EXPECT_EQ(lengthOf(2), 6 * m + p - 1);
  }
}

/// The shortest of all plans with one stage per rank and whole orders tried one by one.
Nanoseconds shortestOfAll(int ranks, int microBatches, const Costs& costs, std::int64_t limit) {
  PlanModel model(emptyPlan({.name = "all"}, {ranks, microBatches, 1}), costs,
                  std::vector<std::int64_t>(static_cast<std::size_t>(ranks), limit));
  JobOrders orders(static_cast<std::size_t>(ranks));
  PlanTimes times;
  std::optional<Nanoseconds> shortest;
  // Done so far of each pass on this rank; micro-batches are alike, so that they keep their order.
  std::function<void(int, int, int, int)> extend = [&](int rank, int f, int i, int w) {
    if (rank == ranks) {
      PlanScore score;
      if (!model.evaluate(orders, times, score)) return;
      shortest = std::min(shortest.value_or(score.length), score.length);
      return;
    }
    auto& jobs = orders[static_cast<std::size_t>(rank)];
    const auto with = [&](JobKind kind, int microBatch, int df, int di, int dw) {
      jobs.push_back({kind, rank, rank * microBatches + microBatch});
      if (model.keepsLimit(static_cast<std::size_t>(rank), jobs)) {
        extend(rank, f + df, i + di, w + dw);
      }
      orders[static_cast<std::size_t>(rank)].pop_back();
    };
    if (w == microBatches) return extend(rank + 1, 0, 0, 0);
    if (f < microBatches) with(JobKind::kForward, f, 1, 0, 0);
    if (i < f) with(JobKind::kBackwardInput, i, 0, 1, 0);
    if (w < i) with(JobKind::kBackwardWeight, w, 0, 0, 1);
  };
  extend(0, 0, 0, 0);
  return shortest.value_or(-1);
}

TEST(AutoSchedule, SmallPlansAreAsShortAsAnyPlan) {
  Dice dice(11);
  int optimal = 0;
  constexpr int kCases = test::kIsSanitized ? 60 : 150;
  for (int n = 0; n < kCases; ++n) {
    const int ranks = dice.roll(2, 3);
    const int microBatches = dice.roll(1, ranks == 2 ? 4 : 3);
    Costs costs = randomCosts(ranks, dice);
    costs.bandwidth = 0;
    for (StageCosts& stage : costs.stages) {
      stage.backward = stage.backwardInput + stage.backwardWeight;
      stage.activation = 100;
      stage.weights = 10'000;  // no room for DualPipe's second copy
    }
    const std::int64_t limit = 100 * dice.roll(1, microBatches + 1);
    const Nanoseconds shortest = shortestOfAll(ranks, microBatches, costs, limit);
    const Plan plan = autoSchedule(ranks, microBatches, 1, costs, {10'000 + limit});
    const Nanoseconds length = dryRun(CheckedPlan(plan), costs).length;
    EXPECT_GE(length, shortest);
    EXPECT_LE(static_cast<double>(length), 1.02 * static_cast<double>(shortest));
    if (length == shortest) ++optimal;
  }
  EXPECT_GE(optimal, kCases * 98 / 100);
}

TEST(AutoSchedule, NoBuilderIsAsShortAndHoldsLess) {
  for (const int chunks : {1, 2}) {
    for (const int p : {3, 4, 6}) {
      const int m = 2 * p;
      const Costs costs = Costs::equal(p * chunks, {1000, 2000, 1000, 1000});
      const DryRun found = dryRun(autoSchedule(p, m, chunks, costs), costs);
      for (const Plan& plan : builtPlans({p, m, chunks})) {
        const DryRun built = dryRun(CheckedPlan(plan), costs);
        if (built.length > found.length || built.spanBubble() > found.spanBubble()) continue;
        EXPECT_LE(peakOf(found), peakOf(built)) << plan.name << " p=" << p << " v=" << chunks;
      }
    }
  }
}

TEST(AutoSchedule, TheSameInputGivesTheSamePlan) {
  Dice dice(3);
  const Costs costs = randomCosts(10, dice);
  const Plan first = autoSchedule(5, 9, 2, costs, {2500});
  const Plan second = autoSchedule(5, 9, 2, costs, {2500});
  EXPECT_EQ(first.ranks, second.ranks);
  EXPECT_EQ(first.name, second.name);
  EXPECT_EQ(first.name.substr(0, 6), "auto (");
}

TEST(AutoSchedule, TheLeastMemoryIsEnoughAndLessIsAnErrorThatNamesIt) {
  Costs costs = Costs::equal(3, {.forward = 5,
                                 .backward = 9,
                                 .backwardInput = 4,
                                 .backwardWeight = 5,
                                 .activation = 70,
                                 .freedByInput = 30,
                                 .weights = 1000});
  costs.stages[1].activation = 90;
  const Plan plan = autoSchedule(3, 4, 1, costs, {1090});
  EXPECT_TRUE(check(plan).empty());
  EXPECT_EQ(peakOf(dryRun(CheckedPlan(plan), costs)), 1090);
  try {
    autoSchedule(3, 4, 1, costs, {1089});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot plan auto within a memory of 1089: one micro-batch after the other takes "
                 "1090 on one rank");
  }
}

TEST(AutoSchedule, ASecondPlacementIsTakenWhereTheFirstDoesNotFit) {
  // Looped, rank 0 has stages 0 and 2, rank 1 has 1 and 3; V-shaped, 0 and 3, 1 and 2.
  Costs costs = Costs::equal(4, {1, 2, 1, 1});
  costs.stages[0].weights = 10;
  costs.stages[2].weights = 10;
  const Plan plan = autoSchedule(2, 3, 2, costs, {12});
  EXPECT_EQ(toText(plan.placement.ranksOfStage), "0/1/1/0");
}

TEST(AutoSchedule, CostsOfFewerStagesAreAnError) {
  EXPECT_THROW(autoSchedule(2, 2, 2, Costs::equal(3, {1, 2, 1, 1})), Error);
  EXPECT_THROW(autoSchedule(0, 2, 1, Costs::equal(3, {1, 2, 1, 1})), Error);
  EXPECT_THROW(autoSchedule(2, 2, 0, Costs::equal(3, {1, 2, 1, 1})), Error);
}

TEST(AutoSchedule, LargePlansAreBuilt) {
  for (const int chunks : {1, 2}) {
    Costs costs = Costs::equal(64 * chunks, {18522, 27423, 18086, 9337});
    costs.transfer = 601;
    const Plan plan = autoSchedule(64, 1024, chunks, costs, {64 * chunks});
    const DryRun run = dryRun(CheckedPlan(plan), costs);
    EXPECT_LE(peakOf(run), 64 * chunks);
    EXPECT_LE(run.length, dryRun(chunks == 1 ? buildSchedule("ZB-H1", 64, 1024)
                                             : buildSchedule("V-Min", 64, 1024),
                                 costs)
                              .length);
  }
}

}  // namespace
}  // namespace pipetrace
