#include "analysis/causes/slow_optimizers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum JobKind;

constexpr int kSteps = 3;

/// A pipeline of three ranks with one micro-batch a step: forwards of 10 ms, backwards of 20 ms,
/// and optimizers of `updates`, by rank. Each job begins as soon as it can.
Timeline runOfUpdates(const std::vector<Nanoseconds>& updates) {
  HandMadeTimeline made;
  const int ranks = static_cast<int>(updates.size());
  std::vector<Nanoseconds> free(updates.size(), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    made.timeline.ranks[rank].numStages = ranks;
    made.timeline.ranks[rank].worldSize = ranks;
  }
  Nanoseconds ready = 0;
  const auto run = [&](int rank, JobKind kind, Nanoseconds length, int step) {
    Nanoseconds& own = free[static_cast<std::size_t>(rank)];
    const Nanoseconds begin = std::max(own, kind == kOptimizer ? own : ready);
    made.add(rank, kind, begin, begin + length, step, 0).stage = rank;
    own = begin + length;
    if (kind != kOptimizer) ready = own;
  };
  for (int step = 0; step < kSteps; ++step) {
    ready = 0;
    for (int rank = 0; rank < ranks; ++rank) run(rank, kForward, 10 * kNsPerMs, step);
    for (int rank = ranks - 1; rank >= 0; --rank) run(rank, kBackward, 20 * kNsPerMs, step);
    for (int rank = 0; rank < ranks; ++rank) {
      run(rank, kOptimizer, updates[static_cast<std::size_t>(rank)], step);
    }
  }
  made.timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(made.timeline, diagnostics);
  return std::move(made.timeline);
}

/// Two pipelines of two ranks with one micro-batch a step, which add up the gradients of each stage
/// behind its backward, in 5 ms. Each job begins 0.1 ms after it could.
Timeline runOfReplicas(const std::vector<Nanoseconds>& updates) {
  constexpr Nanoseconds kLaunch = kNsPerMs / 10;
  HandMadeTimeline made;
  for (int rank = 0; rank < 4; ++rank) {
    RankInfo& info = made.timeline.ranks[rank];
    info.dataParallelIndex = rank / 2;
    info.numStages = 2;
    info.worldSize = 4;
  }
  std::vector<Nanoseconds> free(4, 0);
  const auto run = [&](int rank, JobKind kind, Nanoseconds length, int step, Nanoseconds ready) {
    Nanoseconds& own = free[static_cast<std::size_t>(rank)];
    const Nanoseconds begin = std::max(own, ready) + kLaunch;
    own = begin + length;
    made.add(rank, kind, begin, own, step, 0).stage = rank % 2;
    return own;
  };
  for (int step = 0; step < 2 * kSteps; ++step) {
    for (const int first : {0, 2}) {
      Nanoseconds ready = run(first, kForward, 10 * kNsPerMs, step, 0);
      ready = run(first + 1, kForward, 10 * kNsPerMs, step, ready);
      ready = run(first + 1, kBackward, 20 * kNsPerMs, step, ready);
      run(first, kBackward, 20 * kNsPerMs, step, ready);
    }
    for (const std::size_t stage : {0U, 1U}) {
      const Nanoseconds end = std::max(free[stage], free[stage + 2]) + 5 * kNsPerMs;
      for (const std::size_t rank : {stage, stage + 2}) {
        made.add(static_cast<int>(rank), kAllReduce, free[rank], end, step, -1, "nccl");
        free[rank] = end;
        run(static_cast<int>(rank), kOptimizer, updates[rank], step, 0);
      }
    }
  }
  made.timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(made.timeline, diagnostics);
  return std::move(made.timeline);
}

/// Their bubbles do not outlive the run, and are left out.
std::vector<SlowOptimizer> slowOnesOf(const std::vector<Nanoseconds>& updates) {
  const auto run = asRun(runOfUpdates(updates));
  std::vector<SlowOptimizer> found = slowOptimizersOf(run, {});
  for (SlowOptimizer& each : found) each.bubbles.clear();
  return found;
}

TEST(SlowOptimizers, AreNamedWithTheirRankAndWhatTheOthersWait) {
  // Rank 0 ends its step at T and begins the next one at T + 1. Rank 1 has ended its backward at
  // T - 20 and its optimizer at T + 21, and has its input at T + 11: 10 ms earlier. Ranks 0 and 2
  // wait for that in each step but the first.
  const std::vector<Nanoseconds> updates = {kNsPerMs, 41 * kNsPerMs, kNsPerMs};
  const std::vector<SlowOptimizer> found = slowOnesOf(updates);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_EQ(found[0].length, 41 * kNsPerMs);
  EXPECT_EQ(found[0].others, kNsPerMs);
  EXPECT_EQ(found[0].time, (kSteps - 1) * 2 * 10 * kNsPerMs);

  const Timeline timeline = runOfUpdates(updates);
  const ExplainedRun explained = explainRun(timeline, {});
  const Finding& first = explained.findings.front();
  EXPECT_EQ(first.kind, FindingKind::kSlowOptimizer);
  EXPECT_THAT(findingText(first),
              HasSubstr("the optimizer of rank 1 takes 41.00 ms a step, those of other ranks "
                        "1.000 ms at most"));

  const AdviceList list = adviceOn(asRun(timeline), {});
  const auto advice = std::ranges::find(list.best, Advice::Of::kOptimizer, &Advice::of);
  ASSERT_NE(advice, list.best.end());
  EXPECT_EQ(advice->step, 91 * kNsPerMs) << "the step of optimizers that all take 1 ms";
}

TEST(SlowOptimizers, OfTheFirstRankHoldUpTheStepAfterThem) {
  // Rank 0 ends its backward at T and begins the next step at T + 41, in place of T + 1. Nobody
  // waits for the last optimizer.
  const std::vector<SlowOptimizer> found = slowOnesOf({41 * kNsPerMs, kNsPerMs, kNsPerMs});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 0);
  EXPECT_EQ(found[0].time, (kSteps - 1) * 2 * 40 * kNsPerMs);
}

// Its pipeline begins the next step later, so that the other one waits where they add up gradients.
TEST(SlowOptimizers, HoldUpOtherPipelinesToo) {
  const Timeline timeline = runOfReplicas({41 * kNsPerMs, kNsPerMs, kNsPerMs, kNsPerMs});
  const std::vector<SlowOptimizer> found = slowOptimizersOf(asRun(timeline), {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 0);
  std::set<std::uint32_t> waiting;
  for (const auto& [rank, bubble] : found[0].bubbles) waiting.insert(rank);
  EXPECT_THAT(waiting, ElementsAre(1, 2, 3));
  EXPECT_NEAR(static_cast<double>(found[0].time), (2 * kSteps - 1) * 3 * 40e6, 12e6);
  const ExplainedRun explained = explainRun(timeline, {});
  EXPECT_EQ(explained.findings.front().kind, FindingKind::kSlowOptimizer);
  for (const Finding& each : explained.findings) {
    EXPECT_TRUE(each.isMinor || each.bubbleClass != BubbleClass::kLateStart);
  }
}

TEST(SlowOptimizers, AreNoneWhereNobodyWaitsForThem) {
  EXPECT_THAT(slowOnesOf({kNsPerMs, 31 * kNsPerMs, kNsPerMs}), IsEmpty())
      << "it ends when the input of rank 1 comes";
}

TEST(SlowOptimizers, AreNoneWhereAllTakeAsLong) {
  EXPECT_THAT(slowOnesOf({41 * kNsPerMs, 41 * kNsPerMs, 41 * kNsPerMs}), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
