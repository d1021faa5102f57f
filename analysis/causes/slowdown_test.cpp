// The tests compare what-ifs of plans with plans that are simulated with those costs.
#include "analysis/causes/slowdown.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/slowdown_what_ifs.h"
#include "analysis/testing/slowdown_of_run.h"
#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kMs = 1'000'000;
constexpr double kClose = 1e-9;

/// F 10 ms, B 20 ms or halves of 12 and 8 ms, lr 0.1 ms, optimizer 2 ms.
Costs costsWithUnevenHalves(const Plan& plan, Nanoseconds transfer) {
  Costs costs = Costs::equal(plan.numStages, {.forward = 10 * kMs,
                                              .backward = 20 * kMs,
                                              .backwardInput = 12 * kMs,
                                              .backwardWeight = 8 * kMs});
  costs.transfer = transfer;
  costs.lr = kMs / 10;
  costs.optimizer = 2 * kMs;
  return costs;
}

void scaleStage(Costs& costs, int stage, double factor) {
  StageCosts& each = costs.stages[static_cast<std::size_t>(stage)];
  for (Nanoseconds* time :
       {&each.forward, &each.backward, &each.backwardInput, &each.backwardWeight}) {
    *time = std::llround(static_cast<double>(*time) * factor);
  }
}

void expectAllAre1(const Slowdown& slowdown, const Plan& plan, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(slowdown.reason, "");
  EXPECT_NEAR(slowdown.total, 1, kClose);
  EXPECT_NEAR(slowdown.launch, 1, kClose);
  EXPECT_EQ(slowdown.byStage.size(), static_cast<std::size_t>(plan.numStages));
  for (const auto& [stage, s] : slowdown.byStage) EXPECT_NEAR(s, 1, kClose) << "stage " << stage;
  for (const auto& [replica, s] : slowdown.byReplica) EXPECT_NEAR(s, 1, kClose);
  EXPECT_GE(slowdown.byKind.size(), plan.isForwardOnly() ? 1U : 4U);
  for (const auto& [kind, s] : slowdown.byKind) EXPECT_NEAR(s, 1, kClose) << kind;
  EXPECT_EQ(slowdown.ranks.size(), plan.ranks.size());
  for (const Slowdown::Rank& rank : slowdown.ranks) EXPECT_NEAR(rank.score, 1, kClose);
  EXPECT_EQ(slowdown.mS, std::nullopt) << "there is no slowdown to share";
  EXPECT_EQ(slowdown.mW, std::nullopt);
}

class SlowdownOfSchedule : public testing::TestWithParam<std::string> {};

TEST_P(SlowdownOfSchedule, IsNoneWithEqualCosts) {
  for (const int ranks : {1, 2, 4, 6}) {
    for (const int microBatches : {ranks * 2, ranks * 4}) {
      const Plan plan = buildSchedule(GetParam(), {ranks, microBatches});
      for (const Nanoseconds transfer : {Nanoseconds{0}, 3 * kMs}) {
        for (const bool together : {true, false}) {
          const Simulation run = simulate(CheckedPlan(plan), costsWithUnevenHalves(plan, transfer),
                                          {.steps = 3, .stepsStartTogether = together});
          expectAllAre1(test::slowdownIn(run.timeline), plan,
                        std::to_string(ranks) + " ranks, transfers of " + std::to_string(transfer) +
                            (together ? ", together" : ""));
        }
      }
    }
  }
}

TEST_P(SlowdownOfSchedule, IsNoneWithTransfersThatArePlanned) {
  for (const int ahead : {0, 1, 3}) {
    Plan plan = buildSchedule(GetParam(), {4, 8});
    plan.credits = 0;  // late receives would use them up, which no log shows
    plan = addTransfers(std::move(plan), {.ahead = ahead});
    // Without backward passes ranks run into the next step, whose receives are not posted yet.
    const bool together = plan.isForwardOnly();
    const Simulation run = simulate(CheckedPlan(plan), costsWithUnevenHalves(plan, 3 * kMs),
                                    {.steps = 2, .stepsStartTogether = together});
    expectAllAre1(test::slowdownIn(run.timeline), plan, std::to_string(ahead));
  }
}

/// The means of a plan's costs by kind, weighted by the number of its jobs, in the place of all.
Costs idealOf(const Simulation& run, const Costs& costs) {
  std::map<JobKind, std::pair<double, double>> sums;
  for (const Track& track : run.timeline.tracks) {
    for (const Event& event : track.events) {
      auto& [sum, count] = sums[event.kind];
      sum += static_cast<double>(event.duration());
      ++count;
    }
  }
  const auto mean = [&](JobKind kind) {
    const auto& [sum, count] = sums[kind];
    return count == 0 ? 0 : std::llround(sum / count);
  };
  Costs ideal = costs;
  for (StageCosts& each : ideal.stages) {
    each.forward = mean(JobKind::kForward);
    each.backward = mean(JobKind::kBackward);
    each.backwardInput = mean(JobKind::kBackwardInput);
    each.backwardWeight = mean(JobKind::kBackwardWeight);
    if (mean(JobKind::kForwardBackward) > 0) each.forwardBackward = mean(JobKind::kForwardBackward);
  }
  return ideal;
}

TEST_P(SlowdownOfSchedule, IsThatOfThePlanWithTheseCosts) {
  for (const int slow : {0, 1, 3}) {
    for (const Nanoseconds transfer : {Nanoseconds{0}, kMs}) {
      SCOPED_TRACE("stage " + std::to_string(slow) + ", transfer " + std::to_string(transfer));
      const CheckedPlan plan = buildSchedule(GetParam(), {4, 8});
      Costs costs = costsWithUnevenHalves(*plan, transfer);
      // Pairs as long as they are given, so that their stage is no matter of their halves.
      for (StageCosts& each : costs.stages) each.forwardBackward = 28 * kMs;
      scaleStage(costs, slow, 1.3);
      costs.stages[static_cast<std::size_t>(slow)].forwardBackward = 36 * kMs;
      const Simulation run = simulate(plan, costs);
      const Costs ideal = idealOf(run, costs);
      const Slowdown slowdown = test::slowdownIn(run.timeline);
      ASSERT_EQ(slowdown.reason, "");
      const auto lengthOf = [&](const Costs& each) {
        return static_cast<double>(simulate(plan, each).length);
      };
      // Means are whole nanoseconds in the plan: up to one on each job of a path.
      EXPECT_NEAR(slowdown.tSim, lengthOf(costs), 1e-3);
      EXPECT_NEAR(slowdown.tIdeal, lengthOf(ideal), 200);
      EXPECT_NEAR(slowdown.total, lengthOf(costs) / lengthOf(ideal), 1e-6);
      for (int stage = 0; stage < plan->numStages; ++stage) {
        Costs onlyStage = ideal;
        const auto s = static_cast<std::size_t>(stage);
        onlyStage.stages[s] = costs.stages[s];
        EXPECT_NEAR(slowdown.byStage.at(stage), lengthOf(onlyStage) / lengthOf(ideal), 1e-6)
            << "stage " << stage;
      }
      const auto last = static_cast<std::size_t>(plan->numStages - 1);
      Costs without = costs;
      without.stages[last] = ideal.stages[last];
      const double share =
          (lengthOf(costs) - lengthOf(without)) / (lengthOf(costs) - lengthOf(ideal));
      EXPECT_NEAR(slowdown.mS.value(), share, 1e-4 * std::max(1.0, std::abs(share)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SlowdownOfSchedule, testing::ValuesIn(scheduleNames()),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

constexpr int kMany = static_cast<int>(SetTimes::kAtOnce) + 6;

/// More stages than one pass runs: 1F1B on that many ranks, one stage much slower and one a little.
/// All others deviate from the mean of their kind by what these two add to it.
TEST(SlowdownOfManyStages, IsABoundWhereWorksHardlyDeviate) {
  const CheckedPlan plan = buildSchedule("1F1B", kMany, 4);
  Costs costs = costsWithUnevenHalves(*plan, kMs);
  constexpr int kSlow = kMany - 1;
  constexpr int kLonger = 40;
  scaleStage(costs, kSlow, 1.3);
  scaleStage(costs, kLonger, 1.05);
  const Simulation run = simulate(plan, costs, {.steps = 2, .stepsStartTogether = true});
  const Costs ideal = idealOf(simulate(plan, costs), costs);
  const Slowdown slowdown = test::slowdownIn(run.timeline);
  ASSERT_EQ(slowdown.reason, "");
  std::vector<int> others(kMany);
  std::iota(others.begin(), others.end(), 0);
  std::erase_if(others, [](int stage) { return stage == kSlow || stage == kLonger; });
  EXPECT_EQ(slowdown.boundStages, others);
  const auto lengthOf = [&](const Costs& each) {
    return static_cast<double>(simulate(plan, each).length);
  };
  for (int stage = 0; stage < kMany; ++stage) {
    const auto s = static_cast<std::size_t>(stage);
    Costs only = ideal;
    only.stages[s] = costs.stages[s];
    const double expected = lengthOf(only) / lengthOf(ideal);
    const double given = slowdown.byStage.at(stage);
    const Slowdown::Rank& rank = slowdown.ranks[s];
    EXPECT_EQ(rank.isBound, stage != kSlow && stage != kLonger);
    EXPECT_EQ(rank.score, std::min(given, slowdown.total)) << "there is one pipeline";
    if (stage == kSlow || stage == kLonger) {
      EXPECT_NEAR(given, expected, 1e-6);
      continue;
    }
    // Four micro-batches, each with a forward and a backward.
    const StageCosts& own = costs.stages[s];
    const StageCosts& mean = ideal.stages[s];
    const auto deviation = static_cast<double>(
        4 * (std::abs(own.forward - mean.forward) + std::abs(own.backward - mean.backward)));
    EXPECT_NEAR(given, 1 + deviation / lengthOf(ideal), 1e-6);
    EXPECT_LT(given, 1.001);
    EXPECT_LE(std::abs(expected - 1), given - 1) << "stage " << stage;
  }
}

/// The same with stages that are as much longer as others are shorter, and several on each rank.
TEST(SlowdownOfManyStages, IsSimulatedWhereTheyDeviateForAnyNumberOfThreads) {
  const CheckedPlan plan =
      buildSchedule("Interleaved1F1B", {.ranks = kMany / 2, .microBatches = kMany / 2});
  ASSERT_EQ(plan->numStages, kMany);
  Costs costs = costsWithUnevenHalves(*plan, Nanoseconds{0});
  for (int stage = 0; stage < kMany; ++stage) scaleStage(costs, stage, stage % 2 == 0 ? 0.9 : 1.1);
  const Simulation run = simulate(plan, costs, {.steps = 2, .stepsStartTogether = true});
  const Costs ideal = idealOf(simulate(plan, costs), costs);
  const Slowdown slowdown = test::slowdownIn(run.timeline);
  EXPECT_THAT(slowdown.boundStages, testing::IsEmpty());
  const auto lengthOf = [&](const Costs& each) {
    return static_cast<double>(simulate(plan, each).length);
  };
  for (const int stage : {0, 1, 33, kMany - 7, kMany - 6, kMany - 1}) {
    Costs only = ideal;
    only.stages[static_cast<std::size_t>(stage)] = costs.stages[static_cast<std::size_t>(stage)];
    EXPECT_NEAR(slowdown.byStage.at(stage), lengthOf(only) / lengthOf(ideal), 1e-6)
        << "stage " << stage;
  }
  const Slowdown withThreads = test::slowdownIn(run.timeline, {}, 3);
  EXPECT_EQ(withThreads.byStage, slowdown.byStage);
  EXPECT_EQ(withThreads.tSim, slowdown.tSim);
  ASSERT_EQ(withThreads.ranks.size(), slowdown.ranks.size());
  for (std::size_t r = 0; r < slowdown.ranks.size(); ++r)
    EXPECT_EQ(withThreads.ranks[r].score, slowdown.ranks[r].score);
}

}  // namespace
}  // namespace pipetrace
