#include "chart/lane_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "chart/testing/paper_colors.h"

namespace pipetrace {
namespace {

/// Events that do not overlap. Some touch, some have gaps between them, some have no length.
std::vector<Event> randomLane(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Event> events;
  Nanoseconds time = 1'000;
  for (std::size_t i = 0; i < count; ++i) {
    Event event;
    time += random() % 3 == 0 ? static_cast<Nanoseconds>(random() % 50) : 0;
    event.begin = time;
    time += static_cast<Nanoseconds>(random() % 40);
    event.end = time;
    event.kind = random() % 2 == 0 ? JobKind::kForward : JobKind::kBackward;
    events.push_back(event);
  }
  return events;
}

Nanoseconds busyByHand(const std::vector<Event>& events, Nanoseconds begin, Nanoseconds end) {
  Nanoseconds busy = 0;
  for (const Event& e : events) {
    busy += std::max<Nanoseconds>(std::min(e.end, end) - std::max(e.begin, begin), 0);
  }
  return busy;
}

double redByHand(const std::vector<Event>& events, Nanoseconds begin, Nanoseconds end) {
  double red = 0;
  for (const Event& e : events) {
    const auto part = std::max<Nanoseconds>(std::min(e.end, end) - std::max(e.begin, begin), 0);
    red += static_cast<double>(part) * kPaperColors.of(e).red;
  }
  return red / static_cast<double>(busyByHand(events, begin, end));
}

TEST(LaneIndexTest, LoadEqualsTheSumOverAllEvents) {
  for (const std::size_t count : {1U, 7U, 8U, 9U, 33U, 1000U}) {
    const std::vector<Event> events = randomLane(count, 7);
    const LaneIndex lane(events, kPaperColors);
    std::mt19937 random(3);
    const auto length = static_cast<unsigned>(events.back().end + 200);
    for (int i = 0; i < 2000; ++i) {
      const auto begin = static_cast<Nanoseconds>(random() % length);
      const auto end = begin + static_cast<Nanoseconds>(random() % (length / (1 + i % 50)));
      const LaneLoad load = lane.load(begin, end);
      ASSERT_EQ(load.busy, busyByHand(events, begin, end)) << begin << " " << end;
      if (load.busy > 0) {
        ASSERT_NEAR(load.color.red, redByHand(events, begin, end), 0.51);
      }
    }
  }
}

TEST(LaneIndexTest, SearchesFindTheSameAsAScan) {
  const std::vector<Event> events = randomLane(500, 11);
  const LaneIndex lane(events, kPaperColors);
  for (Nanoseconds t = 900; t < events.back().end + 20; ++t) {
    std::size_t begins = 0;
    while (begins < events.size() && events[begins].begin < t) ++begins;
    std::size_t ends = 0;
    while (ends < events.size() && events[ends].end <= t) ++ends;
    ASSERT_EQ(lane.firstBeginningAt(t), begins) << t;
    ASSERT_EQ(lane.firstEndingAfter(t), ends) << t;
    for (const std::size_t from : {begins / 2, begins, std::min(begins + 3, events.size())}) {
      ASSERT_EQ(lane.firstBeginningAt(t, from), std::max(begins, from)) << t << " " << from;
    }
  }
}

TEST(LaneIndexTest, ASubLaneHoldsItsMembersOnly) {
  const std::vector<Event> events = randomLane(100, 5);
  std::vector<std::uint32_t> members;
  std::vector<Event> chosen;
  for (std::uint32_t i = 3; i < 100; i += 7) {
    members.push_back(i);
    chosen.push_back(events[i]);
  }
  const LaneIndex lane(events, members, kPaperColors);
  ASSERT_EQ(lane.size(), chosen.size());
  EXPECT_EQ(lane.load(0, 100'000).busy, busyByHand(chosen, 0, 100'000));
  EXPECT_EQ(lane.load(1'100, 1'900).busy, busyByHand(chosen, 1'100, 1'900));
}

TEST(LaneIndexTest, AnEmptyLaneIsIdle) {
  const LaneIndex lane;
  EXPECT_EQ(lane.size(), 0U);
  EXPECT_EQ(lane.firstBeginningAt(5), 0U);
  EXPECT_EQ(lane.firstEndingAfter(5), 0U);
  EXPECT_EQ(lane.load(0, 100).busy, 0);
  EXPECT_EQ(LaneIndex(randomLane(3, 1), {}, kPaperColors).size(), 0U) << "no members";
}

TEST(LaneIndexTest, SumsOverYearsAreExactToTheNanosecond) {
  // 64 jobs of 9 years each: the running sums of colour times ns overflow 64 bits several times.
  std::vector<Event> events(64);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].kind = JobKind::kForward;
    events[i].begin = static_cast<Nanoseconds>(i) * (kNsMax / 100);
    events[i].end = events[i].begin + kNsMax / 100 - 3;
  }
  const LaneIndex lane(events, kPaperColors);
  const Nanoseconds from = events[40].end - 5;
  EXPECT_EQ(lane.load(from, from + 9).busy, 6);
  EXPECT_EQ(lane.load(from, from + 9).color, kPaperColors.of(events[0]));
}

}  // namespace
}  // namespace pipetrace
