#pragma once

#include <torch/optim/optimizer.h>

#include <map>
#include <memory>
#include <vector>

#include "runtime/train/data/data_loader.h"
#include "runtime/train/model/model.h"
#include "schedule/plan.h"

namespace pipetrace::testing {

constexpr int kPlainRows = 12;  ///< of a step
constexpr int kPlainParts = 4;  ///< micro-batches of a step
constexpr int kPlainBlocks = 8;

enum class PlainModel {
  kChain,  ///< each block needs the one before, and has dropout
  kRich,   ///< CaseModel::kRich: skips, tied weights, dropout
};

struct PlainCase {
  PlainModel model = PlainModel::kChain;
  bool isSgd = false;   ///< with momentum; else AdamW
  bool hasTies = true;  ///< PipeDream refuses tied weights
};

Model modelOf(const PlainCase& training);
Batch batchOfStep(PlainModel model, int step);
std::unique_ptr<torch::optim::Optimizer> optimizerOf(bool isSgd, std::vector<at::Tensor> over);

/// A whole model that trains in torch, one micro-batch after the other, without executor, TorchWork
/// or checkpoint. It may go on under another plan. Its seed is kSeed.
///
/// Threads: one.
class PlainTraining {
 public:
  explicit PlainTraining(const PlainCase& training);

  /// Steps under a plan with a flush. The gradients of a stage are the sums of its ranks', each in
  /// the order of that rank's backwards. Returns the losses.
  std::vector<double> train(const Plan& plan, int steps);
  /// Steps under PipeDream (Narayanan et al. 2019): forward i of a stage comes right after its
  /// backward i - (p - s), and an update after each backward.
  void trainAsPipeDream(const Plan& plan, int steps);
  /// The optimizer begins again, with these weights.
  void forgetOptimizer();

 private:
  at::Tensor find(const BlockParameter& use) const;
  std::vector<Tensors> copiesOfMasters() const;
  void useIn(std::size_t block, const Tensors& values) const;
  void useNewest() const;
  double runBackward(int microBatch, double share) const;
  std::vector<Tensors> takeGradients() const;
  std::vector<Tensors> sumsOf(const std::vector<int>& order, std::map<int, double>& lossOf) const;
  void update(const std::vector<Tensors>& gradients);

  const PlainCase training_;
  const Model model_;
  std::vector<std::shared_ptr<BlockModule>> blocks_;
  std::vector<Tensors> masters_;  // by block, as the optimizer has them
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  int step_ = 0;
};

}  // namespace pipetrace::testing
