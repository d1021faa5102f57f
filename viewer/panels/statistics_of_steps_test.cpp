#include <gtest/gtest.h>

#include "analysis/present/class_times.h"
#include "analysis/run_summary.h"
#include "analysis/testing/run_of_timeline.h"
#include "chart/statistics/area_sums.h"
#include "chart/testing/timelines.h"

namespace pipetrace {
namespace {

/// A completed run as pipe-trace reports it.
struct ReportedRun {
  explicit ReportedRun(const TestRun& run) : timeline(makeTestTimeline(run)) {
    Diagnostics diagnostics;
    completeTimeline(timeline, diagnostics);
    summary = summarize(timeline);
    addBubbles(timeline);
  }

  Timeline timeline;
  RunSummary summary;
};

AreaSums sumsOfStep(const ReportedRun& run, const ChartModel& model, const StepSummary& step,
                    int rank) {
  ChartArea area{{step.begin, step.windowEnd}, {}};
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    if (model.rows()[row].rank == rank) area.rows.push_back(row);
  }
  const StatisticsIndex index(run.timeline, 2);
  return sumsOf(index, tracksOf(model, area), 2, std::atomic<bool>{false});
}

TEST(StatisticsOfStepsTest, AStepIsAsBusyAndIdleAsTheReportSays) {
  const ReportedRun run({.ranks = 4, .microBatches = 7, .steps = 3});
  const ChartModel model(run.timeline);
  ASSERT_EQ(run.summary.steps.size(), 3U);
  for (const StepSummary& step : run.summary.steps) {
    for (const RankStep& rank : step.ranks) {
      const AreaSums sums = sumsOfStep(run, model, step, rank.rank);
      EXPECT_EQ(sums.busy, rank.busy) << "step " << step.step << " rank " << rank.rank;
      EXPECT_EQ(sums.idle, rank.idle) << "step " << step.step << " rank " << rank.rank;
      Nanoseconds work = 0;
      for (const StatisticsLine& line : linesOf(sums, StatisticsBy::kKind)) {
        if (isCompute(static_cast<JobKind>(line.line))) work += line.sums.inside;
      }
      EXPECT_EQ(work, rank.busy) << "no jobs overlap";
    }
  }
}

TEST(StatisticsOfStepsTest, TheRunHasTheReportsIdleTimeOfEachClass) {
  const ReportedRun run({.ranks = 4, .microBatches = 5, .steps = 4});
  const ChartModel model(run.timeline);
  ChartArea area{model.span(), {}};
  for (std::size_t row = 0; row < model.rows().size(); ++row) area.rows.push_back(row);
  const StatisticsIndex index(run.timeline, 2);
  const AreaSums sums = sumsOf(index, tracksOf(model, area), 2, std::atomic<bool>{false});
  ClassTimes expected{};
  for (const auto& [rank, times] : classTimesOf(run.timeline)) {
    for (std::size_t c = 0; c < times.size(); ++c) expected[c] += times[c];
  }
  ClassTimes found{};
  for (const StatisticsLine& line : linesOf(sums, StatisticsBy::kBubbleClass)) {
    found[static_cast<std::size_t>(line.line)] = line.sums.inside;
  }
  EXPECT_EQ(found, expected);
  EXPECT_GT(expected[static_cast<std::size_t>(BubbleClass::kWarmUp)], 0) << "bubbles have classes";
  Nanoseconds idle = 0;
  for (const RankSummary& rank : run.summary.ranks) idle += rank.idle;
  EXPECT_EQ(sums.idle, idle);
}

}  // namespace
}  // namespace pipetrace
