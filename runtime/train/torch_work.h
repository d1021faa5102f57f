#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/program/version_count.h"
#include "runtime/stage_work.h"
#include "runtime/train/batch.h"
#include "runtime/train/data_loader.h"
#include "runtime/train/loss_shares.h"
#include "runtime/train/model/model.h"
#include "runtime/train/model/partition.h"
#include "runtime/train/optimize/loss_scale.h"
#include "runtime/train/optimize/optimizer_maker.h"
#include "runtime/train/optimize/precision.h"
#include "runtime/train/optimize/step_agreement.h"
#include "runtime/train/optimize/weight_stash.h"
#include "runtime/train/stage.h"
#include "runtime/train/stage_sums.h"

namespace pipetrace {

struct TorchWorkOptions {
  Model model;
  Partition partition;      ///< over all stages of the pipeline
  int numMicroBatches = 1;  ///< of a replica
  int replica = 0;          ///< of the rank (Plan::replicaOf())
  std::uint64_t seed = 0;   ///< of initial weights and dropout
  /// Called once, with the parameters of the rank's stages in the order of the stages. In plans
  /// without a flush it is called for each stage.
  OptimizerMaker optimizer;
  /// The learning rate of a step; empty: as the optimizer was made.
  std::function<double(int step)> learningRate;
  Precision precision = Precision::kFp32;  ///< of blocks and loss
  LossScale lossScale = LossScale::fixed(1);
  double clipNorm = 0;  ///< gradients are clipped to that norm (StepAgreement); 0: they are not
  /// For plans without a flush.
  StashUpdate stashUpdate = StashUpdate::kNewest;
  /// Whether loss() is to be reported by this rank. A last stage on several ranks, or in several
  /// replicas, gives it on all: that of all their rows.
  bool reportsLoss = true;
  /// Makes the examples of a replica's step, in place of load(). A DataLoader calls it ahead, on
  /// its thread, and each step waits for its own examples in a job `data`. Not called on ranks that
  /// need nothing of the batch. Empty: load() gives the examples.
  std::function<Batch(int step, int replica)> batch;
  /// Where the stages compute; null: on the CPU. Must outlive the work.
  RankDevice* device = nullptr;
  int steps = 0;         ///< with `batch`: how many steps there are, the first of them step 0
  int batchesAhead = 1;  ///< with `batch`: 0 makes each batch when its step begins
};

/// Trains the stages of one rank with the blocks of a model and autograd, on the CPU or on a device
/// with streams. There the thread's work goes to the rank's compute stream while the work lives
/// (RankDevice::Current). Blocks make their weights on the CPU, from where they are moved, so that
/// their bits are the same. A batch is copied from pinned memory on the data stream.
///
/// A batch of B rows is split into micro-batches of floor(B/m) or ceil(B/m) rows, the longer ones
/// first. A micro-batch's loss counts with its share of the rows (1/m if they are even). So the
/// gradients, added up over the micro-batches, are those of the mean over the batch. They are added
/// in the order in which the plan runs the backwards; floating-point sums depend on it. Stages that
/// stand on several ranks add their sums, then tied parameters add the sums of their uses in the
/// order of Model::ties.
///
/// In a plan without a flush a stage keeps as many versions of its weights as the plan needs, and
/// each job has the version that its micro-batch's forward used. The loss of a micro-batch counts
/// with its share of the rows of its update (LossShares). So each update follows the mean over its
/// rows. loss() is the mean over all rows of the step.
///
/// In mixed precision each block and the loss run under autocast (Autocast); messages have the
/// types of what the blocks make. The gradients' sums have the loss scale until all ranks agree on
/// the step (StepAgreement). A gradient that is no finite number, on any rank, leaves out the step
/// on all. In a plan without a flush it ends training. On a device nobody waits to see that: the
/// next loss is no number then.
///
/// The weight half of a backward makes the weight gradients of the runtime's linear layers
/// (linear.h). All other gradients come with the input half.
class TorchWork : public StageWork {
 public:
  /// Makes the blocks of `stages`. Throws Error for a model or partition that does not fit
  /// (cutModel()), a stage out of range, a missing optimizer, batches without steps, or a device
  /// without autocast (requireAutocast()). Begins to load data, if the options have `batch`.
  TorchWork(TorchWorkOptions options, const std::vector<int>& stages);

  /// The names of the batch's tensors that this rank's blocks need.
  std::vector<std::string> neededOfBatch() const;

  /// The next step's examples, before runStep(), where the options have no `batch`. A rank keeps
  /// those that its blocks need. Throws Error for a tensor that is missing, for fewer rows than
  /// micro-batches, or different numbers of rows.
  /// On a device the batch is copied; its memory is of no use to the work afterwards.
  void load(const Batch& batch);

  /// A forward-only plan keeps nothing for a backward. Refuses plans without a flush for models
  /// with tied parameters, for clipping, and for loss scales that do not fit (requireFits()). Also
  /// refuses them for StashUpdate::kOldest where a stage is on several ranks, whose micro-batches
  /// may have used different versions.
  void accept(const Plan& plan, int rank) override;
  void abandon() override;
  TensorRoutes routes(const Plan& plan) const override;
  std::vector<std::vector<int>> ties() const override;
  void beginStep(int step) override;
  bool hasData() const override { return data_ != nullptr; }
  /// Throws what the options' `batch` threw for that step, and as load() does.
  void awaitData(int step) override;
  std::int64_t rows() const override { return batchRows_; }
  void lr(int step) override;
  void runForward(int stage, int microBatch, JobMessages messages) override;
  void runBackward(int stage, int microBatch, JobMessages messages) override;
  void runBackwardInput(int stage, int microBatch, JobMessages messages) override;
  void backwardWeight(int stage, int microBatch) override;
  void runPart(const Action& part, JobMessages messages) override;
  void recompute(int stage, int microBatch) override;
  /// Does nothing if takeAgreement() left out the step.
  void optimizerStep() override;
  /// Throws Error for gradients that are no finite numbers, if there is a loss scale.
  void update(int stage) override;
  std::int32_t versionOf(const Action& action) const override;
  GradientBuckets* buckets() override { return &buckets_; }
  Message tiedSumOf(int tie, int use) override;
  void takeTiedSum(int tie, int use, Message sum) override;
  void addTiedSums() override;
  bool agrees() const override;
  /// Waits for the device.
  std::vector<std::vector<double>> agreementTerms(const std::vector<int>& stages) override;
  /// Throws Error as StepAgreement::endStep() does.
  void takeAgreement(double sum) override;
  /// "grad_norm", and with a dynamic scale "loss_scale", on the rank that reports the loss.
  std::vector<std::pair<const char*, double>> counters() const override;
  /// The first call after a step waits for the device.
  std::optional<double> loss() const override;
  /// Waits for the device.
  double lossShare() const override;
  void takeLoss(double ofAll) override;
  RankDevice* device() override { return options_.device; }

  const Stage& stage(int stage) const { return *stages_.at(stage); }
  /// The parameters of the rank's stages, in the order of the stages.
  std::vector<at::Tensor> parameters() const;
  /// The same with their names: block of the model and name, "3.weight".
  NamedParameters namedParameters() const;
  /// Stages whose weight halves had nothing to do so far.
  const std::set<int>& emptyHalves() const { return emptyHalves_; }
  /// The versions of a stage's weights, in a plan without a flush.
  const WeightStash& stash(int stage) const { return *stashes_.at(stage); }
  const StepAgreement& agreement() const { return agreement_; }
  /// The stages and micro-batches of which something is kept for a backward, or a half of it;
  /// ascending.
  std::vector<std::pair<int, int>> liveMicroBatches() const;

 private:
  Stage& at(int stage);
  bool isLast(int stage) const { return stage == options_.partition.numStages() - 1; }
  /// A stage that takes tensors of the batch, or shares of its rows.
  bool needsBatch(int stage) const;
  void copyTiedWeights();
  /// A stage's parameters, without those that are tied to one before.
  std::vector<at::Tensor> parametersOnce(int stage) const;
  void addBuckets();
  bool isAsynchronous() const { return !stashes_.empty(); }
  /// Points a stage's parameters at the version for that micro-batch.
  void useVersionFor(int stage, int microBatch);
  void releaseVersionOf(int stage, int microBatch);
  void bringToDevice(Tensors& tensors) const;
  void addLoss(const at::Tensor& loss, double factor);
  static void addTo(at::Tensor& sum, const at::Tensor& more);
  MicroBatchRows batchSplit() const {
    return {.rows = batchRows_, .microBatches = options_.numMicroBatches};
  }

  const TorchWorkOptions options_;
  std::optional<RankDevice::Current> current_;  // before all that makes tensors
  const ModelCut cut_;
  std::map<int, std::unique_ptr<Stage>> stages_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  StageSums buckets_;
  StepAgreement agreement_;
  std::map<int, std::unique_ptr<WeightStash>> stashes_;  // by stage, in plans without a flush
  std::optional<VersionCount> versions_;
  LossShares shares_;
  std::map<int, int> lastVersion_;                  // by stage: of the last backward
  Tensors batch_;                                   // by Model::batch; undefined what is not needed
  std::int64_t batchRows_ = 0;                      // 0: not loaded
  std::map<std::pair<int, int>, at::Tensor> tied_;  // by tie and use: sums of other ranks
  int step_ = 0;
  bool forwardOnly_ = false;
  std::set<int> emptyHalves_;
  at::Tensor lossSum_;    // double; undefined: of no micro-batch, or it went into a bucket
  at::Tensor lossOfAll_;  // of all copies of the last stage; undefined: they have not been added up
  int lossCount_ = 0;
  mutable std::optional<double> loss_;  // once it was asked for
  std::unique_ptr<DataLoader> data_;    // null: load() gives the batch, or none is needed
};

}  // namespace pipetrace
