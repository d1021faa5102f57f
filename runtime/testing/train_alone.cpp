#include <ATen/autocast_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "runtime/testing/training_case.h"
#include "runtime/testing/training_parts.h"
#include "runtime/train/model/random_numbers.h"

namespace pipetrace::testing {

at::Tensor lossAlone(const Model& model, const std::vector<std::shared_ptr<BlockModule>>& blocks,
                     std::map<std::string, at::Tensor>& tensors, int step, int microBatch) {
  const auto take = [&](const std::vector<std::string>& names) {
    Tensors taken;
    // The gradients of each block are added up before those of another.
    for (const std::string& name : names) {
      const at::Tensor& tensor = tensors.at(name);
      taken.push_back(tensor.requires_grad() ? tensor.view_as(tensor) : tensor);
    }
    return taken;
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const RandomNumbersAt place({kSeed, step, microBatch, static_cast<int>(b)});
    const Tensors outputs = blocks[b]->run(take(model.blocks[b].inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      tensors[model.blocks[b].outputs[i].name] = outputs[i];
    }
  }
  return model.loss(take(model.lossInputs));
}

namespace {

/// As `with torch.autocast("cpu", type, cache_enabled=False)` in Python.
class TorchAutocast {
 public:
  explicit TorchAutocast(Precision precision) : isOn_(precision != Precision::kFp32) {
    if (!isOn_) return;
    at::autocast::set_autocast_enabled(c10::kCPU, true);
    at::autocast::set_autocast_cache_enabled(false);
    at::autocast::set_autocast_dtype(c10::kCPU,
                                     precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf);
  }
  ~TorchAutocast() {
    if (!isOn_) return;
    at::autocast::set_autocast_enabled(c10::kCPU, false);
    at::autocast::set_autocast_cache_enabled(true);
  }
  TorchAutocast(const TorchAutocast&) = delete;
  TorchAutocast& operator=(const TorchAutocast&) = delete;

 private:
  const bool isOn_;
};

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

  /// That of makerOf(), written out.
  std::unique_ptr<torch::optim::Optimizer> makeOptimizer() const {
    if (!training_.decays) {
      return std::make_unique<torch::optim::Adam>(parameters(), torch::optim::AdamOptions(kRate));
    }
    Tensors decayed;
    Tensors others;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (const at::Tensor& parameter : blocks_[b]->parameters()) {
        (b != 1 && parameter.dim() > 1 ? decayed : others).push_back(parameter);
      }
    }
    using torch::optim::AdamWOptions;
    auto optimizer =
        std::make_unique<torch::optim::AdamW>(decayed, AdamWOptions(kRate).weight_decay(kDecay));
    optimizer->add_param_group(torch::optim::OptimizerParamGroup(
        others, std::make_unique<AdamWOptions>(AdamWOptions(kRate).weight_decay(0))));
    return optimizer;
  }

  void forgetGradients() const {
    for (at::Tensor parameter : parameters()) parameter.mutable_grad() = at::Tensor();
  }

  /// The micro-batch's share of the loss; `batches` by replica.
  at::Tensor lossOf(const std::vector<Batch>& batches, int step, int microBatch) const {
    const TorchAutocast autocast(training_.precision);
    std::map<std::string, at::Tensor> tensors;
    const auto replica = static_cast<std::size_t>(microBatch / training_.microBatches);
    const auto own = static_cast<std::size_t>(microBatch % training_.microBatches);
    for (const auto& [name, tensor] : batches[replica]) {
      tensors[name] = tensor.tensor_split(training_.microBatches)[own];
    }
    const at::Tensor loss = lossAlone(model_, blocks_, tensors, step, microBatch);
    const double rows = static_cast<double>(tensors.at("targets").size(0));
    return loss * (rows / (training_.rowsOf(step) * static_cast<double>(batches.size())));
  }

  /// From the micro-batch's share of the loss.
  void runBackward(const std::vector<Batch>& batches, int step, int microBatch) const {
    const at::Tensor loss = lossOf(batches, step, microBatch);
    loss.backward(at::full_like(loss, training_.lossScale));
  }

  void takeOutScale() const {
    if (training_.lossScale == 1) return;
    for (const at::Tensor& parameter : parameters()) {
      parameter.grad().mul_(static_cast<float>(1 / training_.lossScale));
    }
  }

  /// The norm of the gradients before it.
  double clip() const {
    double sum = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (const auto& parameter : blocks_[b]->named_parameters()) {
        if (isLaterUse(model_.blocks[b].name, parameter.key())) continue;
        const at::Tensor& gradient = parameter.value().grad();
        if (!gradient.defined()) continue;
        const double norm =
            at::linalg_vector_norm(gradient, 2, {}, false, at::kDouble).item<double>();
        sum += norm * norm;
      }
    }
    const double factor = training_.clipNorm / (std::sqrt(sum) + 1e-6);
    if (factor >= 1) return std::sqrt(sum);
    for (const at::Tensor& parameter : parameters()) {
      if (parameter.grad().defined()) parameter.grad().mul_(factor);
    }
    return std::sqrt(sum);
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

  bool isLaterUse(const std::string& block, const std::string& parameter) const {
    for (const auto& tie : model_.ties) {
      for (std::size_t use = 1; use < tie.size(); ++use) {
        if (tie[use].block == block && tie[use].parameter == parameter) return true;
      }
    }
    return false;
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
    if (!a.isFirstPart()) continue;
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
    for (const int mb : orderOf(plan, rank, stage, true)) model.runBackward(batches, step, mb);
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
  const auto optimizer = model.makeOptimizer();
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
    model.takeOutScale();
    RankResult& ofLast = results[static_cast<std::size_t>(plan.lastRankOf(0))];
    ofLast.push_back(lossTensor(lossOf(model, plan, batches, step)));
    if (training.clipNorm > 0) ofLast.push_back(lossTensor(model.clip()));
    append(appendGradients);
    optimizer->step();
  }
  append(appendParameters);
  return results;
}

}  // namespace pipetrace::testing
