// A rank really holds between its jobs what the simulation of its plan says.
//
// LibTorch's CPU allocator reports the bytes of every tensor, and all ranks run on this thread
// (RanksInTurn). While a job runs it needs some memory more, for tensors that it makes and frees:
// gradients on their way back. How much depends on the job alone, not on what else is held. So the
// jobs of one micro-batch give StageCosts::working, and the peak of a step follows.
#include <ATen/Parallel.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/costs/measure_costs.h"
#include "runtime/costs/ranks_in_turn.h"
#include "schedule/build_schedule.h"
#include "schedule/check/held_memory.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"

namespace pipetrace {
namespace {

constexpr int kRanks = 4;
constexpr int kPlanMicroBatches = 8;
constexpr int kBlocks = 16;
constexpr std::int64_t kUnits = 32;
constexpr std::int64_t kMicroBatchRows = 16;  // of a micro-batch

constexpr std::int64_t kTensor = kMicroBatchRows * kUnits * 4;  // bytes of an activation
constexpr std::int64_t kMeans =
    2 * kMicroBatchRows * 4;           // and of what a LayerNorm saves beside its input
constexpr std::int64_t kNumbers = 64;  // the loss, and the like

Model tallModel() {
  const LayerMaker layer = [] {
    return std::vector{
        torch::nn::AnyModule(Linear(kUnits, kUnits)),
        torch::nn::AnyModule(torch::nn::LayerNorm(torch::nn::LayerNormOptions({kUnits}))),
        torch::nn::AnyModule(torch::nn::Tanh())};
  };
  return chainModel(std::vector<LayerMaker>(kBlocks, layer),
                    [](const at::Tensor& a, const at::Tensor& b) { return at::mse_loss(a, b); });
}

std::unique_ptr<torch::optim::Optimizer> sgd(const NamedParameters& parameters) {
  return std::make_unique<torch::optim::SGD>(tensorsOf(parameters), 0.1);
}

TorchWorkOptions optionsOf(int numStages, double recompute) {
  at::set_num_threads(1);  // tensors are too small for more
  Partition partition = evenPartition(kBlocks, numStages);
  partition.recomputeRatio.assign(partition.blocks.size(), recompute);
  return {.model = tallModel(),
          .partition = partition,
          .numMicroBatches = kPlanMicroBatches,
          .optimizer = sgd};
}

Batch batchOf(std::int64_t rows) {
  return {{"inputs", at::randn({rows, kUnits})}, {"targets", at::randn({rows, kUnits})}};
}

Costs measured(const Plan& plan, double recompute) {
  return measureCosts(optionsOf(plan.numStages, recompute), plan, batchOf(kMicroBatchRows)).costs;
}

/// The stages and micro-batches between their forward and the end of their backward.
class PlannedLive {
 public:
  void end(const Action& action) {
    switch (action.kind) {
      case JobKind::kForward: live_.emplace(action.stage, action.microBatch); break;
      case JobKind::kBackward:
      case JobKind::kBackwardWeight: live_.erase({action.stage, action.microBatch}); break;
      case JobKind::kForwardBackward:
        live_.emplace(action.stage, action.microBatch);
        live_.erase({action.backwardStage, action.backwardMicroBatch});
        break;
      default: break;
    }
  }
  std::vector<std::pair<int, int>> all() const { return {live_.begin(), live_.end()}; }

 private:
  std::set<std::pair<int, int>> live_;
};

void expectNear(std::int64_t held, std::int64_t simulated) {
  EXPECT_NEAR(static_cast<double>(held), static_cast<double>(simulated),
              0.01 * static_cast<double>(simulated) + kNumbers);
}

/// Runs a step, and compares after each job.
void expectHoldsWhatThePlanSays(const CheckedPlan& plan, double recompute) {
  Costs costs = measured(*plan, recompute);
  for (StageCosts& stage : costs.stages) {
    EXPECT_GT(stage.working, 0);
    EXPECT_LE(stage.working, 3 * kTensor);
    EXPECT_GT(stage.weights, 0);
    stage.weights = 0;
  }
  const Simulation simulation = simulate(plan, costs);
  RanksInTurn pipeline(optionsOf(plan->numStages, recompute), plan->stagesByRank(),
                       batchOf(kPlanMicroBatches * kMicroBatchRows));
  struct Rank {
    HeldMemory planned;
    PlannedLive live;
    std::size_t next = 0;
  };
  std::vector<Rank> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back({.planned = {*plan, HeldFor::kBackward, costs, 0, rank}});
  }
  for (bool goesOn = true; goesOn;) {
    goesOn = false;
    for (int r = 0; r < kRanks; ++r) {
      Rank& rank = ranks[static_cast<std::size_t>(r)];
      const std::vector<Action>& actions = plan->ranks[static_cast<std::size_t>(r)];
      while (rank.next < actions.size() && pipeline.canRun(actions[rank.next])) {
        const Action& action = actions[rank.next++];
        SCOPED_TRACE("after " + toText(action) + " of rank " + std::to_string(r));
        goesOn = true;
        pipeline.run(r, action);
        rank.planned.begin(action);
        rank.planned.end(action);
        rank.live.end(action);
        ASSERT_EQ(pipeline.work(r).liveMicroBatches(), rank.live.all());
        expectNear(pipeline.held(r), rank.planned.memory());
      }
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    SCOPED_TRACE("rank " + std::to_string(r));
    EXPECT_EQ(ranks[r].next, plan->ranks[r].size());
    const auto most = static_cast<double>(pipeline.most(static_cast<int>(r)));
    const auto peak = static_cast<double>(simulation.ranks[r].peakMemory);
    EXPECT_NEAR(peak, most, 0.05 * most);
  }
}

TEST(LiveMemory, AStageKeepsWhatItsLayersSave) {
  for (const double ratio : {0.0, 0.3, 0.5, 1.0}) {
    const Costs all = measured(buildSchedule("ZB-H1", kRanks, kPlanMicroBatches), ratio);
    for (int stage = 0; stage < kRanks; ++stage) {
      SCOPED_TRACE(std::to_string(ratio) + " of stage " + std::to_string(stage));
      const StageCosts& costs = all.stages[static_cast<std::size_t>(stage)];
      const int blocks = kBlocks / kRanks;
      const int again = static_cast<int>(ratio * blocks);
      const std::int64_t input = stage == 0 ? 0 : kTensor;  // else of the batch
      // The output of Linear, which LayerNorm needs; and that of Tanh, which Linear needs, too.
      const std::int64_t block = 2 * kTensor + kMeans;
      expectNear(costs.activation, input + blocks * block);
      expectNear(costs.recomputed, again * block);
      // For each weight gradient the layer's input and the gradient of its output.
      const std::int64_t left = input + (2 * blocks - 1) * kTensor;
      expectNear(costs.activation - costs.freedByInput, left);
      EXPECT_EQ(costs.message, stage + 1 < kRanks ? kTensor : 0);
      EXPECT_EQ(costs.weights, blocks * kUnits * (kUnits + 3) * 4) << "Linear, LayerNorm";
    }
  }
}

TEST(LiveMemory, ARankHoldsWhatTheSimulationOfItsPlanSays) {
  for (const ScheduleInfo& schedule : knownSchedules()) {
    if (schedule.isAsynchronous || schedule.isForwardOnly) continue;
    SCOPED_TRACE(schedule.name);
    expectHoldsWhatThePlanSays(buildSchedule(schedule.name, kRanks, kPlanMicroBatches), 0);
  }
}

TEST(LiveMemory, BlocksThatRunAgainAreHeldFromTheirRecompute) {
  for (const std::string name : {"1F1B", "ZB-H1"}) {
    for (const double ratio : {0.3, 0.5, 1.0}) {
      SCOPED_TRACE(name + " that recomputes " + std::to_string(ratio));
      expectHoldsWhatThePlanSays(withRecompute(buildSchedule(name, kRanks, kPlanMicroBatches),
                                               std::vector<bool>(kRanks, true)),
                                 ratio);
    }
  }
}

}  // namespace
}  // namespace pipetrace
