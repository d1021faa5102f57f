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
#include "runtime/train/data/data_loader.h"
#include "runtime/train/loss_shares.h"
#include "runtime/train/model/model.h"
#include "runtime/train/stage_sums.h"
#include "runtime/train/trained_stages.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// A plan's part of the training of some stages.
struct TorchProgramOptions {
  int numMicroBatches = 1;  ///< of a replica
  int replica = 0;          ///< of the rank (Plan::replicaOf())
  /// The learning rate of a step; empty: as the optimizer was made.
  std::function<double(int step)> learningRate = {};
  /// Whether loss() is to be reported by this rank. A last stage on several ranks, or in several
  /// replicas, gives it on all: that of all their rows.
  bool reportsLoss = true;
  std::vector<Metric> metrics = {};  ///< the same on all ranks
  /// A plan without backward passes makes the tensors of the loss, but no loss (predictions()).
  bool predicts = false;
  /// Makes the examples of a replica's step, in place of load(). A DataLoader calls it ahead, on
  /// its thread, and each step waits for its own examples in a job `data`. Not called on ranks that
  /// need nothing of the batch. Empty: load() gives the examples.
  std::function<Batch(int step, int replica)> batch = {};
  int firstStep = 0;     ///< with `batch`
  int steps = 0;         ///< with `batch`: how many steps there are from `firstStep` on
  int batchesAhead = 1;  ///< with `batch`: 0 makes each batch when its step begins
};

/// TrainedStagesOptions and TorchProgramOptions of stages that only one plan trains.
struct TorchWorkOptions {
  Model model;
  Partition partition;
  int numMicroBatches = 1;
  int replica = 0;
  std::uint64_t seed = 0;
  OptimizerMaker optimizer;
  std::function<double(int step)> learningRate;
  Precision precision = Precision::kFp32;
  LossScale lossScale = LossScale::fixed(1);
  double clipNorm = 0;
  StashUpdate stashUpdate = StashUpdate::kNewest;
  bool reportsLoss = true;
  std::function<Batch(int step, int replica)> batch;
  RankDevice* device = nullptr;
  int steps = 0;
  int batchesAhead = 1;
};

/// Trains or evaluates the stages of one rank under a plan, with the blocks of a model and
/// autograd, on the CPU or on a device with streams. There a batch is copied from pinned memory on
/// the data stream.
///
/// A plan without backward passes evaluates: modules are in eval() mode, and there is no autograd.
/// Weights, their versions and the learning rate stay as they are. Where there are several
/// versions, the newest is used.
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
  /// Makes the stages, too. Throws Error as TrainedStages does, for a missing optimizer, and for
  /// batches without steps. Begins to load data, if the options have `batch`.
  TorchWork(TorchWorkOptions options, const std::vector<int>& stages);
  /// `stages` must outlive it. Several works may use them in turn, step by step.
  TorchWork(TrainedStages& stages, TorchProgramOptions options);

  /// Takes the data of other steps from now on, between two steps; an empty function: of none.
  void loadFrom(std::function<Batch(int step, int replica)> batch, int firstStep, int steps);

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
  /// Does nothing if takeScalarSum() left out the step.
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
  std::vector<std::vector<double>> scalarAllReduceTerms(const std::vector<int>& stages) override;
  /// Throws Error as StepAgreement::endStep() does.
  void takeScalarSum(double sum) override;
  /// "grad_norm", and with a dynamic scale "loss_scale", on the rank that reports the loss.
  std::vector<std::pair<const char*, double>> counters() const override;
  /// The first call after a step waits for the device.
  std::optional<double> loss() const override;
  bool hasMetrics() const override { return !options_.metrics.empty(); }
  /// Waits for the device.
  std::vector<double> sharesOfStep() const override;
  void takeSums(const std::vector<double>& ofAll) override;
  /// Those of the step, by Metrics; nullopt where loss() is.
  std::optional<std::vector<double>> metrics() const;
  /// A plan that predicts makes this of a micro-batch.
  struct Prediction {
    std::int64_t firstRow = 0;  ///< of the replica's batch
    Tensors tensors;            ///< those of Model::lossInputs that blocks make
  };
  /// Those of the step, in the order of the forwards; empty where the rank has no last stage.
  const std::vector<Prediction>& predictions() const { return predictions_; }
  RankDevice* device() override { return stages_.options().device; }

  const Stage& stage(int stage) const { return stages_.at(stage); }
  /// The parameters of the rank's stages, in the order of the stages.
  std::vector<at::Tensor> parameters() const { return tensorsOf(namedParameters()); }
  /// The same with their names: block of the model and name, "3.weight".
  NamedParameters namedParameters() const { return stages_.namedParameters(); }
  /// Stages whose weight halves had nothing to do so far.
  const std::set<int>& emptyHalves() const { return emptyHalves_; }
  /// The versions of a stage's weights, in a plan without a flush.
  const WeightStash& stash(int stage) const { return *stages_.stashes().at(stage); }
  const StepAgreement& agreement() const { return stages_.agreement(); }
  /// The stages and micro-batches of which something is kept for a backward, or a half of it;
  /// ascending.
  std::vector<std::pair<int, int>> liveMicroBatches() const;

 private:
  TorchWork(std::unique_ptr<TrainedStages> own, TorchProgramOptions options);
  void begin();
  void requireVersionsFit(const Plan& plan) const;
  Stage& at(int stage) { return stages_.at(stage); }
  bool isLast(int stage) const { return stages_.isLast(stage); }
  const Model& model() const { return stages_.options().model; }
  /// A stage that takes tensors of the batch, or shares of its rows.
  bool needsBatch(int stage) const;
  void addBuckets();
  /// Points a stage's parameters at the version for that micro-batch.
  void useVersionFor(int stage, int microBatch);
  void releaseVersionOf(int stage, int microBatch);
  void bringToDevice(Tensors& tensors) const;
  void addResults(const Stage& last, int microBatch);
  static void addTo(at::Tensor& sum, const at::Tensor& more);
  MicroBatchRows batchSplit() const {
    return {.rows = batchRows_, .microBatches = options_.numMicroBatches};
  }

  const std::unique_ptr<TrainedStages> own_;  // null: they are another's
  TrainedStages& stages_;
  const TorchProgramOptions options_;
  StageSums buckets_;
  bool isAsynchronous_ = false;
  int replicasOfShares_ = 1;  // whose rows make up LossShares::lossShare()
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
  std::vector<at::Tensor> metricSums_;  // as lossSum_, of metrics
  std::vector<double> metricsOfAll_;    // of all ranks of the last stage; empty: as lossOfAll_
  std::vector<Prediction> predictions_;
  mutable std::optional<double> loss_;  // once it was asked for
  std::unique_ptr<DataLoader> data_;    // null: load() gives the batch, or none is needed
};

/// For people: a plan with split backwards takes longer than it could, because these stages have
/// nothing to do in their weight halves. "" if it does not. The times are simulated, with forwards,
/// input halves and weight halves of equal length elsewhere.
std::string noteOfEmptyHalves(const CheckedPlan& plan, const std::set<int>& stages);

}  // namespace pipetrace
