#include "chart/statistics/percentiles.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "chart/testing/random_rows.h"

namespace pipetrace {
namespace {

constexpr std::int32_t kAll = -100;

std::map<std::int32_t, LinePercentiles> percentilesIn(const ChartModel& model,
                                                      const ChartArea& area, StatisticsBy by) {
  const std::atomic<bool> goOn{false};
  const StatisticsIndex index(model.timeline(), 2);
  const AreaSums sums = sumsOf(index, tracksOf(model, area), 2, goOn);
  std::map<std::int32_t, LinePercentiles> found;
  findPercentiles(index, sums, by, StatisticsOf::kAll, 2, goOn, [&](const LinePercentiles& line) {
    EXPECT_TRUE(found.emplace(line.line.value_or(kAll), line).second) << "each line comes once";
  });
  return found;
}

/// One lane with forwards of the durations.
Timeline forwardsOf(const std::vector<Nanoseconds>& durations) {
  Timeline timeline;
  Nanoseconds begin = 0;
  for (const Nanoseconds duration : durations) {
    Event event{.begin = begin, .end = begin + duration};
    event.kind = JobKind::kForward;
    timeline.track(0, kComputeLane).events.push_back(event);
    begin += duration;
  }
  timeline.sort();
  return timeline;
}

TEST(PercentilesTest, TheHundredDurationsFrom1To100HaveThosePercentiles) {
  std::vector<Nanoseconds> durations(100);
  std::iota(durations.rbegin(), durations.rend(), 1);
  const Timeline timeline = forwardsOf(durations);
  const ChartModel model(timeline);
  const auto found = percentilesIn(model, {{0, 10'000}, {0}}, StatisticsBy::kKind);
  ASSERT_EQ(found.size(), 2U);
  for (const auto& [line, ofLine] : found) {
    EXPECT_EQ(ofLine.median, 50) << "the mean of 50 and 51, rounded down";
    EXPECT_EQ(ofLine.p90, 90);
    EXPECT_EQ(ofLine.p99, 99);
  }
}

TEST(PercentilesTest, OneEventIsAllItsPercentiles) {
  const Timeline timeline = forwardsOf({7});
  const ChartModel model(timeline);
  const auto found = percentilesIn(model, {{2, 3}, {0}}, StatisticsBy::kStage);
  ASSERT_EQ(found.count(kNotGiven), 1U);
  EXPECT_EQ(found.at(kNotGiven).median, 7) << "whole durations, though the area has a part of it";
  EXPECT_EQ(found.at(kNotGiven).p90, 7);
  EXPECT_EQ(found.at(kNotGiven).p99, 7);
}

TEST(PercentilesTest, AnEmptyAreaHasNone) {
  const Timeline timeline = forwardsOf({7});
  const ChartModel model(timeline);
  EXPECT_TRUE(percentilesIn(model, {{100, 200}, {0}}, StatisticsBy::kKind).empty());
}

TEST(PercentilesTest, RandomAreasHaveThePercentilesOfTheirSortedDurations) {
  const Timeline timeline = makeRandomRows(5);
  const ChartModel model(timeline);
  const ChartArea area{{20'000, 170'000}, {0, 1, 2, 4, 6}};
  const auto found = percentilesIn(model, area, StatisticsBy::kRank);
  std::map<std::int32_t, std::vector<Nanoseconds>> durations;
  for (const std::size_t row : area.rows) {
    const ChartRow& lane = model.rows()[row];
    for (const Event& e : timeline.findTrack(lane.rank, lane.lane)->events) {
      const bool isPoint = e.begin == e.end && e.begin >= 20'000 && e.begin < 170'000;
      if (!isPoint && (e.begin >= 170'000 || e.end <= 20'000)) continue;
      durations[lane.rank].push_back(e.end - e.begin);
      durations[kAll].push_back(e.end - e.begin);
    }
  }
  ASSERT_EQ(found.size(), durations.size());
  for (auto& [rank, list] : durations) {
    std::sort(list.begin(), list.end());
    const LinePercentiles& ofRank = found.at(rank);
    const std::size_t n = list.size();
    EXPECT_EQ(ofRank.median, n % 2 == 1 ? list[n / 2] : (list[n / 2 - 1] + list[n / 2]) / 2);
    // The shortest duration that at least 90 % do not exceed, found by looking at each.
    const auto leastFor = [&](std::size_t percent) {
      for (const Nanoseconds d : list) {
        const auto upTo = std::upper_bound(list.begin(), list.end(), d) - list.begin();
        if (static_cast<std::size_t>(upTo) * 100 >= n * percent) return d;
      }
      return kNsMax;
    };
    EXPECT_EQ(ofRank.p90, leastFor(90));
    EXPECT_EQ(ofRank.p99, leastFor(99));
    const auto& counts = ofRank.histogram.counts;
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), n);
    for (std::size_t bin = 0; bin < counts.size(); ++bin) {
      const auto expected = std::count_if(list.begin(), list.end(), [&](Nanoseconds d) {
        return d >= ofRank.histogram.edges[bin] && d < ofRank.histogram.edges[bin + 1];
      });
      EXPECT_EQ(counts[bin], static_cast<std::size_t>(expected)) << bin;
    }
  }
}

TEST(PercentilesTest, NothingIsFoundAfterTheStop) {
  const Timeline timeline = makeRandomRows(6);
  const ChartModel model(timeline);
  const StatisticsIndex index(timeline, 2);
  std::atomic<bool> stop{false};
  const AreaSums sums = sumsOf(index, tracksOf(model, {{0, 100'000}, {0, 2}}), 2, stop);
  int calls = 0;
  findPercentiles(index, sums, StatisticsBy::kKind, StatisticsOf::kAll, 2, stop,
                  [&](const LinePercentiles&) {
                    ++calls;
                    stop = true;
                  });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace pipetrace
