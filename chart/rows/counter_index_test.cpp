#include "chart/rows/counter_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace pipetrace {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(CounterIndexTest, ASampleCountsUntilTheNextOne) {
  const CounterSeries series{0, "queue", "", {{10, 3}, {20, 5}, {20, 4}, {30, kNan}, {40, -1}}};
  const CounterIndex counter(series);
  EXPECT_FALSE(counter.at(9));
  EXPECT_EQ(counter.at(10), 3);
  EXPECT_EQ(counter.at(19), 3);
  EXPECT_EQ(counter.at(20), 4);
  EXPECT_FALSE(counter.at(35)) << "a gap";
  EXPECT_EQ(counter.at(1000), -1);
  EXPECT_FALSE(counter.in(0, 10));
  EXPECT_EQ(counter.in(0, 11)->greatest, 3);
  EXPECT_EQ(counter.in(15, 21)->least, 3);
  EXPECT_EQ(counter.in(15, 21)->greatest, 5) << "it was 5 for no time, and is not lost";
  EXPECT_EQ(counter.range()->least, -1);
}

TEST(CounterIndexTest, RangesAreThoseOfASearchThroughAllSamples) {
  std::mt19937 random(7);
  CounterSeries series{0, "memory", "bytes", {}};
  Nanoseconds time = 0;
  for (int i = 0; i < 5000; ++i) {
    time += static_cast<Nanoseconds>(random() % 20);
    series.samples.push_back({time, static_cast<double>(random() % 1000)});
  }
  const CounterIndex counter(series);
  for (int i = 0; i < 3000; ++i) {
    const auto begin = static_cast<Nanoseconds>(random() % 50'000);
    const Nanoseconds end = begin + 1 + static_cast<Nanoseconds>(random() % (i % 2 ? 50 : 40'000));
    double least = std::numeric_limits<double>::infinity();
    double greatest = -least;
    for (std::size_t k = 0; k < series.samples.size(); ++k) {
      const bool isLast = k + 1 == series.samples.size();
      const bool begins = series.samples[k].time >= begin && series.samples[k].time < end;
      const bool isBefore = series.samples[k].time <= begin;
      const bool counts = begins || (isBefore && (isLast || series.samples[k + 1].time > begin));
      if (!counts) continue;
      least = std::min(least, series.samples[k].value);
      greatest = std::max(greatest, series.samples[k].value);
    }
    const auto range = counter.in(begin, end);
    ASSERT_EQ(range.has_value(), std::isfinite(least)) << begin << " to " << end;
    if (!range) continue;
    // Samples at `begin` itself, but the last, may count as well.
    ASSERT_EQ(range->least, least) << begin << " to " << end;
    ASSERT_EQ(range->greatest, greatest) << begin << " to " << end;
  }
}

TEST(CounterIndexTest, AnEmptySeriesHasNoRange) {
  const CounterSeries series{0, "x", "", {}};
  const CounterIndex counter(series);
  EXPECT_FALSE(counter.range());
  EXPECT_FALSE(counter.at(5));
  EXPECT_FALSE(counter.in(0, 100));
}

TEST(CounterTextTest, BytesHaveTheUnitThatFits) {
  EXPECT_EQ(counterText(0, "bytes"), "0 bytes");
  EXPECT_EQ(counterText(3.5 * 1024 * 1024 * 1024, "bytes"), "3.5 GiB");
  EXPECT_EQ(counterText(0.125, ""), "0.125");
  EXPECT_EQ(counterText(17, "jobs"), "17 jobs");
}

}  // namespace
}  // namespace pipetrace
