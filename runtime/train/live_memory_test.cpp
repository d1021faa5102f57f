// A rank really holds between its jobs what the simulation of its plan says.
//
// All ranks run on this thread, so that every allocation is known to be of the job that runs. There
// is no transport: messages are handed on as copies, which are no rank's.
//
// LibTorch's CPU allocator reports the bytes of every tensor. A rank's are those that its jobs have
// allocated and not freed, and the messages that they took. So a tensor that is both an output and
// saved by autograd counts for both neighbours. The weights, their gradients and the batch are
// there before the first job, and do not count.
//
// While a job runs it needs some memory more, for tensors that it makes and frees: gradients on
// their way back. How much depends on the job alone, not on what else is held. So the jobs of one
// micro-batch, alone in the process, give StageCosts::working, and the peak of a step follows.
#include <ATen/Parallel.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/train/torch_work.h"
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
constexpr std::int64_t kRows = 16;  // of a micro-batch

constexpr std::int64_t kTensor = kRows * kUnits * 4;  // bytes of an activation
constexpr std::int64_t kMeans = 2 * kRows * 4;  // and of what a LayerNorm saves beside its input
constexpr std::int64_t kNumbers = 64;           // the loss, and the like

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

/// The bytes that LibTorch holds of what this thread has allocated since it was made.
class CountedBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
    now_ += size;
    most_ = std::max(most_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t now() const { return now_; }
  std::int64_t most() const { return most_; }
  void forgetMost() { most_ = now_; }

 private:
  std::int64_t now_ = 0;
  std::int64_t most_ = 0;
};

/// The stages of a pipeline, on this thread.
class Pipeline {
 public:
  Pipeline(const std::vector<std::vector<int>>& stagesOfRanks, int numStages, double recompute)
      : last_(numStages - 1) {
    at::set_num_threads(1);  // tensors are too small for more
    Partition partition = evenPartition(kBlocks, numStages);
    partition.recomputeRatio.assign(partition.blocks.size(), recompute);
    const Batch batch{{"inputs", at::randn({kPlanMicroBatches * kRows, kUnits})},
                      {"targets", at::randn({kPlanMicroBatches * kRows, kUnits})}};
    for (const std::vector<int>& stages : stagesOfRanks) {
      works_.push_back(
          std::make_unique<TorchWork>(TorchWorkOptions{.model = tallModel(),
                                                       .partition = partition,
                                                       .numMicroBatches = kPlanMicroBatches,
                                                       .optimizer = sgd},
                                      stages));
      works_.back()->load(batch);
      works_.back()->beginStep(0);
      for (at::Tensor& parameter : works_.back()->parameters()) {
        parameter.mutable_grad() = at::zeros_like(parameter);
      }
    }
    held_.resize(works_.size());
    most_.resize(works_.size());
  }

  /// Whether the messages that the action needs are there.
  bool canRun(const Action& action) const {
    switch (action.kind) {
      case JobKind::kForward: return hasInput(action.stage, action.microBatch);
      case JobKind::kBackward:
      case JobKind::kBackwardInput: return hasGradient(action.stage, action.microBatch);
      case JobKind::kForwardBackward:
        return hasInput(action.stage, action.microBatch) &&
               hasGradient(action.backwardStage, action.backwardMicroBatch);
      default: return true;
    }
  }

  void run(int rank, const Action& action) {
    const auto r = static_cast<std::size_t>(rank);
    const std::int64_t others = bytes_->now() - inTransit_;
    bytes_->forgetMost();
    const std::int64_t inTransit = inTransit_;
    switch (action.kind) {
      case JobKind::kForward: forward(rank, action.stage, action.microBatch); break;
      case JobKind::kBackward: backward(rank, action.stage, action.microBatch, true); break;
      case JobKind::kBackwardInput: backward(rank, action.stage, action.microBatch, false); break;
      case JobKind::kBackwardWeight:
        works_[r]->backwardWeight(action.stage, action.microBatch);
        break;
      case JobKind::kRecompute: works_[r]->recompute(action.stage, action.microBatch); break;
      case JobKind::kForwardBackward:
        forward(rank, action.stage, action.microBatch);
        backward(rank, action.backwardStage, action.backwardMicroBatch, true);
        break;
      default: break;
    }
    most_[r] = std::max(most_[r], held_[r] + bytes_->most() - others - inTransit);
    for (const auto& [key, tensor] : made_) put(key, tensor);
    made_.clear();
    held_[r] += bytes_->now() - inTransit_ - others;
  }

  /// The bytes that a rank keeps between its jobs.
  std::int64_t held(int rank) const { return held_[static_cast<std::size_t>(rank)]; }
  /// The most that it had, within its jobs too.
  std::int64_t most(int rank) const { return most_[static_cast<std::size_t>(rank)]; }
  const TorchWork& work(int rank) const { return *works_[static_cast<std::size_t>(rank)]; }

  /// Messages from nowhere, for a stage alone.
  void makeMessages(int stage, int microBatch) {
    if (stage > 0) put({true, stage, microBatch}, at::randn({kRows, kUnits}));
    if (stage < last_) put({false, stage, microBatch}, at::randn({kRows, kUnits}));
  }

 private:
  using Key = std::tuple<bool, int, int>;  // forward, stage that needs it, micro-batch

  bool hasInput(int stage, int microBatch) const {
    return stage == 0 || messages_.contains({true, stage, microBatch});
  }
  bool hasGradient(int stage, int microBatch) const {
    return stage == last_ || messages_.contains({false, stage, microBatch});
  }
  void put(const Key& key, const at::Tensor& tensor) {
    messages_[key] = tensor.clone();
    inTransit_ += static_cast<std::int64_t>(tensor.nbytes());
  }
  std::vector<Message> take(const Key& key) {
    const auto found = messages_.find(key);
    if (found == messages_.end()) return {};
    std::vector<Message> messages(1);
    messages[0].tensor = std::move(found->second);
    inTransit_ -= static_cast<std::int64_t>(messages[0].tensor.nbytes());
    messages_.erase(found);
    return messages;
  }

  void forward(int rank, int stage, int microBatch) {
    std::vector<Message> inputs = take({true, stage, microBatch});
    std::vector<Message> outputs(stage < last_ ? 1 : 0);
    works_[static_cast<std::size_t>(rank)]->runForward(stage, microBatch, {inputs, outputs});
    if (stage < last_) made_.emplace_back(Key{true, stage + 1, microBatch}, outputs[0].tensor);
  }
  void backward(int rank, int stage, int microBatch, bool isWhole) {
    TorchWork& work = *works_[static_cast<std::size_t>(rank)];
    std::vector<Message> inputs = take({false, stage, microBatch});
    std::vector<Message> outputs(stage > 0 ? 1 : 0);
    if (isWhole) {
      work.runBackward(stage, microBatch, {inputs, outputs});
    } else {
      work.runBackwardInput(stage, microBatch, {inputs, outputs});
    }
    if (stage > 0) made_.emplace_back(Key{false, stage - 1, microBatch}, outputs[0].tensor);
  }

  const int last_;
  std::vector<std::unique_ptr<TorchWork>> works_;  // by rank
  std::vector<std::int64_t> held_;
  std::vector<std::int64_t> most_;
  const std::shared_ptr<CountedBytes> bytes_ = std::make_shared<CountedBytes>();
  const c10::DebugInfoGuard counting_{c10::DebugInfoKind::PROFILER_STATE, bytes_};
  std::map<Key, at::Tensor> messages_;
  std::vector<std::pair<Key, at::Tensor>> made_;  // by the job that runs
  std::int64_t inTransit_ = 0;                    // bytes of them
};

/// The memory of a micro-batch on one stage, from its jobs without any other.
StageCosts measure(int stage, int numStages, double recompute) {
  Pipeline alone({{stage}}, numStages, recompute);
  alone.makeMessages(stage, 0);
  const auto heldAfter = [&](JobKind kind) {
    alone.run(0, {.kind = kind, .stage = stage, .microBatch = 0});
    return alone.held(0);
  };
  const std::int64_t kept = heldAfter(JobKind::kForward);
  const std::int64_t activation = heldAfter(JobKind::kRecompute);
  const std::int64_t left = heldAfter(JobKind::kBackwardInput);
  EXPECT_LE(heldAfter(JobKind::kBackwardWeight), kNumbers);
  return {.activation = activation,
          .freedByInput = activation - left,
          .recomputed = activation - kept,
          .working = alone.most(0) - activation};
}

/// The same with a backward that is whole.
StageCosts measureWhole(int stage, int numStages, double recompute) {
  StageCosts costs = measure(stage, numStages, recompute);
  Pipeline alone({{stage}}, numStages, recompute);
  alone.makeMessages(stage, 0);
  for (const JobKind kind : {JobKind::kForward, JobKind::kRecompute, JobKind::kBackward}) {
    alone.run(0, {.kind = kind, .stage = stage, .microBatch = 0});
  }
  costs.working = alone.most(0) - costs.activation;
  return costs;
}

bool splitsBackwards(const Plan& plan) {
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      if (action.kind == JobKind::kBackwardInput) return true;
    }
  }
  return false;
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
  const auto measured = splitsBackwards(*plan) ? measure : measureWhole;
  Costs costs;
  for (int stage = 0; stage < plan->numStages; ++stage) {
    costs.stages.push_back(measured(stage, plan->numStages, recompute));
    EXPECT_GT(costs.stages.back().working, 0);
    EXPECT_LE(costs.stages.back().working, 3 * kTensor);
  }
  const Simulation simulation = simulate(plan, costs);
  Pipeline pipeline(plan->stagesByRank(), plan->numStages, recompute);
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
    for (int stage = 0; stage < kRanks; ++stage) {
      SCOPED_TRACE(std::to_string(ratio) + " of stage " + std::to_string(stage));
      const StageCosts costs = measure(stage, kRanks, ratio);
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
