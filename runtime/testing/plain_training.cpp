#include "runtime/testing/plain_training.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/dropout.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/testing/training_case.h"
#include "runtime/testing/training_parts.h"
#include "runtime/train/model/linear.h"
#include "runtime/train/model/random_numbers.h"
#include "schedule/partition/partition_file.h"

namespace pipetrace::testing {
namespace {

std::vector<int> backwardsOf(const Plan& plan, int rank, int stage) {
  std::vector<int> order;
  for (const Action& a : plan.ranks[static_cast<std::size_t>(rank)]) {
    if (a.kind == JobKind::kForwardBackward && a.backwardStage == stage) {
      order.push_back(a.backwardMicroBatch);
    }
    const bool isBackward = a.kind == JobKind::kBackward || a.kind == JobKind::kBackwardInput;
    if (isBackward && a.stage == stage) order.push_back(a.microBatch);
  }
  return order;
}

std::vector<int> forwardsOfLast(const Plan& plan, int rank) {
  std::vector<int> order;
  for (const Action& a : plan.ranks[static_cast<std::size_t>(rank)]) {
    const bool isForward = a.kind == JobKind::kForward || a.kind == JobKind::kForwardBackward;
    if (isForward && a.stage == plan.numStages - 1) order.push_back(a.microBatch);
  }
  return order;
}

std::vector<int> stagesOfBlocks(const Plan& plan) {
  const std::vector<int> counts = evenPartition(kPlainBlocks, plan.numStages).blocks;
  std::vector<int> stageOf;
  for (int s = 0; s < plan.numStages; ++s) {
    stageOf.insert(stageOf.end(), static_cast<std::size_t>(counts[static_cast<std::size_t>(s)]), s);
  }
  return stageOf;
}

void add(const Tensors& more, Tensors& sum) {
  if (sum.empty()) {
    for (const at::Tensor& one : more) sum.push_back(one.clone());
    return;
  }
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + more[i];
}

}  // namespace

Model modelOf(const PlainCase& training) {
  if (training.model == PlainModel::kRich) {
    Model rich = modelOf(TrainingCase{.numStages = 4, .model = CaseModel::kRich});
    if (!training.hasTies) rich.ties.clear();
    return rich;
  }
  std::vector<LayerMaker> layers;
  for (int i = 0; i < kPlainBlocks; ++i) {
    layers.emplace_back([i] {
      const int outputs = i + 1 == kPlainBlocks ? 5 : 16;
      std::vector<torch::nn::AnyModule> modules{
          torch::nn::AnyModule(Linear(i == 0 ? 12 : 16, outputs))};
      if (i + 1 < kPlainBlocks) {
        modules.emplace_back(torch::nn::Tanh());
        modules.emplace_back(torch::nn::Dropout(0.1));
      }
      return modules;
    });
  }
  return chainModel(layers, [](const at::Tensor& output, const at::Tensor& targets) {
    return torch::nn::functional::cross_entropy(output, targets);
  });
}

Batch batchOfStep(PlainModel model, int step) {
  const CaseModel data = model == PlainModel::kRich ? CaseModel::kRich : CaseModel::kMlp;
  return batchOf(TrainingCase{.rows = kPlainRows, .model = data}, step, 0);
}

std::unique_ptr<torch::optim::Optimizer> optimizerOf(bool isSgd, std::vector<at::Tensor> over) {
  using namespace torch::optim;
  if (isSgd) return std::make_unique<SGD>(over, SGDOptions(0.05).momentum(0.9).weight_decay(0.01));
  return std::make_unique<AdamW>(over, AdamWOptions(0.01));
}

PlainTraining::PlainTraining(const PlainCase& training)
    : training_(training), model_(modelOf(training)) {
  torch::set_num_threads(1);
  for (std::size_t b = 0; b < model_.blocks.size(); ++b) {
    torch::manual_seed(weightSeed(kSeed, static_cast<int>(b)));
    blocks_.push_back(model_.blocks[b].make());
  }
  for (const auto& tie : model_.ties) {
    const at::NoGradGuard noGrad;
    for (const BlockParameter& use : tie) find(use).copy_(find(tie[0]));
  }
  for (const auto& block : blocks_) {
    masters_.emplace_back();
    for (const at::Tensor& parameter : block->parameters()) {
      masters_.back().push_back(parameter.detach().clone().requires_grad_());
    }
  }
  forgetOptimizer();
}

std::vector<double> PlainTraining::train(const Plan& plan, int steps) {
  const std::vector<int> stageOf = stagesOfBlocks(plan);
  std::vector<double> losses;
  for (const int end = step_ + steps; step_ < end; ++step_) {
    useNewest();
    std::map<int, double> lossOf;  // by micro-batch
    std::map<std::vector<int>, std::vector<Tensors>> sums;
    std::vector<Tensors> gradients(blocks_.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (const int rank : plan.ranksOf(stageOf[b])) {
        const std::vector<int> order = backwardsOf(plan, rank, stageOf[b]);
        if (!sums.contains(order)) sums[order] = sumsOf(order, lossOf);
        add(sums[order][b], gradients[b]);
      }
    }
    losses.push_back(0);
    for (const int rank : plan.ranksOf(plan.numStages - 1)) {
      double ofRank = 0;
      for (const int mb : forwardsOfLast(plan, rank)) ofRank += lossOf.at(mb);
      losses.back() += ofRank;
    }
    update(gradients);
  }
  return losses;
}

void PlainTraining::trainAsPipeDream(const Plan& plan, int steps) {
  const std::vector<int> stageOf = stagesOfBlocks(plan);
  for (const int end = step_ + steps; step_ < end; ++step_) {
    std::vector<std::vector<Tensors>> versions{copiesOfMasters()};
    for (int mb = 0; mb < kPlainParts; ++mb) {
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const int used = std::max(0, mb - (plan.numStages - 1 - stageOf[b]));
        useIn(b, versions[static_cast<std::size_t>(used)][b]);
      }
      runBackward(mb, 1);
      update(takeGradients());
      versions.push_back(copiesOfMasters());
    }
  }
}

at::Tensor PlainTraining::find(const BlockParameter& use) const {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (model_.blocks[b].name == use.block) return blocks_[b]->named_parameters()[use.parameter];
  }
  return {};
}

std::vector<Tensors> PlainTraining::copiesOfMasters() const {
  std::vector<Tensors> copies;
  for (const Tensors& ofBlock : masters_) {
    copies.emplace_back();
    for (const at::Tensor& master : ofBlock) copies.back().push_back(master.detach().clone());
  }
  return copies;
}

void PlainTraining::useIn(std::size_t block, const Tensors& values) const {
  const at::NoGradGuard noGrad;
  const auto parameters = blocks_[block]->parameters();
  for (std::size_t i = 0; i < values.size(); ++i) at::Tensor(parameters[i]).copy_(values[i]);
}

void PlainTraining::useNewest() const {
  for (std::size_t b = 0; b < blocks_.size(); ++b) useIn(b, masters_[b]);
}

/// Adds to the gradients of the modules' parameters. The loss times `share`.
double PlainTraining::runBackward(int microBatch, double share) const {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : batchOfStep(training_.model, step_)) {
    tensors[name] = tensor.tensor_split(kPlainParts)[static_cast<std::size_t>(microBatch)];
  }
  const at::Tensor loss = lossAlone(model_, blocks_, tensors, step_, microBatch) * share;
  loss.backward();
  return loss.item<double>();
}

/// The gradients by block, which are cleared.
std::vector<Tensors> PlainTraining::takeGradients() const {
  std::vector<Tensors> all;
  for (const auto& block : blocks_) {
    all.emplace_back();
    for (const at::Tensor& parameter : block->parameters()) {
      all.back().push_back(parameter.grad());
      at::Tensor(parameter).mutable_grad() = at::Tensor();
    }
  }
  return all;
}

std::vector<Tensors> PlainTraining::sumsOf(const std::vector<int>& order,
                                           std::map<int, double>& lossOf) const {
  for (const int mb : order) lossOf[mb] = runBackward(mb, 1.0 / kPlainParts);
  return takeGradients();
}

void PlainTraining::update(const std::vector<Tensors>& gradients) {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const auto parameters = blocks_[b]->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      at::Tensor(parameters[i]).mutable_grad() = gradients[b][i];
    }
  }
  for (const auto& tie : model_.ties) {
    at::Tensor sum = find(tie[0]).grad();
    for (std::size_t use = 1; use < tie.size(); ++use) sum = sum + find(tie[use]).grad();
    for (const BlockParameter& use : tie) find(use).mutable_grad() = sum.clone();
  }
  const std::vector<Tensors> all = takeGradients();
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    for (std::size_t i = 0; i < all[b].size(); ++i) masters_[b][i].mutable_grad() = all[b][i];
  }
  optimizer_->step();
}

void PlainTraining::forgetOptimizer() {
  Tensors all;
  for (const Tensors& ofBlock : masters_) all.insert(all.end(), ofBlock.begin(), ofBlock.end());
  optimizer_ = optimizerOf(training_.isSgd, all);
}

}  // namespace pipetrace::testing
