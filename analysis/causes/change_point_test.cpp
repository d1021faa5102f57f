#include "analysis/causes/change_point.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

namespace pipetrace {
namespace {

/// Values of 100 that vary by up to `noise`, those of [begin, end) `factor` times as high.
std::vector<double> series(std::size_t count, std::size_t begin, std::size_t end, double factor,
                           double noise, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double part = static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
    const double value = 100 + noise * (2 * part - 1);
    values.push_back(i >= begin && i < end ? factor * value : value);
  }
  return values;
}

void expectStretch(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  const auto found = highStretchOf(values);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, begin);
  EXPECT_EQ(found->end, end);
}

TEST(HighStretch, BeginsAtTheChangeAndNowhereElse) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    expectStretch(series(200, 120, 200, 1.3, 5, seed), 120, 200);
    expectStretch(series(200, 20, 200, 1.3, 5, seed), 20, 200);
    expectStretch(series(200, 0, 40, 1.3, 5, seed), 0, 40);
    expectStretch(series(200, 120, 150, 1.3, 5, seed), 120, 150);
  }
}

TEST(HighStretch, HasTheMediansOfBothSides) {
  const std::vector<double> values = {10, 10, 10, 11, 15, 14, 15, 15, 16};
  const auto found = highStretchOf(values);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->inside, 15);
  EXPECT_EQ(found->outside, 10);
}

TEST(HighStretch, NoiseHasNone) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    EXPECT_FALSE(highStretchOf(series(40, 0, 0, 1, 20, seed))) << seed;
  }
}

TEST(HighStretch, FewValuesOfAnySizeAreNone) {
  std::vector<double> values(100, 10);
  values[50] = values[51] = values[52] = 1e6;
  EXPECT_FALSE(highStretchOf(values));
  values[53] = 1e6;
  EXPECT_TRUE(highStretchOf(values));
}

TEST(HighStretch, ChangeOfLessThanATenthIsNone) {
  EXPECT_FALSE(highStretchOf(series(100, 50, 100, 1.09, 0)));
  EXPECT_TRUE(highStretchOf(series(100, 50, 100, 1.11, 0)));
}

TEST(HighStretch, EqualValuesHaveNone) {
  EXPECT_FALSE(highStretchOf(std::vector<double>(100, 10)));
  EXPECT_FALSE(highStretchOf({}));
}

}  // namespace
}  // namespace pipetrace
