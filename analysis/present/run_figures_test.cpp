#include "analysis/present/run_figures.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(DistributionTest, MedianAndPercentileAreOfTheSortedValues) {
  const Distribution three = distributionOf({5, 1, 3});
  EXPECT_EQ(three.mean, 3);
  EXPECT_EQ(three.median, 3);
  EXPECT_EQ(three.p99, 5);
  EXPECT_EQ(distributionOf({4, 1, 2, 8}).median, 3);
  EXPECT_EQ(distributionOf({7}).p99, 7);
  EXPECT_EQ(distributionOf({}).mean, 0);
  std::vector<double> values;
  for (int i = 1; i <= 200; ++i) values.push_back(i);
  EXPECT_EQ(distributionOf(values).p99, 198) << "the nearest rank: 0.99 * 200";
  EXPECT_EQ(distributionOf(values).median, 100.5);
}

}  // namespace
}  // namespace pipetrace
