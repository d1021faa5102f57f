#include "chart/statistics/own_times.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

namespace pipetrace {
namespace {

std::vector<Event> eventsOf(std::initializer_list<std::pair<Nanoseconds, Nanoseconds>> times) {
  std::vector<Event> events;
  for (const auto& [begin, end] : times) events.push_back({.begin = begin, .end = end});
  return events;
}

TEST(OwnTimesTest, ACallerHasTheTimeBesideItsCalls) {
  // A call of 100 that makes two calls, the second of which makes one.
  const auto events = eventsOf({{0, 100}, {10, 30}, {40, 90}, {50, 60}, {100, 120}});
  const OwnTimes own(events, 2);
  const Nanoseconds expected[] = {30, 20, 40, 10, 20};
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(own.of(i), expected[i]) << i;
}

TEST(OwnTimesTest, OfACallerAndACallThatBeginTogetherTheShorterOneIsTheCall) {
  const auto events = eventsOf({{0, 10}, {0, 40}, {0, 100}});
  const OwnTimes own(events, 512);
  EXPECT_EQ(own.of(0), 10);
  EXPECT_EQ(own.of(1), 30);
  EXPECT_EQ(own.of(2), 60);
}

TEST(OwnTimesTest, WhereEventsOverlapWithoutNestingTheLaterOneHasTheTime) {
  const auto events = eventsOf({{0, 10}, {5, 15}, {12, 13}});
  const OwnTimes own(events, 512);
  EXPECT_EQ(own.of(0), 5);
  EXPECT_EQ(own.of(1), 9);
  EXPECT_EQ(own.of(2), 1);
}

/// Instant by instant.
std::map<std::size_t, Nanoseconds> ownBetween(const std::vector<Event>& events, Nanoseconds from,
                                              Nanoseconds to) {
  std::map<std::size_t, Nanoseconds> own;
  for (Nanoseconds time = from; time < to; ++time) {
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].begin > time || events[i].end <= time) continue;
      const bool isLater =
          !last || events[i].begin > events[*last].begin || events[i].end == events[*last].end;
      if (isLater) last = i;
    }
    if (last) ++own[*last];
  }
  return own;
}

TEST(OwnTimesTest, AnyEventsHaveWhatTheyHaveInstantByInstantBeforeAnyTimeToo) {
  std::mt19937 random(7);
  const auto below = [&](int limit) { return static_cast<Nanoseconds>(random() % limit); };
  for (int round = 0; round < 40; ++round) {
    std::vector<Event> events;
    const int length = round % 2 == 0 ? 8 : 60;
    for (int i = 0; i < 30; ++i) {
      const Nanoseconds begin = below(100);
      events.push_back({.begin = begin, .end = begin + below(length)});
    }
    std::sort(events.begin(), events.end(), startsBefore);
    const OwnTimes own(events, static_cast<std::size_t>(1 + below(9)));
    auto whole = ownBetween(events, 0, 200);
    for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(own.of(i), whole[i]) << round;
    for (Nanoseconds time = -1; time < 170; time += 3) {
      auto expected = ownBetween(events, 0, time);
      std::map<std::size_t, Nanoseconds> found;
      for (const auto& [event, before] : own.before(events, time)) found[event] = before;
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].begin >= time || events[i].end <= time) continue;
        ASSERT_TRUE(found.contains(i)) << round << " " << time;
        EXPECT_EQ(found[i], expected[i]) << round << " " << time;
      }
    }
  }
}

}  // namespace
}  // namespace pipetrace
