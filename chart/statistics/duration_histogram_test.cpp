#include "chart/statistics/percentiles.h"

#include <gtest/gtest.h>

#include <random>

namespace pipetrace {
namespace {

TEST(DurationHistogramTest, NearDurationsHaveBinsOfOneWidth) {
  const DurationHistogram bins = histogramBins(1000, 1479, 48);
  EXPECT_FALSE(bins.isLogarithmic);
  ASSERT_EQ(bins.counts.size(), 48U);
  EXPECT_EQ(bins.edges.front(), 1000);
  EXPECT_EQ(bins.edges.back(), 1480);
  for (std::size_t i = 0; i + 1 < bins.edges.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(bins.edges[i + 1] - bins.edges[i]), 10, 1);
  }
}

TEST(DurationHistogramTest, FarDurationsHaveBinsThatGrow) {
  const DurationHistogram bins = histogramBins(100, 1'000'000'000, 35);
  EXPECT_TRUE(bins.isLogarithmic);
  ASSERT_EQ(bins.counts.size(), 35U);
  // Seven decades in 35 bins: each edge is 10^0.2 times the one before it.
  EXPECT_EQ(bins.edges[5], 1000);
  EXPECT_EQ(bins.edges[30], 100'000'000);
}

TEST(DurationHistogramTest, AFewNanosecondsHaveABinEach) {
  const DurationHistogram bins = histogramBins(10, 12);
  EXPECT_EQ(bins.edges, (std::vector<Nanoseconds>{10, 11, 12, 13}));
  EXPECT_EQ(histogramBins(5, 5).counts.size(), 1U);
  EXPECT_EQ(histogramBins(0, 0).counts.size(), 1U);
}

TEST(DurationHistogramTest, EveryDurationIsCountedInItsBin) {
  std::mt19937_64 random(3);
  for (const Nanoseconds longest : {Nanoseconds{40}, Nanoseconds{5000}, kNsPerSecond, kNsMax}) {
    std::vector<Nanoseconds> durations = {0, longest};
    for (int i = 0; i < 2000; ++i) {
      durations.push_back(static_cast<Nanoseconds>(random() >> (1 + random() % 60)) % longest);
    }
    DurationHistogram bins = histogramBins(0, longest);
    std::vector<std::size_t> expected(bins.counts.size());
    for (const Nanoseconds duration : durations) {
      std::size_t bin = 0;
      while (bin + 1 < expected.size() && duration >= bins.edges[bin + 1]) ++bin;
      ++expected[bin];
    }
    countInto(bins, durations);
    EXPECT_EQ(bins.counts, expected) << longest;
  }
}

}  // namespace
}  // namespace pipetrace
