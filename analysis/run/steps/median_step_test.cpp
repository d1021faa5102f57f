#include "analysis/run/steps/median_step.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

/// A run of one rank with a forward in each step, at these times.
RunSummary runOf(const std::vector<std::pair<Nanoseconds, Nanoseconds>>& spans, int pipelines = 1) {
  HandMadeTimeline made;
  for (int rank = 0; rank < pipelines; ++rank) {
    made.timeline.ranks[rank] = {.rank = rank, .dataParallelIndex = rank};
    for (std::size_t step = 0; step < spans.size(); ++step) {
      const auto& [begin, end] = spans[step];
      made.add(rank, JobKind::kForward, begin, end + rank, static_cast<std::int32_t>(step));
    }
  }
  return summarize(made.timeline);
}

TEST(MedianStep, IsOfWindowsWhereSpansReachIntoTheNextStep) {
  // Spans of 30, 20 and 16; the first window ends where step 1 begins.
  const MedianStep median = medianStepOf(runOf({{0, 30}, {10, 30}, {30, 46}}), {});
  EXPECT_EQ(median.window, 16);
  EXPECT_EQ(median.step, 2);
  EXPECT_EQ(median.count, 3U);
}

TEST(MedianStep, IsBetweenTheMiddleTwoOfAnEvenCountAndNamesTheShorter) {
  const MedianStep median = medianStepOf(runOf({{0, 10}, {20, 45}, {50, 64}, {70, 101}}), {});
  EXPECT_EQ(median.window, 19) << "between 14 and 25, rounded down";
  EXPECT_EQ(median.step, 2);
}

TEST(MedianStep, HasTheWallTimeFromBeginToBegin) {
  // From begin to begin: 20, 30 and 20. Nothing follows the last one, of 100.
  const MedianStep median = medianStepOf(runOf({{0, 10}, {20, 45}, {50, 64}, {70, 170}}), {});
  EXPECT_EQ(median.between, 6) << "of 10, 5 and 6";
  EXPECT_TRUE(median.hasPauses());
  EXPECT_EQ(median.wall, 25) << "between 20 and 30, as the last one takes 106";
  EXPECT_EQ(medianStepOf(runOf({{0, 10}}), {}).wall, std::nullopt);
  EXPECT_EQ(medianStepOf(runOf({{0, 30}, {10, 30}}), {}).wall, 15)
      << "of 10 and 20: steps run into each other";
}

// Pipeline 1 begins each step 30 later than pipeline 0, whose steps are as long as those of both.
TEST(MeanStep, IsOfAllPipelinesTogether) {
  RunSummary run = runOf({{0, 99}, {100, 199}, {210, 319}}, 2);
  for (StepWindow& step : run.steps) {
    if (step.replica == 1) step.begin += 30;
  }
  const MeanStep mean = meanStepOf(run, {});
  EXPECT_DOUBLE_EQ(mean.window, (100 + 100 + 110) / 3.0) << "rank 1 ends 1 later";
  ASSERT_TRUE(mean.wall);
  EXPECT_DOUBLE_EQ(*mean.wall, (100 + 110) / 2.0);
  EXPECT_EQ(meanStepOf(runOf({{0, 10}}), {}).wall, std::nullopt);
}

// One pipeline loads data before each step, for 30 of 100, in which the other has begun to wait.
TEST(MedianStep, IsPaidAsWallTimeWhereOnePipelineLoadsDataWhileAnotherWaits) {
  RunSummary run = runOf({{0, 99}, {100, 199}, {200, 299}}, 2);
  for (StepWindow& step : run.steps) {
    if (step.replica == 0) continue;
    step.begin += 30;
    step.betweenSteps += 30;
  }
  const MedianStep median = medianStepOf(run, {});
  EXPECT_EQ(median.window, (99 + 70) / 2) << "no step takes so long";
  EXPECT_EQ(median.wall, 100);
  EXPECT_TRUE(median.hasPauses());
  EXPECT_EQ(median.paid(), 100);
}

TEST(MedianStep, NamesTheFirstOfStepsThatAreAsLong) {
  EXPECT_EQ(medianStepOf(runOf({{0, 9}, {10, 20}, {20, 30}, {30, 40}}), {}).step, 1);
}

TEST(MedianStep, LeavesOutStepsThatDoNotCountOrLackJobs) {
  const RunSummary run = runOf({{0, 100}, {100, 110}, {110, 124}, {130, 148}, {150, 151}});
  const std::vector<CountedSteps::Step> steps = {
      {0, 100}, {1, 10}, {2, 14}, {3, 18}, {4, 1, false}};
  const MedianStep median = medianStepOf(run, CountedSteps({}, steps));
  EXPECT_EQ(median.window, 14) << "of 10, 14 and 18";
  EXPECT_EQ(median.count, 3U);
  const MedianStep chosen = medianStepOf(run, CountedSteps({{3, 5}}, steps));
  EXPECT_EQ(chosen.window, 9) << "of 18 and 1, as these were asked for";
}

TEST(MedianStep, HasAValueForEachWindowOfSeveralPipelines) {
  // 10, 11, 20, 21, 40 and 41.
  const MedianStep median = medianStepOf(runOf({{0, 10}, {50, 70}, {100, 140}}, 2), {});
  EXPECT_EQ(median.window, 20);
  EXPECT_EQ(median.step, 1);
  EXPECT_EQ(median.count, 3U) << "a step of two pipelines is one";
}

TEST(MedianStep, IsZeroWithoutSteps) {
  EXPECT_EQ(medianStepOf(RunSummary(), {}).window, 0);
  EXPECT_EQ(medianStepOf(RunSummary(), {}).step, kNotGiven);
}

}  // namespace
}  // namespace pipetrace
