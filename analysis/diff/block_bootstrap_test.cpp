#include "analysis/diff/block_bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace pipetrace {
namespace {

/// A series around `mean` with deviation 1, each value like the one before by `memory`.
SeriesOfSteps noisy(std::mt19937_64& random, std::size_t steps, double mean, double memory = 0) {
  std::normal_distribution<double> normal;
  SeriesOfSteps series;
  double latest = normal(random);
  for (std::size_t i = 0; i < steps; ++i) {
    latest = memory * latest + std::sqrt(1 - memory * memory) * normal(random);
    series.sums.push_back(mean + latest);
    series.weights.push_back(1);
  }
  return series;
}

/// In how many of 400 pairs of runs of one program a difference is found.
int falseAlarms(std::size_t steps, double memory) {
  std::mt19937_64 random(1);  // NOLINT: the same every time
  const BlockBootstrap bootstrap(steps, steps, false);
  int alarms = 0;
  for (int i = 0; i < 400; ++i) {
    const SeriesOfSteps a = noisy(random, steps, 10, memory);
    alarms += bootstrap.of(a, noisy(random, steps, 10, memory))->isBeyondNoise() ? 1 : 0;
  }
  return alarms;
}

TEST(BlockBootstrap, FindsADifferenceInOneOfTwentyRunsThatAreAlike) {
  EXPECT_LE(falseAlarms(60, 0), 30);  // 7.5 %
  EXPECT_GE(falseAlarms(60, 0), 8);   // 2 %: an interval that is too wide hides what is slower
  EXPECT_LE(falseAlarms(8, 0), 30);
  EXPECT_LE(falseAlarms(2, 0), 40);
}

TEST(BlockBootstrap, KnowsThatStepsAreLikeThoseBesideThem) {
  // Taken one by one, such steps would give some 100 false alarms of 400.
  EXPECT_LE(falseAlarms(100, 0.5), 44);
}

TEST(BlockBootstrap, HoldsTheDifferenceOfMeans) {
  std::mt19937_64 random(2);  // NOLINT
  const SeriesOfSteps a = noisy(random, 60, 10);
  const SeriesOfSteps b = noisy(random, 50, 13);
  const auto sure = BlockBootstrap(60, 50, false).of(a, b);
  EXPECT_LT(sure->low, b.mean() - a.mean());
  EXPECT_GT(sure->high, b.mean() - a.mean());
  // 1.96 · √(1/60 + 1/50) = 0.375, and t quantiles are wider.
  EXPECT_NEAR(sure->high - sure->low, 2 * 0.4, 0.25);
  EXPECT_TRUE(sure->isBeyondNoise());
  EXPECT_TRUE(sure->isBeyondNoiseOf(b.mean() - a.mean(), 200));
  EXPECT_FALSE(sure->isBeyondNoiseOf(2.5 * sure->error, 200)) << "one of 200 is so by chance";
}

TEST(BlockBootstrap, GivesTheSameIntervalEveryTime) {
  std::mt19937_64 random(3);  // NOLINT
  const SeriesOfSteps a = noisy(random, 20, 10);
  const SeriesOfSteps b = noisy(random, 30, 10);
  const auto first = BlockBootstrap(20, 30, false).of(a, b);
  const auto second = BlockBootstrap(20, 30, false).of(a, b);
  EXPECT_EQ(first->low, second->low);
  EXPECT_EQ(first->high, second->high);
}

TEST(BlockBootstrap, StepsWithoutNoiseGiveAPoint) {
  const SeriesOfSteps a{{10, 10, 10}, {1, 1, 1}};
  const SeriesOfSteps b{{22, 22}, {2, 2}};
  const auto sure = BlockBootstrap(3, 2, false).of(a, b);
  EXPECT_EQ(sure->low, 1);
  EXPECT_EQ(sure->high, 1);
  EXPECT_TRUE(sure->isBeyondNoise());
}

TEST(BlockBootstrap, OneStepGivesNoInterval) {
  const SeriesOfSteps one{{10}, {1}};
  const SeriesOfSteps two{{10, 11}, {1, 1}};
  EXPECT_FALSE(BlockBootstrap(1, 2, false).of(one, two));
  EXPECT_FALSE(BlockBootstrap(2, 1, false).of(two, one));
}

TEST(BlockBootstrap, InPairsSeesWhatTheNoiseOfBothWouldHide) {
  std::mt19937_64 random(4);  // NOLINT
  const SeriesOfSteps a = noisy(random, 40, 10);
  SeriesOfSteps b = a;
  for (double& sum : b.sums) sum += 0.05;
  EXPECT_TRUE(goInPairs(a.sums, b.sums));
  EXPECT_FALSE(BlockBootstrap(40, 40, false).of(a, b)->isBeyondNoise());
  const auto inPairs = BlockBootstrap(40, 40, true).of(a, b);
  EXPECT_NEAR(inPairs->low, 0.05, 1e-6);
  EXPECT_NEAR(inPairs->high, 0.05, 1e-6);
}

TEST(BlockBootstrap, StepsOfOtherRunsGoInPairsByChanceOnlyRarely) {
  std::mt19937_64 random(5);  // NOLINT
  for (const std::size_t steps : {5, 16, 60}) {
    int pairs = 0;
    for (int i = 0; i < 1000; ++i) {
      pairs += goInPairs(noisy(random, steps, 10).sums, noisy(random, steps, 10).sums) ? 1 : 0;
    }
    EXPECT_LE(pairs, 15) << steps;
  }
  EXPECT_FALSE(goInPairs(std::vector<double>(9, 1), std::vector<double>(8, 1)));
  EXPECT_FALSE(goInPairs(std::vector<double>(9, 1), std::vector<double>(9, 1)));
}

}  // namespace
}  // namespace pipetrace
