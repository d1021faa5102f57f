#include "trace/timeline.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "trace/diagnostic.h"
#include "trace/text/display_name.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;

TEST(TimelineTest, AnEventFitsACacheLine) { EXPECT_LE(sizeof(Event), 64U); }

TEST(TimelineTest, TracksAreOrderedByRankAndComputeFirst) {
  Timeline t;
  for (const char* lane : {"send", "bubbles", "compute", "recv"}) t.track(1, lane);
  t.track(0, "compute");
  t.sort();
  std::vector<std::string> order;
  for (const Track& track : t.tracks) order.push_back(std::to_string(track.rank) + track.lane);
  EXPECT_THAT(order, ElementsAre("0compute", "1compute", "1bubbles", "1recv", "1send"));
  EXPECT_EQ(t.ranks.size(), 2U);
}

TEST(TimelineTest, StringsAreStoredOnceAndSurviveCopyAndMove) {
  Timeline t;
  const StringId a = t.strings.intern("a name longer than any small-string buffer would hold");
  EXPECT_EQ(t.strings.intern("a name longer than any small-string buffer would hold"), a);
  EXPECT_EQ(t.strings[0], "");
  const Timeline copy = t;
  Timeline moved = std::move(t);
  EXPECT_EQ(copy.strings[a], moved.strings[a]);
  EXPECT_EQ(moved.strings.intern(copy.strings[a]), a);
}

TEST(TimelineTest, ArgumentsBelongToTheirEvent) {
  Timeline t;
  Event first;
  Event second;
  const Argument bytes = Argument::ofInteger(t.strings.intern("bytes"), 4096);
  const Argument loss = Argument::ofReal(t.strings.intern("loss"), 0.5);
  t.setArguments(first, std::vector{bytes, loss});
  t.setArguments(second, std::vector{loss});
  ASSERT_EQ(t.argumentsOf(first).size(), 2U);
  EXPECT_EQ(t.argumentsOf(first)[0].integer, 4096);
  ASSERT_EQ(t.argumentsOf(second).size(), 1U);
  EXPECT_EQ(t.argumentsOf(second)[0].real, 0.5);
  EXPECT_TRUE(t.argumentsOf(Event{}).empty());
}

TEST(TimelineTest, EventsOfEqualTimesKeepTheirOrder) {
  std::mt19937 random(8);
  for (int round = 0; round < 200; ++round) {
    Timeline t;
    std::vector<Event>& events = t.track(0, "compute").events;
    for (int i = 0; i < 1 + round; ++i) {
      Event& e = events.emplace_back();
      e.begin = random() % 10;
      e.end = e.begin + random() % 2;
      e.number = i;
    }
    std::vector<Event> expected = events;
    std::stable_sort(expected.begin(), expected.end(), startsBefore);
    t.sort();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(t.tracks[0].events[i].number, expected[i].number);
    }
  }
}

TEST(TimelineTest, ManyTracksAreFoundHoweverTheListWasChanged) {
  Timeline t;
  const auto laneOf = [](int i) { return "lane " + std::to_string(i * 7919 % 500); };
  for (int i = 0; i < 500; ++i) t.track(i % 3, laneOf(i)).events.resize(1);
  const auto expectAll = [&](Timeline& timeline, std::size_t count) {
    for (int i = 0; i < 500; ++i) {
      const Track& track = timeline.track(i % 3, laneOf(i));
      EXPECT_EQ(track.rank, i % 3);
      EXPECT_EQ(track.lane, laneOf(i));
    }
    EXPECT_EQ(timeline.tracks.size(), count);
  };
  expectAll(t, 500);
  t.sort();
  expectAll(t, 500);
  std::erase_if(t.tracks, [](const Track& track) { return track.rank == 1; });
  Timeline copy = t;
  expectAll(t, 500);
  expectAll(copy, 500);
  const Timeline moved = std::move(copy);
  EXPECT_EQ(moved.tracks.size(), 500U);
  copy = Timeline();
  for (int i = 0; i < 100; ++i) copy.track(0, laneOf(i));
  EXPECT_EQ(copy.tracks.size(), 100U);
}

TEST(TimelineTest, TheSpanOfAnEmptyTimelineIsEmpty) {
  EXPECT_EQ(Timeline{}.span().begin, 0);
  EXPECT_EQ(Timeline{}.span().end, 0);
}

TEST(TimelineTest, AMadeUpNameOfAnEarlierVersionIsKnown) {
  const Event late{.kind = JobKind::kBubble, .bubbleClass = BubbleClass::kLateStart};
  EXPECT_TRUE(isFallbackName(late, "bubble late_start"));
  EXPECT_TRUE(isFallbackName(late, "bubble launch"));
  EXPECT_FALSE(isFallbackName(late, "bubble sync"));
  EXPECT_FALSE(isFallbackName({.kind = JobKind::kBubble, .bubbleClass = BubbleClass::kSync},
                              "bubble launch"));
}

TEST(TimelineTest, AMadeUpNameHasTheKindFirstAndNumbersAfterIt) {
  Timeline t;
  Event e;
  e.kind = JobKind::kForward;
  e.microBatch = 3;
  EXPECT_EQ(displayName(t, e), "forward 3");
  EXPECT_EQ(shortName(e), "F3");
  EXPECT_EQ(actionName(e), "F3");
  e.stage = 12;
  EXPECT_EQ(actionName(e), "12F3");
  e.kind = JobKind::kBubble;
  e.bubbleClass = BubbleClass::kWarmUp;
  EXPECT_EQ(displayName(t, e), "bubble warm_up");
  e.kind = JobKind::kOther;
  e.name = t.strings.intern("checkpoint");
  EXPECT_EQ(displayName(t, e), "checkpoint");
}

TEST(DiagnosticsTest, EqualOnesAreCountedAtTheirFirstLine) {
  Diagnostics d;
  d.add({Severity::kWarning, "workerlog.0", 3, "end before start", "fix the clock"});
  d.add({Severity::kWarning, "workerlog.0", 9, "end before start", "fix the clock"});
  d.add({Severity::kNote, "workerlog.1", 0, "cut off", ""});
  ASSERT_EQ(d.list().size(), 2U);
  EXPECT_EQ(toText(d.list()[0]),
            "workerlog.0:3: warning: end before start (2 times); fix the clock");
  EXPECT_EQ(toText(d.list()[1]), "workerlog.1: note: cut off");
  EXPECT_TRUE(d.hasFindings());
}

}  // namespace
}  // namespace pipetrace
