#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/lanes/message_key.h"
#include "runtime/program/tensor_routes.h"
#include "runtime/transport/message.h"
#include "schedule/plan.h"
#include "trace/error.h"

namespace pipetrace {

class GradientBuckets;
class RankDevice;

/// How a batch is split into micro-batches: into floor(B/m) or ceil(B/m) rows, the longer ones
/// first.
struct MicroBatchRows {
  std::int64_t rows = 0;  ///< of the batch
  int microBatches = 1;

  std::int64_t firstOf(int microBatch) const {
    return microBatch * (rows / microBatches) +
           std::min<std::int64_t>(microBatch, rows % microBatches);
  }
  std::int64_t countOf(int microBatch) const {
    return rows / microBatches + (microBatch < rows % microBatches ? 1 : 0);
  }
};

/// For work on emulated devices: says when transfers begin and end, in place of the clock. Times
/// are CLOCK_MONOTONIC, in ns.
///
/// Threads: the compute thread.
class PlannedTransfers {
 public:
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::int64_t bytes = 0;
  };

  virtual ~PlannedTransfers() = default;

  /// When the device is through with all that it was given: when a rank comes to a receive, and
  /// acknowledges a message.
  virtual Nanoseconds now() = 0;
  /// The rank waits for an acknowledgement of `receiver`, which was given at `given`.
  virtual void awaitCredit(int receiver, Nanoseconds given) = 0;
  /// The rank comes to the send of `message`; sets its deadline to when it leaves. Empty: the times
  /// are not known yet.
  virtual std::optional<Span> send(const MessageKey& key, Message& message, int receiver) = 0;
  /// The times of such a message, once: the caller asks again while it is empty.
  virtual std::optional<Span> sent(const MessageKey& /*key*/) { return std::nullopt; }
  /// Hears for which rank this one waits, as long as it does.
  using OnWait = std::function<void(int rank)>;
  /// Waits until the times of a message are known: before receive() and, in the end, for sends.
  /// Throws Error when the run has failed.
  virtual void awaitTimes(const MessageKey& /*key*/, const OnWait& /*onWait*/) {}
  /// `message` was taken, whose receive was posted at `posted`. `waitsForPost`: it moves no earlier
  /// than that. Sets its deadline to when it arrives. Messages that stay on a rank do not pass
  /// here.
  virtual Span receive(const MessageKey& key, Message& message, int sender, Nanoseconds posted,
                       bool waitsForPost) = 0;
  /// How long the gradients of a stage are added up, once all its ranks have come to it.
  virtual Nanoseconds reductionTime(int /*stage*/) { return 0; }
  /// How long the agreement of all ranks takes, once all have come to it.
  virtual Nanoseconds scalarAllReduceTime() { return 0; }
  /// The rank's step does not end before that.
  virtual void awaitReduction(Nanoseconds /*end*/) {}
};

/// The messages that an action gets, and those that it makes. A forward gets the tensors of the
/// stage's incoming routes and makes those of the outgoing ones (TensorRoute), in the order of the
/// routes. A backward gets the gradients of the outgoing routes and makes those of the incoming
/// ones, without the routes that have no gradient. Inputs may be moved from.
struct JobMessages {
  std::span<Message> inputs;
  std::span<Message> outputs;
};

/// Weights that several stages have in common. Each use has a sum of gradients of its own. Before
/// the optimizer's step, sums go to the ranks of the other uses (tiedSumOf(), takeTiedSum()), and
/// then addTiedSums() is called.
class TiedWeights {
 public:
  virtual ~TiedWeights() = default;

  /// For each such weight the stages of its uses, in the order of the model.
  virtual std::vector<std::vector<int>> ties() const { return {}; }
  virtual Message tiedSumOf(int /*tie*/, int /*use*/) { return {}; }
  virtual void takeTiedSum(int /*tie*/, int /*use*/, Message /*sum*/) {}
  virtual void addTiedSums() {}
};

/// Numbers of a rank's stages that all ranks add up before the optimizer's step, such as the
/// squared norms of gradients.
class ScalarTerms {
 public:
  virtual ~ScalarTerms() = default;

  /// Whether all ranks agree before optimizerStep(): on the sum of numbers that each stage has,
  /// such as the squared norms of its gradients. The same on all ranks.
  virtual bool agrees() const { return false; }
  /// The numbers of these stages, one after the other. Called on all ranks, after the gradients
  /// were added up; one rank of a stage is asked for it, and others for no stage.
  virtual std::vector<std::vector<double>> scalarAllReduceTerms(const std::vector<int>& stages) {
    return std::vector<std::vector<double>>(stages.size());
  }
  /// The sum over all stages, which all ranks hear before optimizerStep().
  virtual void takeScalarSum(double /*sum*/) {}
};

/// What the last stage makes of a step.
class StepFigures {
 public:
  virtual ~StepFigures() = default;

  /// The loss of the step, once all its forwards have run, on the rank that has the last stage.
  virtual std::optional<double> loss() const { return std::nullopt; }

  /// Whether the last stage has figures beside the loss; the same on all ranks.
  virtual bool hasMetrics() const { return false; }
  /// Where the last stage is on several ranks, at the end of a step: the shares of this rank's
  /// micro-batches in the figures of its replica. They are the loss, in a plan without backward
  /// passes, and then the metrics. The rank that reports them hears those of all, takeSums(), with
  /// the rows of each replica as weights.
  virtual std::vector<double> sharesOfStep() const { return {}; }
  virtual void takeSums(const std::vector<double>& /*ofAll*/) {}

  /// Other numbers of the step, for counters of the job log: names that stay, and values.
  virtual std::vector<std::pair<const char*, double>> counters() const { return {}; }
};

/// How jobs and the device that runs them keep time with each other.
class JobPace {
 public:
  virtual ~JobPace() = default;

  /// Called before a compute action is recorded as begun. `arrival`: the latest deadline of its
  /// inputs. Emulated devices wait here until the job may begin.
  virtual void launching(const Action& /*action*/, Nanoseconds /*arrival*/) {}

  /// Whether jobs return while the device still works. The sends that follow are then issued at
  /// once, and the job is recorded as ending when awaitJob() returns.
  virtual bool runsBehind() const { return false; }
  virtual void awaitJob() {}

  /// The device on which jobs are queued; null: they have ended when they return.
  virtual RankDevice* device() { return nullptr; }

  /// Not null on emulated devices.
  virtual PlannedTransfers* plannedTransfers() { return nullptr; }
};

/// The work behind a rank's jobs: real training (TorchWork) or waiting in its place (rehearsals,
/// ChainWork). The executor calls it in the order beginStep, awaitData, lr, the plan's actions,
/// optimizerStep.
///
/// Threads: the compute thread.
class StageWork : public TiedWeights, public ScalarTerms, public StepFigures, public JobPace {
 public:
  /// Called once, before all else, with the rank that the work is for. Throws Error for a plan that
  /// this work cannot do.
  virtual void accept(const Plan& /*plan*/, int /*rank*/) {}
  /// The tensors that go from stage to stage, of the whole pipeline; the same on all ranks.
  virtual TensorRoutes routes(const Plan& plan) const { return chainRoutes(plan.numStages); }

  /// Opens a step.
  virtual void beginStep(int /*step*/) {}
  /// Whether each step opens with a job that waits for its data, awaitData(); also in plans that
  /// only run forward.
  virtual bool hasData() const { return false; }
  virtual void awaitData(int /*step*/) {}
  /// The number of rows of the step's batch, once its data are there; 0: this rank has none of it.
  virtual std::int64_t rows() const { return 0; }
  /// The job before the plan's actions, but for plans that only run forward.
  virtual void lr(int step) = 0;

  /// Runs a forward. The work takes the batch from elsewhere.
  virtual void runForward(int stage, int microBatch, JobMessages messages) = 0;
  /// Runs a backward. The last stage starts from its loss.
  virtual void runBackward(int stage, int microBatch, JobMessages messages) = 0;

  /// The halves of a backward, where a plan splits it: the gradient of the input (I), and later
  /// those of the weights (W). As they stand, I does all of it and W nothing.
  virtual void runBackwardInput(int stage, int microBatch, JobMessages messages) {
    runBackward(stage, microBatch, messages);
  }
  virtual void backwardWeight(int /*stage*/, int /*microBatch*/) {}

  /// Runs a part of a backward or of a weight half (Action::part). The first part gets the inputs
  /// of the whole, and the last makes its outputs. As it stands, throws Error.
  virtual void runPart(const Action& part, JobMessages /*messages*/) {
    throw Error("this work cannot run " + toText(part) + ": it has no backward in parts");
  }

  /// Runs a forward again, before the backward that needs it, where a plan says so. As it stands,
  /// it does nothing: for work that keeps its activations, or recomputes within its backward.
  virtual void recompute(int /*stage*/, int /*microBatch*/) {}

  /// A forward and a backward fused into one action. As it stands, one runs after the other.
  virtual void runForwardBackward(const Action& pair, JobMessages ofForward,
                                  JobMessages ofBackward) {
    runForward(pair.stage, pair.microBatch, ofForward);
    runBackward(pair.backwardStage, pair.backwardMicroBatch, ofBackward);
  }

  /// Changes the weights: of all stages at the end of a step, or, in a plan without a flush, of one
  /// stage within it.
  virtual void optimizerStep() = 0;
  virtual void update(int /*stage*/) { optimizerStep(); }

  /// The gradients of stages that stand on several ranks, which are added up before
  /// optimizerStep(), or before each update(); null: the work has none.
  virtual GradientBuckets* buckets() { return nullptr; }

  /// In plans without a flush, for the job log: the version of its weights with which a compute
  /// action runs, or, of JobKind::kOptimizer, which the update of a stage makes. Versions count
  /// over all steps. Else kNotGiven.
  virtual std::int32_t versionOf(const Action& /*action*/) const { return kNotGiven; }

  /// The run has failed, and no job follows: ends what runs beside the jobs, such as the loading of
  /// data. May wait for code of the user's.
  virtual void abandon() {}
};

/// Does what another work does. Derived classes override what they watch or change. A fused pair
/// runs as its two parts here, so that they see both.
class ForwardingWork : public StageWork {
 public:
  /// `inner` must outlive it.
  explicit ForwardingWork(StageWork& inner) : inner_(inner) {}

  void accept(const Plan& plan, int rank) override { inner_.accept(plan, rank); }
  TensorRoutes routes(const Plan& plan) const override { return inner_.routes(plan); }
  std::vector<std::vector<int>> ties() const override { return inner_.ties(); }
  void beginStep(int step) override { inner_.beginStep(step); }
  bool hasData() const override { return inner_.hasData(); }
  void awaitData(int step) override { inner_.awaitData(step); }
  std::int64_t rows() const override { return inner_.rows(); }
  void lr(int step) override { inner_.lr(step); }
  void runForward(int stage, int microBatch, JobMessages messages) override {
    inner_.runForward(stage, microBatch, messages);
  }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    inner_.runBackward(stage, microBatch, messages);
  }
  void runBackwardInput(int stage, int microBatch, JobMessages messages) override {
    inner_.runBackwardInput(stage, microBatch, messages);
  }
  void backwardWeight(int stage, int microBatch) override {
    inner_.backwardWeight(stage, microBatch);
  }
  void runPart(const Action& part, JobMessages messages) override {
    inner_.runPart(part, messages);
  }
  void recompute(int stage, int microBatch) override { inner_.recompute(stage, microBatch); }
  void optimizerStep() override { inner_.optimizerStep(); }
  void update(int stage) override { inner_.update(stage); }
  GradientBuckets* buckets() override { return inner_.buckets(); }
  Message tiedSumOf(int tie, int use) override { return inner_.tiedSumOf(tie, use); }
  void takeTiedSum(int tie, int use, Message sum) override {
    inner_.takeTiedSum(tie, use, std::move(sum));
  }
  void addTiedSums() override { inner_.addTiedSums(); }
  bool agrees() const override { return inner_.agrees(); }
  std::vector<std::vector<double>> scalarAllReduceTerms(const std::vector<int>& stages) override {
    return inner_.scalarAllReduceTerms(stages);
  }
  void takeScalarSum(double sum) override { inner_.takeScalarSum(sum); }
  std::vector<std::pair<const char*, double>> counters() const override {
    return inner_.counters();
  }
  std::int32_t versionOf(const Action& action) const override { return inner_.versionOf(action); }
  std::optional<double> loss() const override { return inner_.loss(); }
  bool hasMetrics() const override { return inner_.hasMetrics(); }
  std::vector<double> sharesOfStep() const override { return inner_.sharesOfStep(); }
  void takeSums(const std::vector<double>& ofAll) override { inner_.takeSums(ofAll); }
  void launching(const Action& action, Nanoseconds arrival) override {
    inner_.launching(action, arrival);
  }
  void abandon() override { inner_.abandon(); }
  bool runsBehind() const override { return inner_.runsBehind(); }
  void awaitJob() override { inner_.awaitJob(); }
  RankDevice* device() override { return inner_.device(); }
  PlannedTransfers* plannedTransfers() override { return inner_.plannedTransfers(); }

 private:
  StageWork& inner_;
};

}  // namespace pipetrace
