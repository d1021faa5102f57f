#include "chart/statistics/area_sums.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "chart/testing/random_rows.h"

namespace pipetrace {
namespace {

const std::atomic<bool> kGoOn{false};

Event job(Nanoseconds begin, Nanoseconds end, JobKind kind, std::int32_t stage) {
  Event event{.begin = begin, .end = end};
  event.kind = kind;
  event.stage = stage;
  return event;
}

/// Rank 0 computes, idles 30 ns, and sends; rank 1 computes.
Timeline smallRun() {
  Timeline timeline;
  timeline.track(0, kComputeLane).events = {job(0, 10, JobKind::kForward, 0),
                                            job(10, 20, JobKind::kForward, 0),
                                            job(50, 80, JobKind::kBackward, 0)};
  Event bubble = job(20, 50, JobKind::kBubble, kNotGiven);
  bubble.bubbleClass = BubbleClass::kPeerWait;
  timeline.track(0, kBubbleLane).events = {bubble};
  timeline.track(0, kSendLane).events = {job(10, 14, JobKind::kSendForward, kNotGiven)};
  timeline.track(1, kComputeLane).events = {job(20, 50, JobKind::kForward, 1)};
  timeline.sort();
  return timeline;
}

AreaSums sumsIn(const ChartModel& model, const ChartArea& area) {
  const StatisticsIndex index(model.timeline(), 2);
  return sumsOf(index, tracksOf(model, area), 2, kGoOn);
}

std::map<std::string, EventSums> tableOf(const AreaSums& sums, StatisticsBy by) {
  std::map<std::string, EventSums> table;
  for (const StatisticsLine& line : linesOf(sums, by)) table[lineName(by, line.line)] = line.sums;
  return table;
}

TEST(AreaSumsTest, AnEventAtTheEdgeCountsWithItsPartInTheAreaAndItsWholeDuration) {
  const Timeline timeline = smallRun();
  const ChartModel model(timeline);
  const AreaSums sums = sumsIn(model, {{5, 60}, {0}});
  const auto kinds = tableOf(sums, StatisticsBy::kKind);
  ASSERT_EQ(kinds.size(), 3U);
  const EventSums& forward = kinds.at("forward");
  EXPECT_EQ(forward.count, 2U);
  EXPECT_EQ(forward.inside, 15);
  EXPECT_EQ(forward.whole, 20);
  EXPECT_DOUBLE_EQ(forward.mean(), 10);
  EXPECT_EQ(kinds.at("backward").inside, 10);
  EXPECT_EQ(kinds.at("backward").longest, 30);
  EXPECT_EQ(kinds.at("bubble").inside, 30);
  EXPECT_EQ(sums.busy, 25);
  EXPECT_EQ(sums.idle, 30);
}

TEST(AreaSumsTest, LinesAreKindsStagesRanksOrClasses) {
  const Timeline timeline = smallRun();
  const ChartModel model(timeline);
  const AreaSums sums = sumsIn(model, {{0, 100}, {0, 1, 2}});
  const auto stages = tableOf(sums, StatisticsBy::kStage);
  EXPECT_EQ(stages.at("stage 0").inside, 50);
  EXPECT_EQ(stages.at("stage 1").inside, 30);
  EXPECT_EQ(stages.at("no stage").inside, 4) << "the message; bubbles have no stage";
  const auto ranks = tableOf(sums, StatisticsBy::kRank);
  EXPECT_EQ(ranks.at("rank 0").inside, 54);
  EXPECT_EQ(ranks.at("rank 1").count, 1U);
  const auto classes = tableOf(sums, StatisticsBy::kBubbleClass);
  ASSERT_EQ(classes.size(), 1U);
  EXPECT_EQ(classes.at("peer wait").inside, 30);
}

TEST(AreaSumsTest, OnlyTheRowsOfTheAreaCount) {
  const Timeline timeline = smallRun();
  const ChartModel model(timeline);
  const auto kinds = tableOf(sumsIn(model, {{0, 100}, {1}}), StatisticsBy::kKind);
  ASSERT_EQ(kinds.size(), 1U);
  EXPECT_EQ(kinds.at("send forward").count, 1U);
}

TEST(AreaSumsTest, AJobWithoutALengthCountsWhereItBegins) {
  Timeline timeline;
  timeline.track(0, kComputeLane).events = {job(10, 10, JobKind::kForward, 0),
                                            job(20, 20, JobKind::kForward, 0)};
  timeline.sort();
  const ChartModel model(timeline);
  EXPECT_EQ(tableOf(sumsIn(model, {{10, 20}, {0}}), StatisticsBy::kKind).at("forward").count, 1U);
  EXPECT_TRUE(linesOf(sumsIn(model, {{11, 20}, {0}}), StatisticsBy::kKind).empty());
}

/// The time in [begin, end) that compute jobs cover, nanosecond by nanosecond.
Nanoseconds coveredTime(const std::vector<Event>& events, Nanoseconds begin, Nanoseconds end) {
  std::vector<bool> covered(static_cast<std::size_t>(end - begin));
  for (const Event& event : events) {
    if (!isCompute(event.kind)) continue;
    for (Nanoseconds t = std::max(event.begin, begin); t < std::min(event.end, end); ++t) {
      covered[static_cast<std::size_t>(t - begin)] = true;
    }
  }
  return std::count(covered.begin(), covered.end(), true);
}

TEST(AreaSumsTest, SumsOfRandomAreasAreThoseOfAllTheirEvents) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const Timeline timeline = makeRandomRows(seed);
    const ChartModel model(timeline);
    const StatisticsIndex index(timeline, 2);
    std::mt19937 random(seed);
    for (int round = 0; round < 12; ++round) {
      const auto a = static_cast<Nanoseconds>(random() % 230'000);
      const auto b = static_cast<Nanoseconds>(random() % 230'000);
      const Timeline::Span time{std::min(a, b), std::max(a, b) + 1};
      const std::vector<std::size_t> rows = {random() % 4, 4 + random() % 4};
      const AreaSums sums = sumsOf(index, tracksOf(model, {time, rows}), 2, kGoOn);
      std::map<std::string, EventSums> expected;
      Nanoseconds busy = 0;
      for (const std::size_t row : rows) {
        const ChartRow& lane = model.rows()[row];
        for (const Track& track : timeline.tracks) {
          const bool isOwn = track.lane == lane.lane;
          const bool isBubbles = lane.isCompute && track.lane == kBubbleLane;
          if (track.rank != lane.rank || (!isOwn && !isBubbles)) continue;
          if (lane.isCompute) busy += coveredTime(track.events, time.begin, time.end);
          for (const Event& e : track.events) {
            const bool isPoint = e.begin == e.end && e.begin >= time.begin && e.begin < time.end;
            const Nanoseconds part = std::min(e.end, time.end) - std::max(e.begin, time.begin);
            if (!isPoint && part <= 0) continue;
            EventSums& ofKind = expected[lineName(StatisticsBy::kKind, static_cast<int>(e.kind))];
            ++ofKind.count;
            ofKind.inside += part;
            ofKind.whole += e.end - e.begin;
            ofKind.shortest = std::min(ofKind.shortest, e.end - e.begin);
            ofKind.longest = std::max(ofKind.longest, e.end - e.begin);
          }
        }
      }
      const auto found = tableOf(sums, StatisticsBy::kKind);
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [kind, ofKind] : expected) {
        EXPECT_EQ(found.at(kind).count, ofKind.count) << kind;
        EXPECT_EQ(found.at(kind).inside, ofKind.inside) << kind;
        EXPECT_EQ(found.at(kind).whole, ofKind.whole) << kind;
        EXPECT_EQ(found.at(kind).shortest, ofKind.shortest) << kind;
        EXPECT_EQ(found.at(kind).longest, ofKind.longest) << kind;
      }
      EXPECT_EQ(sums.busy, busy) << "overlapping jobs count once";
    }
  }
}

/// Rank 0 forwards for 100 ns, in which an operator of 80 ns on another thread calls two, one of
/// which calls a third.
Timeline nestedRun() {
  Timeline timeline;
  timeline.track(0, kComputeLane).events = {job(0, 100, JobKind::kForward, 0)};
  timeline.track(0, "thread 7").events = {
      job(10, 90, JobKind::kOther, kNotGiven), job(20, 40, JobKind::kOther, kNotGiven),
      job(50, 80, JobKind::kOther, kNotGiven), job(60, 70, JobKind::kKernel, kNotGiven)};
  timeline.sort();
  return timeline;
}

TEST(AreaSumsTest, NestedOperatorsCountOnceInOwnTime) {
  const Timeline timeline = nestedRun();
  const ChartModel model(timeline);
  const auto kinds = tableOf(sumsIn(model, {{0, 100}, {0, 1}}), StatisticsBy::kKind);
  EXPECT_EQ(kinds.at("other").inside, 80 + 20 + 30);
  EXPECT_EQ(kinds.at("other").own, 70);
  EXPECT_EQ(kinds.at("kernel").own, 10);
  EXPECT_EQ(kinds.at("forward").own, 100);
}

TEST(AreaSumsTest, JobsTransfersAndOperatorsAreToldApart) {
  const Timeline timeline = nestedRun();
  const ChartModel model(timeline);
  const AreaSums sums = sumsIn(model, {{0, 100}, {0, 1}});
  const auto own = [&](StatisticsOf of) {
    const auto lines = linesOf(sums, StatisticsBy::kRank, of);
    return lines.empty() ? 0 : lines.front().sums.own;
  };
  EXPECT_EQ(own(StatisticsOf::kJobs), 100) << "no longer than the area";
  EXPECT_EQ(own(StatisticsOf::kOperators), 80);
  EXPECT_EQ(own(StatisticsOf::kTransfers), 0);
  EXPECT_EQ(own(StatisticsOf::kAll), 180);
  EXPECT_EQ(groupOf(JobKind::kAllReduce), StatisticsOf::kTransfers);
  EXPECT_EQ(groupOf(JobKind::kOptimizer), StatisticsOf::kJobs);
}

TEST(AreaSumsTest, OwnTimesOfRandomAreasAreThoseOfTheirParts) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    Timeline timeline;
    std::mt19937 random(seed);
    Track& track = timeline.track(0, "thread 7");
    for (int i = 0; i < 3000; ++i) {
      const auto begin = static_cast<Nanoseconds>(random() % 20'000);
      const auto length = static_cast<Nanoseconds>(random() % (i % 50 == 0 ? 9000 : 40));
      track.events.push_back(job(begin, begin + length, JobKind::kOther, i % 3));
    }
    timeline.sort();
    const ChartModel model(timeline);
    for (int round = 0; round < 20; ++round) {
      const auto a = static_cast<Nanoseconds>(random() % 20'000);
      const auto b = static_cast<Nanoseconds>(random() % 20'000);
      const auto middle = static_cast<Nanoseconds>(random() % 20'000);
      const Timeline::Span time{std::min(a, b), std::max(a, b) + 1};
      const auto ownIn = [&](Timeline::Span span) {
        std::map<std::int32_t, Nanoseconds> own;
        if (span.end <= span.begin) return own;
        for (const auto& line : linesOf(sumsIn(model, {span, {0}}), StatisticsBy::kStage)) {
          own[line.line] = line.sums.own;
        }
        return own;
      };
      const Nanoseconds cut = std::clamp(middle, time.begin, time.end);
      auto whole = ownIn(time);
      auto left = ownIn({time.begin, cut});
      auto right = ownIn({cut, time.end});
      Nanoseconds sum = 0;
      for (const auto& [stage, own] : whole) {
        EXPECT_EQ(own, left[stage] + right[stage]) << seed << " " << round;
        sum += own;
      }
      EXPECT_LE(sum, time.end - time.begin) << "one thread";
    }
  }
}

TEST(AreaSumsTest, ManyStagesInABlockAreKeptApart) {
  Timeline timeline;
  for (int i = 0; i < 3000; ++i) {
    timeline.track(0, kComputeLane)
        .events.push_back(job(i * 10, i * 10 + 5, JobKind::kForward, i * 7 % 1000));
  }
  timeline.sort();
  const ChartModel model(timeline);
  const auto lines = linesOf(sumsIn(model, {{0, 30'000}, {0}}), StatisticsBy::kStage);
  ASSERT_EQ(lines.size(), 1000U);
  for (const StatisticsLine& line : lines) EXPECT_EQ(line.sums.count, 3U) << line.line;
}

}  // namespace
}  // namespace pipetrace
