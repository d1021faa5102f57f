#include "runtime/train/optimize/learning_rate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr double kTolerance = 1e-14;

std::vector<double> sharesOf(const RateSchedule& schedule, int steps) {
  std::vector<double> shares;
  for (int step = 0; step < steps; ++step) shares.push_back(rateShare(schedule, step, steps));
  return shares;
}

void expectNear(const std::vector<double>& shares, const std::vector<double>& expected) {
  ASSERT_EQ(shares.size(), expected.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_NEAR(shares[i], expected[i], kTolerance) << "step " << i;
  }
}

TEST(LearningRate, WarmUpRisesInEqualPartsToTheTop) {
  expectNear(sharesOf({.warmup = 4}, 6), {0.25, 0.5, 0.75, 1, 1, 1});
  expectNear(sharesOf({}, 3), {1, 1, 1});
}

TEST(LearningRate, AWarmUpLongerThanTheTrainingEndsBelowTheTop) {
  expectNear(sharesOf({.shape = RateShape::kCosine, .warmup = 10}, 3), {0.1, 0.2, 0.3});
}

// By hand: 1 - 0.9 * t for t = 0, 1/5, …
TEST(LearningRate, ALinearScheduleFallsInEqualPartsToItsEnd) {
  expectNear(sharesOf({.shape = RateShape::kLinear, .finalShare = 0.1}, 5),
             {1, 0.82, 0.64, 0.46, 0.28});
  const RateSchedule warmed{.shape = RateShape::kLinear, .warmup = 2, .finalShare = 0.1};
  expectNear(sharesOf(warmed, 7), {0.5, 1, 1, 0.82, 0.64, 0.46, 0.28});
}

// By hand: cos of 0, 60, 90, 120 and 180 degrees is 1, 1/2, 0, -1/2, -1.
TEST(LearningRate, ACosineIsAtTheMiddleHalfWay) {
  const RateSchedule cosine{.shape = RateShape::kCosine, .finalShare = 0.2};
  EXPECT_NEAR(rateShare(cosine, 0, 6), 1, kTolerance);
  EXPECT_NEAR(rateShare(cosine, 2, 6), 0.2 + 0.8 * 0.75, kTolerance);
  EXPECT_NEAR(rateShare(cosine, 3, 6), 0.6, kTolerance);
  EXPECT_NEAR(rateShare(cosine, 4, 6), 0.2 + 0.8 * 0.25, kTolerance);
  EXPECT_NEAR(rateShare(cosine, 6, 6), 0.2, kTolerance) << "after the last step";
  EXPECT_NEAR(rateShare(cosine, 60, 6), 0.2, kTolerance) << "and it stays there";
}

// From torch 2.11 (Python), SGD with the learning rate 1 and 10 steps: the rate before each step.
TEST(LearningRate, TheScheduledRatesAreThoseOfTorch) {
  // CosineAnnealingLR(T_max=10, eta_min=0.05)
  expectNear(sharesOf({.shape = RateShape::kCosine, .finalShare = 0.05}, 10),
             {1.0, 0.976751845240198, 0.9092830723281, 0.804197994838925, 0.6717830723281, 0.525,
              0.3782169276719, 0.245802005161075, 0.1407169276719, 0.073248154759802});
  // LinearLR(start_factor=1, end_factor=0.3, total_iters=10)
  expectNear(sharesOf({.shape = RateShape::kLinear, .finalShare = 0.3}, 10),
             {1.0, 0.93, 0.86, 0.79, 0.72, 0.65, 0.58, 0.51, 0.44, 0.37});
  // SequentialLR of LambdaLR(lambda step: (step + 1) / 3) and CosineAnnealingLR(7, 0.05), from step
  // 3 on the second
  expectNear(sharesOf({.shape = RateShape::kCosine, .warmup = 3, .finalShare = 0.05}, 10),
             {0.333333333333333, 0.666666666666667, 1.0, 1.0, 0.952960212253649, 0.821157655882898,
              0.630697443629249, 0.419302556370751, 0.228842344117102, 0.097039787746351});
}

TEST(LearningRate, UnknownNamesAreRefused) {
  EXPECT_EQ(rateShapeOf("cosine"), RateShape::kCosine);
  EXPECT_EQ(rateShapeOf("linear"), RateShape::kLinear);
  EXPECT_EQ(rateShapeOf("constant"), RateShape::kConstant);
  EXPECT_THROW(rateShapeOf("step"), Error);
}

}  // namespace
}  // namespace pipetrace
