#include "analysis/run/clocks/wrong_clocks.h"

#include <gmock/gmock.h>

#include "analysis/run/clocks/alignment.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Nanoseconds kBegin = 1'697'793'307'213'760'986;

Timeline simulatedRun() {
  const Costs costs = Costs::equal(2, {.forward = kNsPerMs, .backward = 2 * kNsPerMs});
  return simulate(buildSchedule("1F1B", 2, 4), costs, {.steps = 300, .begin = kBegin}).timeline;
}

TEST(ClockSkewTest, DriftCountsFromTheStartOfTheRun) {
  const ClockSkew skew{.offset = 5 * kNsPerMs, .drift = 20'000};
  EXPECT_EQ(skew.after(0), 5 * kNsPerMs);
  EXPECT_EQ(skew.after(kNsPerSecond), 5 * kNsPerMs + 20'000);
  EXPECT_EQ(skew.after(86'400 * kNsPerSecond), 5 * kNsPerMs + 1'728'000'000) << "a day";
  EXPECT_EQ(skew.after(-1), 5 * kNsPerMs - 1) << "rounded down";
}

TEST(WrongClocksTest, EachRankLogsItsHostsClock) {
  const Timeline right = simulatedRun();
  const Timeline logged =
      loggedByHosts(right, {{"left", {}}, {"right", {-5 * kNsPerMs, 20'000}}}, false);
  EXPECT_EQ(logged.ranks.at(0).host, "left");
  EXPECT_EQ(logged.ranks.at(1).host, "right");
  const std::vector<Event>& before = right.findTrack(1, kComputeLane)->events;
  const std::vector<Event>& after = logged.findTrack(1, kComputeLane)->events;
  ASSERT_EQ(after.size(), before.size());
  // Rank 1's first job begins when rank 0's first has ended.
  EXPECT_EQ(before.front().begin, kBegin + kNsPerMs);
  EXPECT_EQ(after.front().begin, kBegin + kNsPerMs - 5 * kNsPerMs + 20);
  const Nanoseconds passed = before.back().end - kBegin;
  EXPECT_EQ(after.back().end, before.back().end - 5 * kNsPerMs + passed / 50'000);
  EXPECT_EQ(logged.findTrack(0, kComputeLane)->events.back().end,
            right.findTrack(0, kComputeLane)->events.back().end);
  EXPECT_THAT(logged.ranks.at(1).clockReadings, IsEmpty());
}

TEST(WrongClocksTest, ComparisonsOfTheClocksMakeTheRunRightAgain) {
  const Timeline right = simulatedRun();
  // Rank 0's clock is wrong, too: the run is then right in that clock.
  const std::vector<MadeUpHost> hosts = {{"left", {kNsPerMs, -30'000}}, {"right", {-9, 20'000}}};
  const Timeline logged = loggedByHosts(right, hosts, true);
  EXPECT_THAT(logged.ranks.at(0).clockReadings, IsEmpty());
  ASSERT_THAT(logged.ranks.at(1).clockReadings, SizeIs(2));
  EXPECT_EQ(logged.ranks.at(1).clockReadings[0].when, kBegin - 9);
  EXPECT_EQ(logged.ranks.at(1).clockReadings[0].offset, kNsPerMs + 9);
  Diagnostics diagnostics;
  const Timeline aligned = alignedByLog(logged, diagnostics);
  const Timeline inRankZeros = loggedByHosts(right, {hosts[0], hosts[0]}, false);
  for (const Track& track : inRankZeros.tracks) {
    const std::vector<Event>& events = aligned.findTrack(track.rank, track.lane)->events;
    ASSERT_EQ(events.size(), track.events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_LE(std::abs(events[i].begin - track.events[i].begin), 2);
      EXPECT_LE(std::abs(events[i].end - track.events[i].end), 2);
    }
  }
}

}  // namespace
}  // namespace pipetrace
