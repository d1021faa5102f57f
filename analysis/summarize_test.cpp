#include <gtest/gtest.h>

#include <numeric>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using enum JobKind;

RunSummary summaryOf(Timeline& timeline) {
  timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return summarize(timeline);
}

//  rank 0: lr 0-5  F 10-20        B 40-60  optimizer 60-70
//  rank 1:             F 22-30 B 30-38
TEST(Summarize, StepGoesFromFirstComputeStartToLastComputeOrOptimizerEnd) {
  HandMadeTimeline made;
  made.add(0, kLr, 0, 5, 3);
  made.add(0, kForward, 10, 20, 3);
  made.add(0, kBackward, 40, 60, 3);
  made.add(0, kOptimizer, 60, 70, 3);
  made.add(1, kForward, 22, 30, 3);
  made.add(1, kBackward, 30, 38, 3);
  const RunSummary summary = summaryOf(made.timeline);
  ASSERT_EQ(summary.steps.size(), 1U);
  const StepSummary& step = summary.steps[0];
  EXPECT_EQ(step.step, 3);
  EXPECT_EQ(step.begin, 10);
  EXPECT_EQ(step.end, 70);
  EXPECT_EQ(step.windowEnd, 70);
  EXPECT_EQ(step.betweenSteps, 0);
  ASSERT_EQ(step.ranks.size(), 2U);
  EXPECT_EQ(step.ranks[0].busy, 30);
  EXPECT_EQ(step.ranks[0].idle, 30);
  EXPECT_EQ(step.ranks[1].busy, 16);
  EXPECT_EQ(step.ranks[1].idle, 44);
  EXPECT_DOUBLE_EQ(step.bubbleRatio, 74.0 / 120);
  // Rank 0 spans the most, 10-60, and works 30 of it.
  EXPECT_DOUBLE_EQ(step.spanBubble, 20.0 / 50);
}

//  rank 0: F 0-10   B 30-50        F 50-60    B 80-100
//  rank 1:    F 10-20 B 20-30 F 32-40   F... : its second step begins while the first one lasts
TEST(Summarize, RankThatIsAlreadyInTheNextStepIsNotIdle) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  made.add(0, kBackward, 30, 50, 0);
  made.add(1, kForward, 10, 20, 0);
  made.add(1, kBackward, 20, 30, 0);
  made.add(1, kForward, 32, 40, 1);
  made.add(0, kForward, 50, 60, 1);
  made.add(1, kBackward, 60, 70, 1);
  made.add(0, kBackward, 80, 100, 1);
  const RunSummary summary = summaryOf(made.timeline);
  ASSERT_EQ(summary.steps.size(), 2U);
  const StepSummary& first = summary.steps[0];
  EXPECT_EQ(first.end, 50);
  EXPECT_EQ(first.windowEnd, 32);
  EXPECT_EQ(first.duration(), 50);
  EXPECT_EQ(first.window(), 32);
  EXPECT_EQ(first.betweenSteps, 0);
  EXPECT_EQ(first.ranks[0].busy, 12);  // 0-10 and 30-32
  EXPECT_EQ(first.ranks[1].busy, 20);
  const StepSummary& second = summary.steps[1];
  EXPECT_EQ(second.begin, 32);
  EXPECT_EQ(second.ranks[0].busy, 18 + 10 + 20);  // the rest of its first step's backward counts
  EXPECT_EQ(second.ranks[1].busy, 18);
}

TEST(Summarize, AnOptimizerThatComesFirstDoesNotBeginTheStep) {
  HandMadeTimeline made;
  made.add(0, kOptimizer, 0, 5, 0);
  made.add(0, kForward, 10, 20, 0);
  EXPECT_EQ(summaryOf(made.timeline).steps[0].begin, 10);
}

TEST(Summarize, TimeBetweenStepsBelongsToNoWindow) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  made.add(0, kBackward, 10, 30, 0);
  made.add(0, kForward, 100, 110, 1);
  made.add(0, kBackward, 115, 130, 1);
  const RunSummary summary = summaryOf(made.timeline);
  EXPECT_EQ(summary.steps[0].betweenSteps, 70);
  EXPECT_EQ(summary.steps[1].betweenSteps, 0);
  EXPECT_EQ(summary.ranks[0].busy, 55);
  EXPECT_EQ(summary.ranks[0].idle, 5);
  EXPECT_DOUBLE_EQ(summary.bubbleRatio, 5.0 / 60);
}

TEST(Summarize, OverlappingJobsCountOnce) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 40, 0, 2);
  made.add(0, kForward, 5, 10, 0, 3);
  made.add(0, kBackward, 50, 60, 0, 3);
  const RunSummary summary = summaryOf(made.timeline);
  EXPECT_EQ(summary.ranks[0].busy, 50);
  EXPECT_EQ(summary.ranks[0].idle, 10);
}

TEST(Summarize, TransfersAndEarlierBubblesAreNoWork) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  made.add(0, kBackward, 30, 40, 0);
  made.add(0, kSendForward, 10, 20, 0, 0, kSendLane);
  made.add(0, kBubble, 10, 30, 0, -1, kBubbleLane);
  EXPECT_EQ(summaryOf(made.timeline).ranks[0].busy, 20);
}

TEST(Summarize, RankWithoutAJobInAStepIsIdleInIt) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  made.add(1, kForward, 0, 10, 0);
  made.add(0, kForward, 20, 30, 1);
  const RunSummary summary = summaryOf(made.timeline);
  ASSERT_EQ(summary.steps[1].ranks.size(), 2U);
  EXPECT_EQ(summary.steps[1].ranks[1].idle, 10);
}

TEST(Summarize, ReplicasHaveStepsOfTheirOwn) {
  HandMadeTimeline made;
  for (const int rank : {0, 1, 2, 3}) {
    const Nanoseconds late = rank < 2 ? 0 : 1000;
    made.add(rank, kForward, late, late + 10, 0);
    RankInfo& info = made.timeline.ranks[rank];
    info.numStages = 2;
    info.numChunks = 1;
    info.dataParallelIndex = rank / 2;
  }
  const RunSummary summary = summaryOf(made.timeline);
  ASSERT_EQ(summary.steps.size(), 2U);
  EXPECT_EQ(summary.steps[0].replica, 0);
  EXPECT_EQ(summary.steps[1].replica, 1);
  EXPECT_EQ(summary.steps[0].window(), 10);
  EXPECT_EQ(summary.steps[1].begin, 1000);
  EXPECT_EQ(summary.ranks[3].replica, 1);
  EXPECT_FALSE(summary.topologyInferred);
}

TEST(Summarize, RunWithoutComputeJobsHasNoSteps) {
  HandMadeTimeline made;
  made.add(0, kLr, 0, 10, 0);
  made.add(0, kOptimizer, 10, 20, 0);
  const RunSummary summary = summaryOf(made.timeline);
  EXPECT_TRUE(summary.steps.empty());
  EXPECT_TRUE(summary.ranks.empty());
  EXPECT_EQ(summary.bubbleRatio, 0);
  Timeline empty;
  EXPECT_TRUE(summaryOf(empty).steps.empty());
}

TEST(Summarize, JobAtTheZeroOfItsClockAmongEpochTimesOverflowsNothing) {
  constexpr Nanoseconds kNow = 1'697'793'307'213'760'986;
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  for (int rank = 0; rank < 64; ++rank) made.add(rank, kBackward, kNow, kNow + 10, 0);
  const RunSummary summary = summaryOf(made.timeline);
  EXPECT_EQ(summary.ranks[63].idle, kNow);
  EXPECT_DOUBLE_EQ(summary.bubbleRatio, 1);
}

TEST(Summarize, JobsWithoutDurationLeaveARatioOfZero) {
  HandMadeTimeline made;
  made.add(0, kForward, 10, 10, 0);
  const RunSummary summary = summaryOf(made.timeline);
  EXPECT_EQ(summary.bubbleRatio, 0);
  EXPECT_EQ(summary.steps[0].spanBubble, 0);
}

/// idle / (busy + idle) = (p - 1) / (m + p - 1), in whole numbers.
TEST(Summarize, BubbleRatioOfSimulatedPlansEqualsItsFormula) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 16; ++m) {
      for (const char* const name : {"FThenB", "GPipe", "1F1B"}) {
        Simulation run =
            simulate(buildSchedule(name, p, m), Costs::equal(p, {1'000'003, 2'000'029}),
                     {.steps = 3, .begin = 5, .stepsStartTogether = true});
        const RunSummary summary = summaryOf(run.timeline);
        ASSERT_EQ(summary.steps.size(), 3U);
        for (const StepSummary& step : summary.steps) {
          Nanoseconds idle = 0;
          for (const RankStep& rank : step.ranks) {
            ASSERT_EQ(rank.busy + rank.idle, step.window());
            idle += rank.idle;
          }
          ASSERT_EQ(idle * (m + p - 1), (p - 1) * (p * step.window())) << "p=" << p << " m=" << m;
          ASSERT_DOUBLE_EQ(step.bubbleRatio, (p - 1.0) / (m + p - 1));
        }
        ASSERT_DOUBLE_EQ(summary.bubbleRatio, (p - 1.0) / (m + p - 1));
        ASSERT_FALSE(summary.topologyInferred);
      }
    }
  }
}

TEST(Summarize, SpanBubbleOfSimulated1F1BIsThatOfItsLongestRank) {
  Simulation run = simulate(buildSchedule("1F1B", 4, 8), Costs::equal(4, {1, 2}));
  // Rank 0 spans all 33 and works 24.
  EXPECT_DOUBLE_EQ(summaryOf(run.timeline).steps[0].spanBubble, 9.0 / 33);
}

TEST(Summarize, OptimizerAndLrAreInsideTheWindowButAreNoWork) {
  Costs costs = Costs::equal(4, {10, 20});
  costs.lr = 1;
  costs.optimizer = 5;
  Simulation run = simulate(buildSchedule("1F1B", 4, 8), costs);
  const RunSummary summary = summaryOf(run.timeline);
  EXPECT_EQ(summary.steps[0].begin, 1);
  EXPECT_EQ(summary.steps[0].duration(), 330 + 5);
  for (const RankStep& rank : summary.steps[0].ranks) EXPECT_EQ(rank.busy, 240);
}

}  // namespace
}  // namespace pipetrace
