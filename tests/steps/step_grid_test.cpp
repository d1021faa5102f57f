// The shares of a whole run's picture are those of the summary, to the nanosecond.
#include "chart/steps/step_grid.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "analysis/testing/run_of_timeline.h"
#include "chart/testing/timelines.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

/// A run whose ranks are late in many ways, with its bubbles.
Timeline oddRun(const char* schedule, int steps) {
  Costs costs = Costs::equal(8, {.forward = 10'123'457,
                                 .backward = 20'654'321,
                                 .backwardInput = 11'000'003,
                                 .backwardWeight = 9'654'318});
  costs.transfer = 345'678;
  costs.lr = 100'001;
  costs.optimizer = 4'000'003;
  costs.stages[2].forward = 14'000'017;
  costs.faults.links.push_back({.rank = 1, .peer = 2, .transfer = 3'000'029});
  const PlanSize size{.ranks = 4, .microBatches = 8};
  const CheckedPlan plan(buildSchedule(schedule, size));
  Timeline run = simulate(plan, costs, {.steps = steps, .begin = 1'000'000}).timeline;
  addBubbles(run);
  return run;
}

/// The bubbles of a rank inside a stretch of time, added one by one.
ClassTimes bubblesIn(const Timeline& run, int rank, Nanoseconds begin, Nanoseconds end) {
  ClassTimes times{};
  for (const Event& bubble : run.findTrack(rank, kBubbleLane)->events) {
    const Nanoseconds from = std::max(bubble.begin, begin);
    const Nanoseconds to = std::min(bubble.end, end);
    if (to > from) times[static_cast<std::size_t>(bubble.bubbleClass)] += to - from;
  }
  return times;
}

TEST(StepGridTest, SharesAreThoseOfTheSummaryForEverySchedule) {
  for (const char* schedule : {"1F1B", "FThenB", "ZB-H1", "Interleaved1F1B"}) {
    const Timeline run = oddRun(schedule, 5);
    const RunSummary summary = summarize(run);
    const StepGrid grid = stepGridOf(run, 1);
    ASSERT_EQ(grid.columns.size(), summary.steps.size()) << schedule;
    for (std::size_t i = 0; i < grid.columns.size(); ++i) {
      const StepSummary& step = summary.steps[i];
      const StepGrid::Column& column = grid.columns[i];
      EXPECT_EQ(column.first, step.step);
      EXPECT_EQ(column.longest, step.duration());
      EXPECT_DOUBLE_EQ(column.all.bubbleRatio(), step.bubbleRatio) << schedule;
      ASSERT_EQ(column.ranks.size(), step.ranks.size());
      for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const StepShares& shares = column.ranks[r];
        EXPECT_EQ(shares.busyTime(), step.ranks[r].busy);
        EXPECT_EQ(std::accumulate(shares.idle.begin(), shares.idle.end(), Nanoseconds{0}),
                  step.ranks[r].idle);
        EXPECT_EQ(shares.idle, bubblesIn(run, step.ranks[r].rank, step.begin, step.windowEnd));
      }
    }
  }
}

TEST(StepGridTest, AColumnOfSeveralStepsHasTheirSums) {
  const Timeline run = oddRun("1F1B", 7);
  const RunSummary summary = summarize(run);
  const StepGrid grid = stepGridOf(run, 3);
  ASSERT_EQ(grid.columns.size(), 3U);
  EXPECT_EQ(grid.columns[2].steps, 1);
  std::map<int, Nanoseconds> busy;
  for (std::size_t i = 0; i < 3; ++i) {
    for (const RankStep& rank : summary.steps[i].ranks) busy[rank.rank] += rank.busy;
  }
  for (std::size_t r = 0; r < grid.ranks.size(); ++r) {
    EXPECT_EQ(grid.columns[0].ranks[r].busyTime(), busy.at(grid.ranks[r]));
  }
}

TEST(StepGridTest, EachReplicaHasItsOwnWindows) {
  Timeline run = makeTestTimeline({.ranks = 2, .steps = 3, .hasBubbles = false});
  const Timeline other =
      makeTestTimeline({.ranks = 2, .steps = 3, .forward = 17 * kNsPerMs, .hasBubbles = false});
  for (const Track& track : other.tracks) {
    run.track(track.rank + 2, track.lane).events = track.events;
    run.ranks[track.rank + 2] = other.ranks.at(track.rank);
  }
  for (auto& [rank, info] : run.ranks) info.dataParallelIndex = rank / 2;
  for (Track& track : run.tracks) {
    for (Event& event : track.events) {
      if (event.peer >= 0 && track.rank >= 2) event.peer += 2;
    }
  }
  run.sort();
  const RunSummary summary = summarize(run);
  const StepGrid grid = stepGridOf(run, 1);
  ASSERT_EQ(summary.steps.size(), 6U);
  ASSERT_EQ(grid.columns.size(), 3U);
  for (const StepSummary& step : summary.steps) {
    const StepGrid::Column& column = grid.columns[static_cast<std::size_t>(step.step)];
    EXPECT_GE(column.longest, step.duration());
    for (const RankStep& rank : step.ranks) {
      const StepShares& shares = column.ranks[static_cast<std::size_t>(rank.rank)];
      EXPECT_EQ(shares.busyTime(), rank.busy) << "rank " << rank.rank;
      EXPECT_EQ(shares.window, step.window());
      EXPECT_EQ(shares.idle[static_cast<std::size_t>(BubbleClass::kNone)], rank.idle);
    }
  }
}

}  // namespace
}  // namespace pipetrace
