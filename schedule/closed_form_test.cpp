#include "schedule/closed_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "schedule/build_schedule.h"
#include "schedule/simulate/dry_run.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// F, B, I, W and a fused pair: equal halves, unequal ones in both orders, and a fused pair that is
// shorter than its parts.
constexpr std::array<std::array<Nanoseconds, 5>, 6> kTimes = {{{1, 2, 1, 1, -1},
                                                               {5, 7, 4, 3, -1},
                                                               {4, 9, 7, 2, 12},
                                                               {9, 11, 8, 3, 17},
                                                               {10, 14, 10, 4, 19},
                                                               {3, 8, 2, 6, -1}}};

StageCosts costsOf(const std::array<Nanoseconds, 5>& times) {
  return {.forward = times[0],
          .backward = times[1],
          .backwardInput = times[2],
          .backwardWeight = times[3],
          .forwardBackward = times[4]};
}

/// Compares one plan with theory; returns whether there was any.
bool equalsItsPlan(std::string_view name, const PlanSize& size, const StageCosts& each) {
  const auto closed = closedForm(name, size, each);
  if (!closed) return false;
  const Plan plan = buildSchedule(name, size);
  const DryRun run = dryRun(CheckedPlan(plan), Costs::equal(plan.numStages, each));
  EXPECT_EQ(run.length, closed->length);
  std::vector<int> peaks;
  for (const DryRun::Rank& rank : run.ranks) peaks.push_back(rank.peakLive);
  EXPECT_EQ(peaks, closed->peakLive);
  return true;
}

TEST(ClosedForm, EveryPlanHasTheLengthAndPeaksOfItsFormula) {
  for (const ScheduleInfo& info : knownSchedules()) {
    if (info.name == "auto") continue;
    for (int p = 2; p <= 8; ++p) {
      for (int m = 1; m <= 16; ++m) {
        for (int v = info.leastChunks; v <= std::min(4, info.mostChunks); ++v) {
          for (const auto& times : kTimes) {
            SCOPED_TRACE(std::string(info.name) + " p=" + std::to_string(p) +
                         " m=" + std::to_string(m) + " v=" + std::to_string(v) +
                         " F=" + std::to_string(times[0]));
            equalsItsPlan(info.name, {p, m, v}, costsOf(times));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(ClosedForm, FormulasCoverAllSizesOfTheSchedulesWithAFlush) {
  const StageCosts each = costsOf(kTimes[5]);
  for (const char* name : {"FThenB", "GPipe", "1F1B", "Eager1F1B", "Interleaved1F1B", "LoopedBFS",
                           "PipeDream", "PipeDream-2BW"}) {
    for (int m = 1; m <= 16; ++m) EXPECT_TRUE(equalsItsPlan(name, {5, m}, each)) << name << m;
  }
}

TEST(ClosedForm, FormulasCoverThePapersSizesOfSchedulesWithSplitBackwardPasses) {
  const StageCosts each = costsOf(kTimes[1]);
  EXPECT_TRUE(equalsItsPlan("ZB-H1", {8, 24}, each));
  EXPECT_TRUE(equalsItsPlan("ZB-H1", {8, 3}, each));
  EXPECT_TRUE(equalsItsPlan("InterleavedZeroBubble", {4, 8, 3}, each));
  EXPECT_TRUE(equalsItsPlan("ZB-H2", {4, 2}, {7, 14, 7, 7}));
  EXPECT_TRUE(equalsItsPlan("ZB-H2", {4, 20}, {7, 14, 7, 7}));
  EXPECT_TRUE(equalsItsPlan("ZBV", {4, 4}, {7, 14, 7, 7}));
  for (int p = 1; p <= 12; ++p) {
    for (int m = p; m <= 3 * p; ++m) {
      EXPECT_TRUE(equalsItsPlan("ZBV", {p, m}, {7, 14, 7, 7})) << p << ", " << m;
      EXPECT_TRUE(equalsItsPlan("V-Half", {p, m}, {7, 14, 7, 7})) << p << ", " << m;
      EXPECT_EQ(equalsItsPlan("V-Min", {p, m}, {7, 14, 7, 7}), p % 3 != 2) << p << ", " << m;
    }
  }
  EXPECT_TRUE(equalsItsPlan("DualPipe", {8, 20}, each));
  EXPECT_TRUE(equalsItsPlan("DualPipe", {7, 20}, each));
  EXPECT_TRUE(equalsItsPlan("DualPipeV", {4, 10}, each));
}

TEST(ClosedForm, NoFigureIsGivenWhereNoFormulaIsKnown) {
  EXPECT_FALSE(closedForm("ZB-H1", {4, 8}, {1, 3, 1, 2}));  // W > I
  EXPECT_FALSE(closedForm("ZB-H2", {4, 8}, {1, 3, 2, 1}));
  EXPECT_FALSE(closedForm("ZBV", {4, 3}, {1, 2, 1, 1}));
  EXPECT_FALSE(closedForm("V-Half", {4, 3}, {1, 2, 1, 1}));
  EXPECT_FALSE(closedForm("V-Half", {4, 8}, {1, 3, 2, 1}));
  EXPECT_FALSE(closedForm("V-Min", {5, 8}, {1, 2, 1, 1}));
  EXPECT_FALSE(closedForm("InterleavedZeroBubble", {4, 3, 2}, {1, 2, 1, 1}));
  EXPECT_FALSE(closedForm("DualPipe", {4, 9}, {1, 2, 1, 1}));   // not as many each way
  EXPECT_FALSE(closedForm("DualPipe", {4, 6}, {1, 2, 1, 1}));   // too few
  EXPECT_FALSE(closedForm("DualPipeV", {4, 8}, {1, 3, 2, 1}));  // I > F
}

TEST(ClosedForm, NamesAndSizesAreThoseOfBuildSchedule) {
  EXPECT_EQ(closedForm("vpp", {4, 8}, {1, 2, 1, 1})->length, 57);
  EXPECT_THROW(closedForm("zigzag", {4, 8}, {}), Error);
  EXPECT_THROW(closedForm("1F1B", {4, 8, 2}, {}), Error);
  EXPECT_THROW(closedForm("1F1B", {0, 8}, {}), Error);
}

// Qi et al. 2023, tables 5 and 6: the 1.5B model on 8 ranks with 24 micro-batches.
TEST(PublishedFigures, BubbleRatesOfTheZeroBubblePaperAreReproduced) {
  StageCosts each{.forward = 18'522'000, .backwardInput = 18'086'000, .backwardWeight = 9'337'000};
  each.backward = each.backwardInput + each.backwardWeight;
  const auto rate = [&](const char* name) {
    const Plan plan = buildSchedule(name, 8, 24);
    Costs costs = Costs::equal(plan.numStages, each);
    costs.transfer = 601'000;
    return dryRun(CheckedPlan(plan), costs).spanBubble();
  };
  EXPECT_NEAR(rate("1F1B"), 0.2431, 0.00005);
  EXPECT_NEAR(rate("ZB-H1"), 0.1585, 0.00005);
}

// (p / 2 - 1) (F&B + B - 3 W) on the ranks in the middle, which have most of the pairs. The README
// counts a forward as long as an input half.
TEST(PublishedFigures, BubbleOfDualPipesReadmeIsReproduced) {
  for (const Nanoseconds pair : {37, 33, 29}) {
    const StageCosts each{.forward = 13,
                          .backward = 24,
                          .backwardInput = 13,
                          .backwardWeight = 11,
                          .forwardBackward = pair};
    for (const int p : {2, 4, 6, 8}) {
      for (const char* name : {"DualPipe", "DualPipeV"}) {
        const bool vShaped = name == std::string("DualPipeV");
        const Plan plan = buildSchedule(name, vShaped ? p / 2 : p, 20);
        const DryRun run = dryRun(CheckedPlan(plan), Costs::equal(plan.numStages, each));
        const DryRun::Rank& middle = run.ranks[static_cast<std::size_t>(p / 2 - 1)];
        EXPECT_EQ(run.length - middle.busy, (p / 2 - 1) * (pair + 24 - 3 * 11)) << name << p;
      }
    }
  }
}

}  // namespace
}  // namespace pipetrace
