// Rehearsals of plans of every kind keep to the simulation. rehearsal_table shows all of them.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/testing/run_of_timeline.h"
#include "apps/pipe_run/testing/rehearsed.h"
#include "runtime/transport/forwarding_transport.h"
#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

// This machine may be busy, which makes single steps longer. A fault shows in every try.
constexpr int kMostTries = 5;

struct Result {
  PlanComparison comparison;
  JobLateness lateness;

  bool keepsToThePlan() const {
    return std::abs(comparison.worstStep) <= 0.01 && comparison.orderDeviation.empty() &&
           lateness.share() <= 0.01;
  }
};

/// Rehearses `run`, which should be `plan`, until it keeps to it.
Result tryToKeep(const RehearsalOptions& run, const CheckedPlan& plan) {
  Result result;
  for (int i = 0; i < kMostTries; ++i) {
    const Timeline timeline = testing::rehearsed(run);
    result = {compareWithPlan(asRun(timeline), plan, run.costs, run.commStreams),
              latenessOf(timeline, 2 * kNsPerMs)};
    if (result.keepsToThePlan()) break;
  }
  return result;
}

void expectKept(const CheckedPlan& plan, const Costs& costs, int steps = 2,
                CommStreams lines = CommStreams::kAsReached) {
  const Result result =
      tryToKeep({.plan = plan, .costs = costs, .commStreams = lines, .steps = steps}, plan);
  EXPECT_LE(std::abs(result.comparison.worstStep), 0.01) << toText(result.comparison);
  EXPECT_EQ(result.comparison.orderDeviation, "");
  EXPECT_GE(result.lateness.jobs, steps * plan->numMicroBatches);
  EXPECT_LE(result.lateness.share(), 0.01);
}

TEST(EveryPlanRehearsalTest, MessagesInLineInTorchsOrderAndInTime) {
  const CheckedPlan plan(buildSchedule("LoopedBFS", 4, 8));
  Costs costs = testing::equalCosts(*plan);
  costs.transfer = kNsPerMs;
  expectKept(CheckedPlan(withMessagesOfTorch(plan)), costs, 2, CommStreams::kRank);
  expectKept(CheckedPlan(withMessagesInTime(plan, costs)), costs, 1, CommStreams::kPeer);
}

TEST(EveryPlanRehearsalTest, HalvesOfSeveralStagesOnARank) {
  const CheckedPlan plan = buildSchedule("ZBV", 8, 32);
  expectKept(plan, testing::equalCosts(*plan), 1);
}

TEST(EveryPlanRehearsalTest, PairsAndStagesOnTwoRanksWithUnequalStages) {
  const CheckedPlan plan = buildSchedule("DualPipe", 8, 32);
  expectKept(plan, testing::costsByStage(*plan), 1);
}

TEST(EveryPlanRehearsalTest, JobsOfTimesDrawnAtRandom) {
  const CheckedPlan plan = buildSchedule("Interleaved1F1B", 4, 16);
  expectKept(plan, testing::costsByJob(*plan));
}

TEST(EveryPlanRehearsalTest, UpdatesWithoutAFlush) {
  const CheckedPlan plan = buildSchedule("PipeDream-2BW", 4, 16);
  Costs costs = testing::costsByStage(*plan);
  costs.optimizer = kNsPerMs;
  expectKept(plan, costs);
  costs.optimizer = 0;
  expectKept(plan, costs);
}

TEST(EveryPlanRehearsalTest, ForwardsAloneThatCreditsHoldBack) {
  Plan plan = forwardPart(buildSchedule("1F1B", 4, 12));
  const Costs costs = [&] {
    Costs slow = testing::equalCosts(plan);
    slow.transfer = kNsPerMs;
    slow.stages[3].forward = 9 * kNsPerMs;
    return slow;
  }();
  const Nanoseconds free = simulate(CheckedPlan(plan), costs).ranks[0].span();
  plan.credits = 2;
  ASSERT_GT(simulate(CheckedPlan(plan), costs).ranks[0].span(), free) << "they must matter";
  expectKept(CheckedPlan(plan), costs);
  expectKept(CheckedPlan(withMessagesInTime(CheckedPlan(plan), costs)), costs, 2,
             CommStreams::kRank);
}

TEST(EveryPlanRehearsalTest, MessagesThatTakeTheirTurnsOnALink) {
  const CheckedPlan plan = buildSchedule("LoopedBFS", 4, 8);
  Costs costs = testing::equalCosts(*plan);
  costs.transfer = kNsPerMs;
  const Nanoseconds without = simulate(plan, costs).length;
  for (StageCosts& stage : costs.stages) stage.message = 4'000'000;
  costs.bandwidth = 1e9;
  ASSERT_GT(simulate(plan, costs).length, without) << "4 ms a message must matter";
  expectKept(plan, costs);
}

TEST(EveryPlanRehearsalTest, SendsAndReceivesOfThePlanItself) {
  const CheckedPlan plan = addTransfers(buildSchedule("1F1B", 4, 8), {.ahead = 0});
  Costs costs = testing::equalCosts(*plan);
  costs.transfer = 2 * kNsPerMs;
  ASSERT_GT(simulate(plan, costs).length, simulate(buildSchedule("1F1B", 4, 8), costs).length)
      << "a receive that is posted late must matter";
  expectKept(plan, costs);
}

TEST(EveryPlanRehearsalTest, ReplicasAndStagesOnRanksThatTakeTurns) {
  const CheckedPlan replicas(withReplicas(buildSchedule("ZB-H1", 4, 8), 2));
  expectKept(replicas, testing::costsByStage(*replicas));
  const CheckedPlan turns = readPlan(
      "0F0,0F2,0B0,0F4,0B2,0B4\n0F1,0F3,0B1,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3,1F4,1B4\n"
      "# ranks_of_stage = 0,1/2\n",
      "turns");
  expectKept(turns, testing::costsByStage(*turns));
}

TEST(EveryPlanRehearsalTest, TwoSwappedActionsOfOneRankAreNoticed) {
  const CheckedPlan plan = buildSchedule("ZB-H1", 4, 8);
  // Two neighbours that can be swapped: the weight half of one micro-batch and what comes next.
  Plan order = *plan;
  std::vector<Action>& row = order.ranks[3];
  const auto half = std::find_if(row.begin(), row.end(), [](const Action& action) {
    return action.kind == JobKind::kBackwardWeight;
  });
  std::swap(*half, half[1]);
  const Result result = tryToKeep(
      {.plan = CheckedPlan(order), .costs = testing::equalCosts(*plan), .steps = 1}, plan);
  EXPECT_FALSE(result.keepsToThePlan());
}

/// One lane for all that a rank sends: a message leaves when the one before has arrived, whatever
/// its direction.
class OneLane : public ForwardingTransport {
 public:
  OneLane(Transport& inner, Nanoseconds transfer)
      : ForwardingTransport(inner), transfer_(transfer) {}
  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    return std::make_unique<End>(*this, inner().openSend(to, name, messages));
  }

 private:
  using Sends = SendLane<Message>;

  class End : public Sends {
   public:
    End(OneLane& all, std::unique_ptr<Sends> lane) : all_(all), lane_(std::move(lane)) {}
    void send(const MessageKey& key, Message&& message) override {
      message.deadline = std::max(message.deadline, all_.free_);
      all_.free_ = message.deadline + all_.transfer_;
      lane_->send(key, std::move(message));
    }
    std::optional<std::uint64_t> nextDone() override { return lane_->nextDone(); }
    void awaitAll() override { lane_->awaitAll(); }

   private:
    OneLane& all_;
    const std::unique_ptr<Sends> lane_;
  };

  const Nanoseconds transfer_;
  Nanoseconds free_ = kNsMin;
};

TEST(EveryPlanRehearsalTest, OneLaneForAllMessagesIsNoticed) {
  // A fused pair sends activations and a gradient at once.
  const CheckedPlan plan = buildSchedule("DualPipe", 4, 16);
  Costs costs = testing::equalCosts(*plan);
  costs.transfer = 4 * kNsPerMs;
  expectKept(plan, costs, 1);
  const auto one = [&](Transport& inner) {
    return std::make_unique<OneLane>(inner, costs.transfer);
  };
  const Result result = tryToKeep({.plan = plan, .costs = costs, .steps = 1, .between = one}, plan);
  EXPECT_GT(result.comparison.worstStep, 0.01);
}

}  // namespace
}  // namespace pipetrace
