#pragma once

#include <torch/csrc/autograd/edge.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runtime/batch.h"
#include "runtime/stage_work.h"

namespace pipetrace {

struct TorchWorkOptions {
  int numStages = 1;  ///< of the whole pipeline
  int numMicroBatches = 1;
  /// Mean loss of the last stage's output against its targets.
  std::function<at::Tensor(const at::Tensor& output, const at::Tensor& targets)> loss;
  /// Made once, over the parameters of the rank's stages in the order of the stages.
  std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor> parameters)>
      optimizer;
  /// The learning rate of a step; empty: as the optimizer was made.
  std::function<double(int step)> learningRate;
  /// Whether loss() is to be reported by this rank. A last stage on two ranks gives it on both.
  bool reportsLoss = true;
};

/// Trains the stages of one rank with torch::nn modules and autograd on the CPU.
///
/// A batch of B rows is split into micro-batches of floor(B/m) or ceil(B/m) rows, the longer ones
/// first. A micro-batch's loss counts with its share of the rows (1/m if they are even). So the
/// gradients, added up over the micro-batches, are those of the mean over the batch. They are added
/// in the order in which the plan runs the backwards; floating-point sums depend on it. Stages that
/// stand on two ranks add their two sums. An input half does the whole backward, a weight half
/// nothing.
///
/// A stage's output is not kept: from the forward to the backward of a micro-batch it holds the
/// input and what autograd has saved.
class TorchWork : public StageWork {
 public:
  /// `stages`: this rank's modules by stage. Throws Error if a stage is out of range, or if an
  /// optimizer, or the loss on the last stage, is missing.
  TorchWork(TorchWorkOptions options, std::map<int, torch::nn::Sequential> stages);

  /// The next step's examples, before runStep(). Every rank may be given the whole batch; only
  /// those with the first or last stage keep any of it. Throws Error for fewer rows than
  /// micro-batches, or different numbers of rows in inputs and targets.
  void load(const Batch& batch);

  /// Refuses plans without a flush. A forward-only plan keeps nothing for a backward.
  void accept(const Plan& plan) override;
  void beginStep(int step) override;
  void lr(int step) override;
  Message forward(int stage, int microBatch, Message input) override;
  Message backward(int stage, int microBatch, Message gradient) override;
  void optimizerStep() override;
  bool hasSums() const override { return true; }
  Message sumsOf(int stage) override;
  void addSums(int stage, const Message& sums) override;
  std::optional<double> loss() const override;

  /// The parameters of the rank's stages, in the order of the stages.
  std::vector<at::Tensor> parameters() const;
  /// Micro-batches that have run forward and not yet backward, over all stages.
  int liveMicroBatches() const { return static_cast<int>(live_.size()); }

 private:
  struct Live {
    at::Tensor input;  // undefined for stage 0
    // The output's place in the graph, where its backward begins; the output itself is not kept.
    torch::autograd::Edge output;
    TensorShape shape;  // the output's
    at::Tensor loss;    // of the last stage
  };

  bool isLast(int stage) const { return stage == options_.numStages - 1; }
  at::Tensor inputOf(int stage, int microBatch, const Message& message) const;
  at::Tensor scaledLoss(int microBatch, const at::Tensor& output);

  TorchWorkOptions options_;
  std::map<int, torch::nn::Sequential> stages_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::vector<at::Tensor> inputs_;   // by micro-batch
  std::vector<at::Tensor> targets_;  // by micro-batch
  std::int64_t batchRows_ = 0;
  std::map<std::pair<int, int>, Live> live_;  // by (stage, micro-batch)
  bool forwardOnly_ = false;
  double loss_ = 0;
  int lossCount_ = 0;
};

}  // namespace pipetrace
