#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/train/model/model.h"
#include "runtime/train/optimize/loss_scale.h"
#include "runtime/train/optimize/optimizer_maker.h"
#include "runtime/train/optimize/precision.h"
#include "runtime/train/optimize/step_agreement.h"
#include "runtime/train/optimize/weight_stash.h"
#include "runtime/train/stage.h"
#include "schedule/partition/partition_file.h"

namespace pipetrace {

struct TrainedStagesOptions {
  Model model;
  Partition partition;     ///< over all stages of the pipeline
  std::uint64_t seed = 0;  ///< of initial weights and dropout
  /// Called once, with the parameters of the rank's stages in the order of the stages. In plans
  /// without a flush it is called for each stage. Empty: the stages are never trained.
  OptimizerMaker optimizer;
  Precision precision = Precision::kFp32;  ///< of blocks and loss
  LossScale lossScale = LossScale::fixed(1);
  double clipNorm = 0;  ///< gradients are clipped to that norm (StepAgreement); 0: they are not
  /// For plans without a flush.
  StashUpdate stashUpdate = StashUpdate::kNewest;
  /// Where the stages compute; null: on the CPU. Must outlive them.
  RankDevice* device = nullptr;
};

/// The stages of one rank with all that stays when ranks go on with another plan: weights, their
/// optimizer and versions, and the loss scale.
///
/// On a device the thread's work goes to the rank's compute stream while they live
/// (RankDevice::Current). Blocks make their weights on the CPU, from where they are moved, so that
/// their bits are the same.
///
/// Threads: one.
class TrainedStages {
 public:
  /// Makes the blocks of `stages`. Throws Error for a model or partition that does not fit
  /// (cutModel()), a stage out of range, or a device without autocast (requireAutocast()).
  TrainedStages(TrainedStagesOptions options, const std::vector<int>& stages);

  const TrainedStagesOptions& options() const { return options_; }
  const ModelCut& cut() const { return cut_; }
  int numStages() const { return options_.partition.numStages(); }
  bool isLast(int stage) const { return stage == numStages() - 1; }

  using Stages = std::map<int, std::unique_ptr<Stage>>;
  const Stages& stages() const { return stages_; }
  bool has(int stage) const { return stages_.contains(stage); }
  Stage& at(int stage) const { return *stages_.at(stage); }

  /// The parameters of the rank's stages, in the order of the stages, with their names: block of
  /// the model and name, "3.weight".
  NamedParameters namedParameters() const;
  /// A stage's parameters, without those that are tied to one before.
  std::vector<at::Tensor> parametersOnce(int stage) const;

  /// Weights have versions from now on, or have one. Throws Error if there is no optimizer, or if
  /// the stages were trained the other way before.
  void keepVersions(bool several);
  bool hasVersions() const { return hasVersions_.value_or(false); }
  /// That of all stages. Throws as keepVersions(false) does.
  torch::optim::Optimizer& theOptimizer() {
    keepVersions(false);
    return *optimizer_;
  }
  /// By stage, where weights have versions.
  const std::map<int, std::unique_ptr<WeightStash>>& stashes() const { return stashes_; }
  StepAgreement& agreement() { return agreement_; }
  const StepAgreement& agreement() const { return agreement_; }

  /// Makes the modules ready for `user`, before its first forward and after another user's: to
  /// train or to evaluate (torch::nn::Module::train()). Shapes are found out again.
  void beUsedBy(const void* user, bool toTrain);

 private:
  void copyTiedWeights();

  const TrainedStagesOptions options_;
  std::optional<RankDevice::Current> current_;  // before all that makes tensors
  const ModelCut cut_;
  Stages stages_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::map<int, std::unique_ptr<WeightStash>> stashes_;
  std::optional<bool> hasVersions_;
  StepAgreement agreement_;
  const void* user_ = nullptr;
};

}  // namespace pipetrace
