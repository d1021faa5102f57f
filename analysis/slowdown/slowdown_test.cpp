// The tests compare what-ifs of plans with plans that are simulated with those costs, and runs of a
// few jobs with tables made by hand.
#include "analysis/slowdown/slowdown.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"
#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds kMs = 1'000'000;
constexpr double kClose = 1e-9;

Slowdown slowdownIn(Timeline timeline, std::vector<std::int32_t> steps = {}, int threads = 1) {
  timeline.sort();
  for (const Track& track : timeline.tracks) timeline.ranks[track.rank].rank = track.rank;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  const Topology topology = topologyOf(timeline);
  const JobGraph graph(timeline, topology);
  return slowdownOf(timeline, graph, topology, steps, threads);
}

/// F 10 ms, B 20 ms or halves of 12 and 8 ms, lr 0.1 ms, optimizer 2 ms.
Costs costsOf(const Plan& plan, Nanoseconds transfer) {
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

void expectAllAre1(const Slowdown& slowdown, int ranks, int stages, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(slowdown.reason, "");
  EXPECT_NEAR(slowdown.total, 1, kClose);
  EXPECT_NEAR(slowdown.launch, 1, kClose);
  EXPECT_EQ(slowdown.byStage.size(), static_cast<std::size_t>(stages));
  for (const auto& [stage, s] : slowdown.byStage) EXPECT_NEAR(s, 1, kClose) << "stage " << stage;
  for (const auto& [replica, s] : slowdown.byReplica) EXPECT_NEAR(s, 1, kClose);
  EXPECT_GE(slowdown.byKind.size(), 4U);
  for (const auto& [kind, s] : slowdown.byKind) EXPECT_NEAR(s, 1, kClose) << kind;
  EXPECT_EQ(slowdown.ranks.size(), static_cast<std::size_t>(ranks));
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
          const Simulation run = simulate(CheckedPlan(plan), costsOf(plan, transfer),
                                          {.steps = 3, .stepsStartTogether = together});
          expectAllAre1(slowdownIn(run.timeline), ranks, plan.numStages,
                        std::to_string(ranks) + " ranks, transfers of " + std::to_string(transfer) +
                            (together ? ", together" : ""));
        }
      }
    }
  }
}

TEST_P(SlowdownOfSchedule, IsNoneWithTransfersThatArePlanned) {
  for (const int credits : {0, 1, 3}) {
    const Plan plan =
        addTransfers(CheckedPlan(buildSchedule(GetParam(), {4, 8})), {.credits = credits});
    const Simulation run = simulate(CheckedPlan(plan), costsOf(plan, 3 * kMs), {.steps = 2});
    expectAllAre1(slowdownIn(run.timeline), 4, plan.numStages, std::to_string(credits));
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
      Costs costs = costsOf(*plan, transfer);
      // Pairs as long as they are given, so that their stage is no matter of their halves.
      for (StageCosts& each : costs.stages) each.forwardBackward = 28 * kMs;
      scaleStage(costs, slow, 1.3);
      costs.stages[static_cast<std::size_t>(slow)].forwardBackward = 36 * kMs;
      const Simulation run = simulate(plan, costs);
      const Costs ideal = idealOf(run, costs);
      const Slowdown slowdown = slowdownIn(run.timeline);
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

/// Runs of a few jobs, in whole nanoseconds.
class SlowdownByHand : public testing::Test {
 protected:
  Event& add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end,
             std::int32_t microBatch = 0, std::int32_t step = 0,
             std::string_view lane = kComputeLane) {
    Event& event = made_.add(rank, kind, begin, end, step, microBatch, lane);
    event.stage = isCompute(kind) || isTransfer(kind) ? stageOf_[rank] : kNotGiven;
    return event;
  }
  /// Ranks of `replicas` pipelines, of `positions` each.
  void place(int replicas, int positions) {
    for (int rank = 0; rank < replicas * positions; ++rank) {
      RankInfo& info = made_.timeline.ranks[rank];
      info.dataParallelIndex = rank / positions;
      info.numStages = positions;
      info.worldSize = replicas * positions;
      stageOf_[rank] = rank % positions;
    }
  }
  Slowdown slowdown(std::vector<std::int32_t> steps = {}) const {
    return slowdownIn(made_.timeline, std::move(steps));
  }

  HandMadeTimeline made_;
  std::map<int, std::int32_t> stageOf_;
};

TEST_F(SlowdownByHand, ReplicasWaitForEachOtherInCollectives) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    const int slower = replica + 1;
    add(replica, JobKind::kForward, 0, 10 * slower);
    add(replica, JobKind::kBackward, 10 * slower, 30 * slower);
    add(replica, JobKind::kReduceScatter, 30 * slower, 70, -1, 0, "nccl");
    add(replica, JobKind::kOptimizer, 70, 72);
  }
  const Slowdown s = slowdown();
  ASSERT_EQ(s.reason, "");
  EXPECT_DOUBLE_EQ(s.tSim, 72);
  EXPECT_DOUBLE_EQ(s.tIdeal, 15 + 30 + 10 + 2);
  EXPECT_DOUBLE_EQ(s.launch, 1);
  EXPECT_DOUBLE_EQ(s.byReplica.at(0), 1) << "the other one is slower even if ideal";
  EXPECT_DOUBLE_EQ(s.byReplica.at(1), 72.0 / 57);
  EXPECT_DOUBLE_EQ(s.byStage.at(0), 72.0 / 57);
  EXPECT_DOUBLE_EQ(s.byKind.at("forward"), (20.0 + 30 + 12) / 57);
  EXPECT_DOUBLE_EQ(s.byKind.at("reduce_scatter"), 1) << "what comes before is waiting";
  EXPECT_EQ(s.worstRanks, std::vector{1});
  EXPECT_DOUBLE_EQ(s.mW.value(), 1);
  ASSERT_EQ(s.ranks.size(), 2U);
  EXPECT_DOUBLE_EQ(s.ranks[0].score, 1);
  EXPECT_DOUBLE_EQ(s.ranks[1].score, 72.0 / 57);
}

TEST_F(SlowdownByHand, CollectivesThatDoNotOverlapAreNotOne) {
  place(2, 1);
  for (const int replica : {0, 1}) {
    const int late = 100 * replica;
    add(replica, JobKind::kForward, late, late + 10);
    add(replica, JobKind::kAllReduce, late + 10, late + 14, -1, 0, "nccl");
    add(replica, JobKind::kOptimizer, late + 14, late + 15);
  }
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 15);
  EXPECT_DOUBLE_EQ(s.launch, 115.0 / 15);
}

TEST_F(SlowdownByHand, ACollectiveInsideAJobIsPartOfIt) {
  place(1, 1);
  add(0, JobKind::kBackward, 0, 20);
  add(0, JobKind::kAllReduce, 5, 15, -1, 0, "nccl");
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 20);
  EXPECT_FALSE(s.byKind.contains("all_reduce"));
}

TEST_F(SlowdownByHand, ACollectiveThatBeginsDuringAJobFollowsTheJobBefore) {
  place(1, 1);
  add(0, JobKind::kForward, 0, 10);
  add(0, JobKind::kBackward, 10, 30);
  add(0, JobKind::kAllReduce, 25, 40, -1, 0, "nccl");
  add(0, JobKind::kOptimizer, 40, 42);
  // It may begin at 10, so it ends at 25, and the optimizer begins after the backward.
  EXPECT_DOUBLE_EQ(slowdown().tSim, 32);
}

TEST_F(SlowdownByHand, AMessageWaitsForAReceiveThatIsPostedLate) {
  place(1, 2);
  add(0, JobKind::kForward, 0, 10, 0);
  add(0, JobKind::kForward, 10, 20, 1);
  add(0, JobKind::kSendForward, 10, 12, 0, 0, kSendLane);
  add(0, JobKind::kSendForward, 20, 24, 1, 0, kSendLane);
  add(1, JobKind::kRecvForward, 0, 12, 0, 0, kRecvLane);
  add(1, JobKind::kForward, 12, 22, 0);
  add(1, JobKind::kRecvForward, 22, 24, 1, 0, kRecvLane);
  add(1, JobKind::kForward, 24, 34, 1);
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 34);
  EXPECT_DOUBLE_EQ(s.total, 1);
  EXPECT_DOUBLE_EQ(s.launch, 1);
  EXPECT_DOUBLE_EQ(s.byKind.at("forward-pp-comm"), 1);
}

TEST_F(SlowdownByHand, InTracesOfTheStudyAMessageFollowsTheJobBeforeOfItsDirection) {
  place(1, 2);
  add(0, JobKind::kForward, 0, 10, 0);
  add(0, JobKind::kForward, 10, 20, 1);
  add(0, JobKind::kSendForward, 10, 12, 0, 0, kSendLane);
  add(0, JobKind::kSendForward, 20, 72, 1, 0, kSendLane);
  add(1, JobKind::kRecvForward, 0, 12, 0, 0, kRecvLane);
  add(1, JobKind::kForward, 12, 22, 0);
  add(1, JobKind::kBackward, 22, 42, 0);
  add(1, JobKind::kRecvForward, 42, 72, 1, 0, kRecvLane);
  add(1, JobKind::kForward, 72, 82, 1);
  EXPECT_DOUBLE_EQ(slowdown().tSim, 82) << "the receive is posted after the backward";
  Timeline& run = made_.timeline;
  const Argument number = Argument::ofInteger(run.strings.intern("seq_id"), 0);
  for (Track& track : run.tracks) {
    for (Event& event : track.events) run.setArguments(event, {&number, 1});
  }
  EXPECT_DOUBLE_EQ(slowdown().tSim, 22 + 30 + 10) << "it follows forward 0, which ends at 22";
}

TEST_F(SlowdownByHand, LateJobsAreLaunchDelayAndNoSlowdown) {
  place(1, 1);
  add(0, JobKind::kForward, 0, 10, 0);
  add(0, JobKind::kForward, 25, 35, 1);
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.total, 1);
  EXPECT_DOUBLE_EQ(s.launch, 35.0 / 20);
}

TEST_F(SlowdownByHand, JobsWithoutMicroBatchesAreLinkedInTheirOrder) {
  place(1, 2);
  for (const int i : {0, 1}) {
    add(0, JobKind::kForward, 10 * i, 10 * i + 10, kNotGiven);
    add(1, JobKind::kForward, 10 + 20 * i, 30 + 20 * i, kNotGiven);
  }
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 50);
  EXPECT_DOUBLE_EQ(s.tIdeal, 45);
}

TEST_F(SlowdownByHand, OneJobIsAsLongAsItsIdeal) {
  place(1, 1);
  add(0, JobKind::kForward, 100, 107);
  const Slowdown s = slowdown();
  ASSERT_EQ(s.reason, "");
  EXPECT_DOUBLE_EQ(s.tSim, 7);
  EXPECT_DOUBLE_EQ(s.total, 1);
  EXPECT_DOUBLE_EQ(s.byStage.at(0), 1);
  EXPECT_EQ(s.mS, std::nullopt);
}

TEST_F(SlowdownByHand, StepsThatSomeRankLacksDoNotCount) {
  place(2, 1);
  for (const int step : {0, 1, 2, 3}) {
    add(0, JobKind::kForward, 100 * step, 100 * step + 10, 0, step);
    if (step < 3) add(1, JobKind::kForward, 100 * step, 100 * step + 10, 0, step);
  }
  add(0, JobKind::kForward, 20, 30, 1, 0);
  add(1, JobKind::kForward, 20, 30, 1, 0);
  add(0, JobKind::kForward, 120, 130, 1, 1);
  add(1, JobKind::kForward, 120, 130, 1, 1);
  const Slowdown s = slowdown();
  EXPECT_EQ(s.steps, (std::vector{0, 1})) << "step 2 was cut off, and rank 1 lacks step 3";
  EXPECT_EQ(slowdown({0, 2, 3}).steps, (std::vector{0, 2})) << "what is asked for is used";
}

TEST_F(SlowdownByHand, StepsThatRunIntoEachOtherCountAsOne) {
  place(1, 1);
  add(0, JobKind::kForward, 0, 10, 0, 0);
  add(0, JobKind::kForward, 10, 20, 0, 1);
  add(0, JobKind::kBackward, 20, 40, 0, 0);
  add(0, JobKind::kBackward, 40, 60, 0, 1);
  const Slowdown s = slowdown();
  EXPECT_DOUBLE_EQ(s.tSim, 60);
  EXPECT_DOUBLE_EQ(s.launch, 1);
}

TEST_F(SlowdownByHand, KindsHaveTheNamesOfTheInputUnlessTheyNumberJobs) {
  place(1, 1);
  const auto name = [&](Event& event, std::string_view text) {
    event.name = made_.timeline.strings.intern(text);
  };
  name(add(0, JobKind::kForward, 0, 10), "forward-compute");
  name(add(0, JobKind::kBackward, 10, 20), "backward 7");
  name(add(0, JobKind::kDefault, 20, 21), "gc");
  name(add(0, JobKind::kDefault, 21, 23), "save");
  const Slowdown s = slowdown();
  std::vector<std::string> kinds;
  for (const auto& [kind, value] : s.byKind) kinds.push_back(kind);
  EXPECT_THAT(kinds, testing::ElementsAre("backward", "forward-compute", "gc", "save"));
}

TEST_F(SlowdownByHand, RunsWithoutTrueNumbersSayWhy) {
  EXPECT_EQ(slowdown().reason, "there are no compute jobs");
  place(1, 2);
  add(0, JobKind::kForward, 0, 0);
  EXPECT_EQ(slowdown().reason, "the jobs take no time");
  add(0, JobKind::kBackward, 30, 50);
  EXPECT_THAT(slowdown().reason, HasSubstr("1 job gets its input from jobs that are missing"));
  add(1, JobKind::kForward, 5, 10);
  add(1, JobKind::kBackward, 10, 30);
  EXPECT_EQ(slowdown().reason, "");
  EXPECT_THAT(slowdown({8}).reason, HasSubstr("none of these steps"));
  add(1, JobKind::kForwardBackward, 60, 70);
  EXPECT_EQ(slowdown().reason, "the halves of fused jobs on rank 1 are not known");
}

}  // namespace
}  // namespace pipetrace
