#include "runtime/testing/training_case.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <cstring>
#include <map>

#include "runtime/executor.h"
#include "runtime/testing/forwarding_work.h"
#include "runtime/train/random_numbers.h"
#include "runtime/train/torch_work.h"
#include "trace/error.h"

namespace pipetrace::testing {

namespace {

constexpr std::uint64_t kSeed = 1234;

Batch batchOf(const TrainingCase& training, int step, int replica) {
  at::Generator random = at::make_generator<at::CPUGeneratorImpl>(
      99 + static_cast<std::uint64_t>(step + 1000 * replica));
  const auto tokens = [&](std::int64_t most, at::IntArrayRef sizes) {
    return at::randint(most, sizes, random, at::kLong);
  };
  const std::int64_t rows = training.rowsOf(step);
  Batch batch;
  if (training.model == CaseModel::kMlp) {
    batch["inputs"] = at::randn({rows, 12}, random);
    batch["targets"] = tokens(5, {rows});
    return batch;
  }
  batch["tokens"] = tokens(7, {rows, 3});
  batch["features"] = at::randn({rows, 12}, random);
  batch["gains"] = at::randn({rows, 1, 1}, random);
  batch["targets"] = tokens(7, {rows, 3});
  return batch;
}

std::unique_ptr<torch::optim::Optimizer> makeOptimizer(std::vector<at::Tensor> parameters) {
  return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                              torch::optim::AdamOptions(0.01));
}

void appendGradients(RankResult& result, const Tensors& parameters) {
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) result.push_back(parameter.grad().clone().cpu());
  }
}

void appendParameters(RankResult& result, const Tensors& parameters) {
  for (const at::Tensor& parameter : parameters) result.push_back(parameter.detach().clone().cpu());
}

at::Tensor lossTensor(double loss) { return torch::tensor(loss, torch::kDouble); }

// Says before each backward where it is.
class WatchedWork : public ForwardingWork {
 public:
  WatchedWork(TorchWork& inner, const BeforeBackward& watcher)
      : ForwardingWork(inner), watcher_(watcher) {}
  void beginStep(int step) override {
    step_ = step;
    ForwardingWork::beginStep(step);
  }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    if (watcher_) watcher_(step_, microBatch);
    ForwardingWork::runBackward(stage, microBatch, messages);
  }

 private:
  const BeforeBackward& watcher_;
  int step_ = 0;
};

}  // namespace

RankResult trainRank(const TrainingCase& training, const CheckedPlan& plan, Transport& transport,
                     const BeforeBackward& beforeBackward, const OnDevice& on) {
  torch::set_num_threads(1);
  TorchWork torchWork({.model = modelOf(training),
                       .partition = partitionOf(training),
                       .numMicroBatches = training.microBatches,
                       .replica = plan->replicaOf(transport.rank()),
                       .seed = kSeed,
                       .optimizer = makeOptimizer,
                       .reportsLoss = plan->lastRankOf(0) == transport.rank(),
                       .device = on.device},
                      plan->stagesOfRank(transport.rank()));
  WatchedWork watched(torchWork, beforeBackward);
  const std::unique_ptr<StageWork> own = on.around ? on.around(watched) : nullptr;
  Executor executor(plan, own ? *own : watched, transport, on.streams, {.control = on.control});
  RankResult result;
  for (int step = 0; step < training.steps; ++step) {
    torchWork.load(batchOf(training, step, plan->replicaOf(transport.rank())));
    executor.runStep(step);
    if (const auto loss = torchWork.loss()) result.push_back(lossTensor(*loss));
    if (on.readsGradients) appendGradients(result, torchWork.parameters());
    if (!torchWork.liveMicroBatches().empty()) throw Error("micro-batches are left over");
  }
  executor.finish();
  appendParameters(result, torchWork.parameters());
  return result;
}

namespace {

/// The whole model in one process.
class AloneModel {
 public:
  explicit AloneModel(const TrainingCase& training)
      : training_(training), model_(modelOf(training)) {
    const Partition partition = partitionOf(training);
    int stage = 0;
    int inStage = 0;
    for (std::size_t b = 0; b < model_.blocks.size(); ++b) {
      torch::manual_seed(weightSeed(kSeed, static_cast<int>(b)));
      blocks_.push_back(model_.blocks[b].make());
      if (inStage == partition.blocks[static_cast<std::size_t>(stage)]) {
        ++stage;
        inStage = 0;
      }
      ++inStage;
      stageOf_.push_back(stage);
    }
    const at::NoGradGuard noGrad;
    for (const auto& tie : model_.ties) {
      for (const BlockParameter& use : tie) find(use).copy_(find(tie[0]));
    }
  }

  Tensors parametersOf(int stage) const {
    Tensors all;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (stageOf_[b] != stage) continue;
      for (const at::Tensor& parameter : blocks_[b]->parameters()) all.push_back(parameter);
    }
    return all;
  }

  Tensors parameters() const {
    Tensors all;
    for (int stage = 0; stage < training_.numStages; ++stage) {
      for (const at::Tensor& parameter : parametersOf(stage)) all.push_back(parameter);
    }
    return all;
  }

  void forgetGradients() const {
    for (at::Tensor parameter : parameters()) parameter.mutable_grad() = at::Tensor();
  }

  /// The scaled loss of a micro-batch; `batches` by replica.
  at::Tensor lossOf(const std::vector<Batch>& batches, int step, int microBatch) const {
    std::map<std::string, at::Tensor> tensors;
    const auto replica = static_cast<std::size_t>(microBatch / training_.microBatches);
    const auto own = static_cast<std::size_t>(microBatch % training_.microBatches);
    for (const auto& [name, tensor] : batches[replica]) {
      tensors[name] = tensor.tensor_split(training_.microBatches)[own];
    }
    const auto take = [&](const std::vector<std::string>& names) {
      Tensors taken;
      // The gradients of each block are added up before those of another.
      for (const std::string& name : names) {
        const at::Tensor& tensor = tensors.at(name);
        taken.push_back(tensor.requires_grad() ? tensor.view_as(tensor) : tensor);
      }
      return taken;
    };
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const RandomNumbersAt place({kSeed, step, microBatch, static_cast<int>(b)});
      const Tensors outputs = blocks_[b]->run(take(model_.blocks[b].inputs));
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        tensors[model_.blocks[b].outputs[i].name] = outputs[i];
      }
    }
    const double rows = static_cast<double>(tensors.at("targets").size(0));
    return model_.loss(take(model_.lossInputs)) *
           (rows / (training_.rowsOf(step) * static_cast<double>(batches.size())));
  }

  void addTied() {
    for (const auto& tie : model_.ties) {
      at::Tensor sum;
      for (const BlockParameter& use : tie) {
        sum = sum.defined() ? sum + find(use).grad() : find(use).grad();
      }
      for (const BlockParameter& use : tie) find(use).mutable_grad() = sum.clone();
    }
  }

 private:
  at::Tensor find(const BlockParameter& use) const {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (model_.blocks[b].name == use.block) return blocks_[b]->named_parameters()[use.parameter];
    }
    return {};
  }

  const TrainingCase& training_;
  const Model model_;
  std::vector<std::shared_ptr<BlockModule>> blocks_;
  std::vector<int> stageOf_;
};

/// The micro-batches of `rank` at a stage, in the order of its actions of that pass.
std::vector<int> orderOf(const Plan& plan, int rank, int stage, bool backward) {
  std::vector<int> order;
  for (const Action& a : plan.ranks[static_cast<std::size_t>(rank)]) {
    const bool isPair = a.kind == JobKind::kForwardBackward;
    if (backward && isPair && a.backwardStage == stage) {
      order.push_back(a.backwardMicroBatch);
    }
    if (a.stage != stage) continue;
    const bool isBackward = a.kind == JobKind::kBackward || a.kind == JobKind::kBackwardInput;
    const bool isForward = isPair || a.kind == JobKind::kForward;
    if (backward ? isBackward : isForward) order.push_back(a.microBatch);
  }
  return order;
}

/// The gradients of a stage's parameters: each copy's sum, and then the sum of the copies.
Tensors gradientsOf(const AloneModel& model, const Plan& plan, int stage,
                    const std::vector<Batch>& batches, int step) {
  Tensors sums;
  for (const int rank : plan.ranksOf(stage)) {
    model.forgetGradients();
    for (const int mb : orderOf(plan, rank, stage, true)) {
      model.lossOf(batches, step, mb).backward();
    }
    Tensors ofCopy;
    for (const at::Tensor& parameter : model.parametersOf(stage)) {
      ofCopy.push_back(parameter.grad().clone());
    }
    if (sums.empty()) {
      sums = ofCopy;
      continue;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sums[i] + ofCopy[i];
  }
  return sums;
}

double lossOf(const AloneModel& model, const Plan& plan, const std::vector<Batch>& batches,
              int step) {
  const at::NoGradGuard noGrad;
  double loss = 0;
  for (const int rank : plan.ranksOf(plan.numStages - 1)) {
    double ofCopy = 0;
    for (const int mb : orderOf(plan, rank, plan.numStages - 1, false)) {
      ofCopy += model.lossOf(batches, step, mb).item<double>();
    }
    loss += ofCopy;
  }
  return loss;
}

}  // namespace

std::vector<RankResult> trainAlone(const TrainingCase& training, const Plan& plan) {
  torch::set_num_threads(1);
  AloneModel model(training);
  const auto optimizer = makeOptimizer(model.parameters());
  std::vector<RankResult> results(plan.ranks.size());
  const auto append = [&](const auto& what) {
    for (int rank = 0; rank < plan.numRanks(); ++rank) {
      for (const int s : plan.stagesOfRank(rank)) {
        what(results[static_cast<std::size_t>(rank)], model.parametersOf(s));
      }
    }
  };
  for (int step = 0; step < training.steps; ++step) {
    std::vector<Batch> batches;
    for (int d = 0; d < plan.replicas; ++d) batches.push_back(batchOf(training, step, d));
    std::vector<Tensors> gradients;
    for (int s = 0; s < training.numStages; ++s) {
      gradients.push_back(gradientsOf(model, plan, s, batches, step));
    }
    for (int s = 0; s < training.numStages; ++s) {
      const Tensors parameters = model.parametersOf(s);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        at::Tensor(parameters[i]).mutable_grad() = gradients[static_cast<std::size_t>(s)][i];
      }
    }
    model.addTied();
    results[static_cast<std::size_t>(plan.lastRankOf(0))].push_back(
        lossTensor(lossOf(model, plan, batches, step)));
    append(appendGradients);
    optimizer->step();
  }
  append(appendParameters);
  return results;
}

std::string firstDifference(const RankResult& a, const RankResult& b) {
  if (a.size() != b.size()) {
    return std::to_string(a.size()) + " tensors, not " + std::to_string(b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const at::Tensor x = a[i].contiguous();
    const at::Tensor y = b[i].contiguous();
    if (x.dtype() == y.dtype() && x.sizes() == y.sizes() &&
        std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0) {
      continue;
    }
    const at::Tensor difference = (x.to(at::kDouble) - y.to(at::kDouble)).norm();
    return "tensor " + std::to_string(i) + " of " + std::to_string(a.size()) + " differs by " +
           std::to_string(difference.item<double>()) + " of " +
           std::to_string(y.to(at::kDouble).norm().item<double>());
  }
  return "";
}

std::string firstDifference(const std::vector<RankResult>& a, const std::vector<RankResult>& b) {
  if (a.size() != b.size()) return "other numbers of ranks";
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    const std::string difference = firstDifference(a[rank], b[rank]);
    if (!difference.empty()) return "rank " + std::to_string(rank) + ": " + difference;
  }
  return "";
}

}  // namespace pipetrace::testing
