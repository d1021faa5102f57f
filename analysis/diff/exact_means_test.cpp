#include "analysis/diff/measured_run.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <random>

namespace pipetrace {
namespace {

using testing::ElementsAre;

TEST(ExactMeans, MissingNanosecondsGoToTheLargestRemainders) {
  // 10/4, 11/4, 9/4, 0: 30/4 = 7.5 is rounded up.
  EXPECT_THAT(exactMeans({10, 11, 9, 0}, 4), ElementsAre(3, 3, 2, 0));
  EXPECT_THAT(exactMeans({1, 1, 1}, 3), ElementsAre(1, 0, 0));
  EXPECT_THAT(exactMeans({1, 1, 1}, 7), ElementsAre(0, 0, 0));
  EXPECT_THAT(exactMeans({}, 7), ElementsAre());
}

TEST(ExactMeans, AreRoundedHalfUp) {
  EXPECT_EQ(roundedMean(5, 2), 3);
  EXPECT_EQ(roundedMean(4, 3), 1);
  EXPECT_EQ(roundedMean(7, 1), 7);
}

TEST(ExactMeans, AddUpAndAreLessThanANanosecondOff) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Nanoseconds> sums(1 + random() % 20);
    for (Nanoseconds& sum : sums) sum = random() % 3 == 0 ? 0 : random();
    const std::int64_t weight = 1 + random() % 1000;
    const std::vector<Nanoseconds> means = exactMeans(sums, weight);
    ASSERT_EQ(std::accumulate(means.begin(), means.end(), Nanoseconds{}),
              roundedMean(std::accumulate(sums.begin(), sums.end(), Nanoseconds{}), weight));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double exact = static_cast<double>(sums[i]) / static_cast<double>(weight);
      ASSERT_LT(std::abs(static_cast<double>(means[i]) - exact), 1);
    }
  }
}

}  // namespace
}  // namespace pipetrace
