#include "schedule/check/weight_versions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/builders/builders.h"
#include "schedule/file/schedule_reader.h"

namespace pipetrace {
namespace {

// Narayanan et al. 2019: stage s of p holds p - s versions, and its gradients are p - 1 - s updates
// old once the pipeline is full.
TEST(WeightVersions, PipeDreamHoldsPMinusSVersionsOnStageS) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2 * p; m <= 2 * p + 5; ++m) {
      const WeightVersions versions = weightVersions(pipeDream(p, m));
      for (int s = 0; s < p; ++s) {
        const WeightVersions::Stage& stage = versions.stages[static_cast<std::size_t>(s)];
        ASSERT_EQ(stage.held, p - s) << "p=" << p << " m=" << m << " s=" << s;
        ASSERT_EQ(stage.distance, p - 1 - s);
      }
      ASSERT_EQ(versions.updates.size(), static_cast<std::size_t>(p * m));
    }
  }
}

// A version stays until the last micro-batch that began with it is done. The micro-batches of the
// warm-up share the first version, so enough others have to follow the last of them.
TEST(WeightVersions, PipeDreamHoldsFewerVersionsWhereTheRunEndsTooEarly) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2; m <= 2 * p; ++m) {
      const WeightVersions versions = weightVersions(pipeDream(p, m));
      for (int s = 0; s < p; ++s) {
        const int n = p - s;
        ASSERT_EQ(versions.stages[static_cast<std::size_t>(s)].held,
                  m >= 2 * n - 2 ? n : std::max(m - n, 0) + 2)
            << "p=" << p << " m=" << m << " s=" << s;
      }
    }
  }
}

// Narayanan et al. 2021: two versions, and a delay of one update.
TEST(WeightVersions, PipeDream2bwHoldsTwoVersions) {
  for (int p = 2; p <= 8; ++p) {
    const Plan plan = pipeDream2bw(p, 4 * p + 1);
    const WeightVersions versions = weightVersions(plan);
    EXPECT_TRUE(versions.tooEarly.empty());
    for (const WeightVersions::Stage& stage : versions.stages) {
      ASSERT_EQ(stage.held, 2) << p;
      ASSERT_EQ(stage.distance, 1) << p;
    }
    ASSERT_EQ(versions.updates.size(), static_cast<std::size_t>(p * 5));
    EXPECT_EQ(versions.usedBy(plan, 0, 0), 0);
    EXPECT_EQ(versions.usedBy(plan, 0, 2 * p - 1), 0);
    EXPECT_EQ(versions.usedBy(plan, 0, 2 * p), 1);
  }
}

TEST(WeightVersions, SynchronousPlanHasOneVersion) {
  const WeightVersions versions = weightVersions(oneFOneB(4, 8));
  for (const WeightVersions::Stage& stage : versions.stages) EXPECT_EQ(stage.held, 1);
  EXPECT_TRUE(versions.updates.empty());
  EXPECT_EQ(versions.usedBy(oneFOneB(4, 8), 3, 7), 0);
}

// One stage, by hand. F0 and F1 use version 0; B0 leaves 1, which F2 uses; B1 leaves 2, and 0 may
// go; B2 leaves 3.
TEST(WeightVersions, EveryForwardTakesTheNewestWeights) {
  Plan plan = readPlan("0F0,0F1,0B0,0F2,0B1,0B2\n", "plan.csv");
  plan.updates.every = 1;
  const WeightVersions versions = weightVersions(plan);
  EXPECT_EQ(versions.used, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(versions.stages[0].held, 2);
  EXPECT_EQ(versions.stages[0].heldAt, (PlanIndex::Position{0, 2}));
  EXPECT_EQ(versions.stages[0].distance, 1);
  EXPECT_EQ(versions.stages[0].distanceAt, (PlanIndex::Position{0, 4}));
}

TEST(WeightVersions, MicroBatchesLeftOverGetAnUpdateOfTheirOwn) {
  Plan plan = readPlan("0F0,0B0,0F1,0B1,0F2,0B2\n", "plan.csv");
  plan.updates.every = 2;
  const WeightVersions versions = weightVersions(plan);
  ASSERT_EQ(versions.updates.size(), 2U);
  EXPECT_EQ(versions.updates[0].after, (PlanIndex::Position{0, 3}));
  EXPECT_EQ(versions.updates[1].after, (PlanIndex::Position{0, 5}));
}

TEST(WeightVersions, UpdateWaitsForTheWeightHalf) {
  Plan plan = readPlan("0F0,0I0,0F1,0W0,0I1,0W1\n", "plan.csv");
  plan.updates.every = 1;
  const WeightVersions versions = weightVersions(plan);
  EXPECT_EQ(versions.used, (std::vector<int>{0, 0}));
  EXPECT_EQ(versions.updates[0].after, (PlanIndex::Position{0, 3}));
}

}  // namespace
}  // namespace pipetrace
