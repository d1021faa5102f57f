// Ranks that are slow in some of a few steps. What changes from step to step is the device: layers
// stay the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "analysis/causes/slower_than_others.h"
#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAreArray;

/// Three ranks of a stage each, 8 micro-batches; rank 2's jobs take `factor` times as long in the
/// steps `slow`. Jobs vary by `variation`, and one of each step on rank 1 is 10 times as long.
Timeline runOf(int steps, double factor, const std::set<int>& slow, double variation) {
  HandMadeTimeline made;
  std::mt19937 random(4);  // NOLINT: the same run every time
  std::normal_distribution<double> normal;
  for (const int rank : {0, 1, 2}) {
    for (int step = 0; step < steps; ++step) {
      Nanoseconds begin = step * 100 * kNsPerMs;
      for (int m = 0; m < 8; ++m) {
        double length = 1e6 * std::exp(variation * normal(random));
        if (rank == 2 && slow.contains(step)) length *= factor;
        if (rank == 1 && m == step % 8) length *= 10;
        const auto ends = begin + std::llround(length);
        made.add(rank, JobKind::kForward, begin, ends, step, m).stage = rank;
        begin = ends;
      }
    }
    made.timeline.ranks[rank] = {.rank = rank, .numStages = 3};
  }
  made.timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(made.timeline, diagnostics);
  return std::move(made.timeline);
}

SlowerRanks ranksOf(const Timeline& timeline) {
  return {JobGraph(timeline, topologyOf(timeline)), {}};
}

TEST(SlowerRanks, ThatAreSlowInSomeOfAFewStepsHaveThese) {
  for (const auto& [steps, slow] :
       {std::pair(5, std::set{3, 4}), std::pair(4, std::set{1}), std::pair(9, std::set{1, 4, 8})}) {
    const SlowerRanks ranks = ranksOf(runOf(steps, 1.12, slow, 0.005));
    ASSERT_TRUE(ranks.of(2).change) << steps;
    EXPECT_EQ(ranks.of(2).change->first, *slow.begin());
    EXPECT_EQ(ranks.of(2).change->last, *slow.rbegin());
    const bool areApart = slow.size() == 3;
    EXPECT_THAT(ranks.of(2).change->apart, ElementsAreArray(areApart ? slow : std::set<int>{}));
    EXPECT_EQ(ranks.of(2).change->isLastOfRun, slow.contains(steps - 1));
    EXPECT_NEAR(ranks.of(2).change->factor, 1.12, 0.01);
    EXPECT_FALSE(ranks.isSlow(0));
    EXPECT_FALSE(ranks.isSlow(1)) << "one long job is no long step";
  }
}

TEST(SlowerRanks, ThatVaryAsMuchAsTheyAreSlowerInSomeStepsHaveNoChange) {
  EXPECT_FALSE(ranksOf(runOf(5, 1.12, {3, 4}, 0.15)).of(2).change);
  EXPECT_FALSE(ranksOf(runOf(5, 1.02, {3, 4}, 0)).of(2).change) << "too little";
  EXPECT_FALSE(ranksOf(runOf(5, 1.12, {0, 1, 2, 3, 4}, 0.005)).of(2).change) << "in all steps";
  for (const double variation : {0.01, 0.03, 0.1}) {
    const SlowerRanks ranks = ranksOf(runOf(12, 1, {}, variation));
    for (const int rank : {0, 1, 2}) EXPECT_FALSE(ranks.of(rank).change) << variation;
  }
}

}  // namespace
}  // namespace pipetrace
