#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/control/control_channel.h"
#include "runtime/device/rank_device.h"
#include "runtime/inspect/step_inspection.h"
#include "runtime/record/recorded_streams.h"
#include "runtime/stage_work.h"
#include "runtime/train/data/data_loader.h"
#include "runtime/train/model/model.h"
#include "runtime/train/optimize/precision.h"
#include "runtime/transport/transport.h"
#include "schedule/check/checked_plan.h"
#include "schedule/partition/partition_file.h"

namespace pipetrace::testing {

enum class CaseModel {
  kMlp,  ///< a layer a stage
  /// Eight blocks: three inputs, a mask that every block uses, tied embeddings, skips, dropout of
  /// 0.1, layer norms, linear layers of the runtime and of torch.
  kRich,
};

/// A small training run on random data: cross-entropy, Adam or AdamW.
struct TrainingCase {
  int numStages = 4;
  int microBatches = 8;
  int rows = 32;
  std::vector<int> rowsOfSteps = {};  ///< one after the other, in place of `rows`
  int steps = 3;
  CaseModel model = CaseModel::kMlp;
  double recompute = 0;  ///< of each stage's blocks
  /// AdamW in place of Adam. It decays matrices, but for those of the second block.
  bool decays = false;
  Precision precision = Precision::kFp32;
  double lossScale = 1;  ///< fixed
  double clipNorm = 0;
  /// Replicas have equal parts of the batch of this many times `rows`; 1: batches of their own.
  int batchParts = 1;

  int rowsOf(int step) const {
    return rowsOfSteps.empty() ? rows
                               : rowsOfSteps[static_cast<std::size_t>(step) % rowsOfSteps.size()];
  }
};

Model modelOf(const TrainingCase& training);
Partition partitionOf(const TrainingCase& training);

/// The results of a rank. For each step, if it has the last stage, the loss, and the norm of the
/// gradients where they are clipped. Then the gradient of each parameter of its stages that has
/// one. In the end the parameters.
using RankResult = std::vector<at::Tensor>;

/// Called before each backward of a rank.
using BeforeBackward = std::function<void(int step, int microBatch)>;

/// The surroundings of a rank that trains a case.
struct OnDevice {
  RankDevice* device = nullptr;  ///< where it computes; null: the CPU
  RecordedStreams streams = {};
  ControlChannel* control = nullptr;
  bool readsGradients = true;  ///< after each step; else the result has none
  /// Makes the work that the executor gets, around the rank's own. Empty: that itself.
  std::function<std::unique_ptr<StageWork>(StageWork& inner)> around = {};
  int inspectEvery = 0;  ///< InspectOptions::every; 0: nothing is inspected
  std::function<void(const StepInspection& step)> inspected = {};  ///< gets each inspected step
};

/// Runs one rank with the executor and TorchWork, finish() included. One thread each, any threads.
RankResult trainRank(const TrainingCase& training, const CheckedPlan& plan, Transport& transport,
                     const BeforeBackward& beforeBackward = {}, const OnDevice& on = {});

/// Trains the same model in one thread without pipeline, executor or TorchWork. For each
/// stage the whole model runs forward and backward for one micro-batch at a time, in the order in
/// which `plan` runs the backwards of that stage. Autograd adds its gradients up. Where a stage
/// stands on two ranks, each copy's are added first, then the two sums; then those of tied
/// parameters. In mixed precision all of it runs in one scope of torch's autocast. Returns by rank
/// the result of trainRank().
std::vector<RankResult> trainAlone(const TrainingCase& training, const Plan& plan);

/// "" if every tensor of `a` has the type, the shape and the bits of its counterpart in `b`; else
/// names the first that differs.
std::string firstDifference(const RankResult& a, const RankResult& b);
/// The same of all ranks; it names the first that differs.
std::string firstDifference(const std::vector<RankResult>& a, const std::vector<RankResult>& b);

}  // namespace pipetrace::testing
