#include "schedule/check/weight_versions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

// Narayanan et al. 2019: stage s of p holds p - s versions, and its gradients are p - 1 - s updates
// old once the pipeline is full.
TEST(WeightVersions, PipeDreamHoldsPMinusSVersionsOnStageS) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 2 * p; m <= 2 * p + 5; ++m) {
      const WeightVersions versions = weightVersions(buildSchedule("PipeDream", p, m));
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
      const WeightVersions versions = weightVersions(buildSchedule("PipeDream", p, m));
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
    const Plan plan = buildSchedule("PipeDream-2BW", p, 4 * p + 1);
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
  const WeightVersions versions = weightVersions(buildSchedule("1F1B", 4, 8));
  for (const WeightVersions::Stage& stage : versions.stages) EXPECT_EQ(stage.held, 1);
  EXPECT_TRUE(versions.updates.empty());
  EXPECT_EQ(versions.usedBy(buildSchedule("1F1B", 4, 8), 3, 7), 0);
}

// One stage, by hand. F0 and F1 use version 0; B0 leaves 1, which F2 uses; B1 leaves 2, and 0 may
// go; B2 leaves 3.
TEST(WeightVersions, EveryForwardTakesTheNewestWeights) {
  Plan plan = readPlan("0F0,0F1,0B0,0F2,0B1,0B2\n", "plan.csv");
  plan.updates.every = {1};
  const WeightVersions versions = weightVersions(plan);
  EXPECT_EQ(versions.used, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(versions.stages[0].held, 2);
  EXPECT_EQ(versions.stages[0].heldAt, (PlanIndex::Position{0, 2}));
  EXPECT_EQ(versions.stages[0].distance, 1);
  EXPECT_EQ(versions.stages[0].distanceAt, (PlanIndex::Position{0, 4}));
}

// PipeDream's {0: [0, 1], 1: [2]}. Rank 0 runs F0, F2, B0, update, F4, B2, update, B4, update, and
// rank 1 the same with the odd ones, of which there are two.
TEST(WeightVersions, EachRankOfAStageHasTheVersionsOfItsUpdates) {
  const Plan plan = buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 5);
  const WeightVersions versions = weightVersions(plan);
  EXPECT_EQ(versions.used, (std::vector<int>{0, 0, 0, 0, 1, 0, 1, 2, 3, 4}));
  EXPECT_EQ(versions.taken, (std::vector<int>{0, 0, 1, 1, 2, 0, 1, 2, 3, 4}));
  std::vector<std::array<int, 4>> updates;
  for (const WeightVersions::Update& update : versions.updates) {
    if (update.stage > 0) continue;
    updates.push_back({update.after.rank, update.after.cell, update.stage, update.number});
  }
  // Rank 1 has no part in the third, and comes to it with the second.
  EXPECT_EQ(
      updates,
      (std::vector<std::array<int, 4>>{
          {0, 2, 0, 0}, {0, 4, 0, 1}, {0, 5, 0, 2}, {1, 2, 0, 0}, {1, 3, 0, 1}, {1, 3, 0, 2}}));
}

// PipeDream's runtime keeps num_warmup_minibatches + 1 of them.
TEST(WeightVersions, PipeDreamOnSeveralRanksHoldsOneMoreThanItsWarmUp) {
  for (const auto& [map, warmUps] :
       {std::pair{std::vector<std::vector<int>>{{0, 1}, {2}}, std::vector{1, 0}},
        {{{0}, {1, 2}}, {2, 0}},
        {{{0, 1}, {2, 3, 4}, {5}}, {2, 1, 0}},
        {{{0, 1, 2}, {3}, {4, 5}}, {1, 2, 0}}}) {
    const WeightVersions versions = weightVersions(buildOnStageRanks("PipeDream", map, 60));
    for (std::size_t s = 0; s < map.size(); ++s) {
      EXPECT_EQ(versions.stages[s].held, warmUps[s] + 1) << s;
      EXPECT_EQ(versions.stages[s].distance, warmUps[s]) << s;
    }
  }
}

TEST(WeightVersions, ReplicasHaveTheVersionsOfOne) {
  for (const Plan& one : {buildSchedule("PipeDream", 3, 7), buildSchedule("PipeDream-2BW", 3, 7),
                          buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 7)}) {
    const Plan two = withReplicas(one, 2);
    const WeightVersions ofOne = weightVersions(one);
    const WeightVersions ofTwo = weightVersions(two);
    EXPECT_EQ(ofTwo.updates.size(), 2 * ofOne.updates.size());
    for (int s = 0; s < one.numStages; ++s) {
      EXPECT_EQ(ofTwo.stages[static_cast<std::size_t>(s)].held,
                ofOne.stages[static_cast<std::size_t>(s)].held);
      for (int m = 0; m < two.numMicroBatches; ++m) {
        EXPECT_EQ(ofTwo.usedBy(two, s, m), ofOne.usedBy(one, s, m % 7));
        EXPECT_EQ(ofTwo.takenBy(two, s, m), ofOne.takenBy(one, s, m % 7));
      }
    }
  }
}

TEST(WeightVersions, MicroBatchesLeftOverGetAnUpdateOfTheirOwn) {
  Plan plan = readPlan("0F0,0B0,0F1,0B1,0F2,0B2\n", "plan.csv");
  plan.updates.every = {2};
  const WeightVersions versions = weightVersions(plan);
  ASSERT_EQ(versions.updates.size(), 2U);
  EXPECT_EQ(versions.updates[0].after, (PlanIndex::Position{0, 3}));
  EXPECT_EQ(versions.updates[1].after, (PlanIndex::Position{0, 5}));
}

TEST(WeightVersions, UpdateWaitsForTheWeightHalf) {
  Plan plan = readPlan("0F0,0I0,0F1,0W0,0I1,0W1\n", "plan.csv");
  plan.updates.every = {1};
  const WeightVersions versions = weightVersions(plan);
  EXPECT_EQ(versions.used, (std::vector<int>{0, 0}));
  EXPECT_EQ(versions.updates[0].after, (PlanIndex::Position{0, 3}));
}

}  // namespace
}  // namespace pipetrace
