#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/checkpoint_options.h"
#include "runtime/engine/data_set.h"
#include "runtime/engine/strategy.h"
#include "runtime/starting_ranks/process_env.h"
#include "runtime/starting_ranks/stop_signal.h"
#include "runtime/train/model/model.h"
#include "runtime/train/optimize/optimizer_maker.h"
#include "runtime/transport/nccl.h"
#include "schedule/costs.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct RunStore;

/// Where an engine runs, and what it says.
struct EngineOptions {
  std::uint64_t seed = 1;  ///< of initial weights and dropout
  /// The learning rate of a training step, from 0 on; empty: as the optimizer was made.
  std::function<double(int step)> learningRate = {};
  /// Names and values that must be the same on all ranks, beside the strategy: {"width", "128"}.
  std::vector<std::pair<std::string, std::string>> facts = {};
  /// The place of this process, which is one rank. Empty: as the environment says, if a launcher
  /// started the process as one of several ranks (WORLD_SIZE). Else all ranks are threads of it.
  std::optional<ProcessEnv> env = {};
  std::shared_ptr<RunStore> store = {};  ///< that the processes have opened (useBestPartition())
  /// "cpu" or "cuda". For the latter make the engine before LibTorch's generators are used or
  /// seeded (openDevices()).
  std::string device = "cpu";
  bool sharesDevices = false;
  std::optional<NcclCommunicators> nccl = {};
  Nanoseconds connectTimeout = 120 * kNsPerSecond;  ///< for all ranks to come together
  Nanoseconds linkTimeout = 8 * kNsPerSecond;       ///< for one connection
  Nanoseconds stepTimeout = 600 * kNsPerSecond;     ///< for one action; 0: no limit
  Nanoseconds silence = 0;                          ///< without a word of a rank; 0: as usual
  /// Where the logs go; empty: nothing is recorded. The environment (Switches) goes before: its
  /// folder, whether anything is recorded, and which steps.
  std::string logDirectory = {};
  bool isLogDirectoryFinal = false;  ///< the environment's folder and switch were asked already
  int inspectEvery =
      0;  ///< steps; a training is looked into every so often (InspectedWork); 0: never
  /// Where inspect_rank<r>.jsonl goes; empty: the folder of the logs, or `logs` if there is none.
  std::string inspectFolder = {};
  CheckpointOptions checkpoints = {};
  /// Ends the run when a signal comes; may be null. Must outlive the engine.
  StopSignal* stop = nullptr;
  /// Gets the lines of the rank that reports the loss. Empty: stdout.
  std::function<void(const std::string& line)> print = {};
  /// Gets notes and why the run ended. Empty: stderr. Any thread.
  std::function<void(const std::string& line)> say = {};
};

/// The figures of a training step, or of an evaluation.
struct StepReport {
  int step = 0;  ///< of the training, from 0 on
  int epoch = 0;
  double loss = 0;
  std::map<std::string, double> metrics;
  double samplesPerSecond = 0;  ///< rows
  double mfu = 0;               ///< FitOptions::peakFlops; 0: not given
  /// Why the optimizer did not take it: "a gradient is no finite number; ..."; "": it did.
  std::string overflow;
};

/// Called on the process of the rank that reports the loss. Returning false ends the training on
/// all ranks after that step.
struct FitCallback {
  int everySteps = 1;
  std::function<bool(const StepReport& report)> call;
};

struct FitOptions {
  int epochs = 1;
  int stepsPerEpoch = 0;           ///< 0: all
  const DataSet* valid = nullptr;  ///< evaluated after epochs; null: nothing is
  int validFreq = 1;               ///< epochs between two evaluations
  int validSteps = 0;              ///< of an evaluation; 0: all
  /// Steps between two lines; 0: none. Where stdout is a terminal, one line at its bottom changes
  /// in their place. On the CPU it also has the bubble ratio so far, 1 - time in jobs / (ranks *
  /// time of steps), without the first step.
  int logFreq = 10;
  std::string itemName = {};  ///< what lines count a second: "tokens"; empty: samples only
  double itemsPerSample = 0;  ///< of these
  /// Operations of the model for a row, forward and backward, without what is computed again, and
  /// what a rank's device can do a second. With both lines say the model FLOPs utilization (MFU) of
  /// Chowdhery et al., "PaLM", 2022, appendix B.
  double flopsPerSample = 0;
  double peakFlops = 0;
  std::vector<FitCallback> callbacks = {};
};

/// The means over the rows of an evaluation.
struct Evaluation {
  double loss = 0;
  std::map<std::string, double> metrics;
  std::int64_t rows = 0;
  double seconds = 0;  ///< that it took
};

/// All ranks have it.
struct FitResult {
  std::vector<double> losses;  ///< by step
  std::map<std::string, std::vector<double>> metrics;
  std::vector<Evaluation> evaluations;
  bool wasEnded = false;  ///< by a callback
  std::string stoppedBy;  ///< why it ended after a save: "30 minutes are over"; else empty
};

struct EngineCost {
  Nanoseconds step = 0;                 ///< simulated, all ranks
  double bubbleRatio = 0;               ///< 1 - work / (ranks * step)
  std::vector<std::int64_t> peakBytes;  ///< by rank; 0 where the costs do not say
  Costs costs;                          ///< that were simulated
};

/// Trains a model under a pipeline schedule, evaluates it and predicts with it, in one process
/// group. The ranks are threads of this process, or a launcher (pipe-run, torchrun) has started a
/// process for each: then all processes call the same functions in the same order.
///
/// The group comes together with the first function that needs it, and ends with finish() or the
/// engine. If a run fails, all ranks throw the same first cause, and the engine is of no use then.
///
/// Threads: one at a time.
class Engine {
 public:
  /// The model has its loss. Throws Error for a strategy, a model or a partition that do not fit.
  Engine(Model model, OptimizerMaker optimizer, std::vector<Metric> metrics, Strategy strategy,
         EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Whether the rank that reports the loss is in this process, so that a line about the whole run
  /// is printed once.
  bool reports() const;

  /// All checks that need no run: the plan fits the world, the transport and the model.
  void prepare();
  /// The step as it would be with these costs.
  EngineCost cost(const Costs& costs) const;
  /// The same with costs that this process measures on its CPU (measureCosts()). It runs a few
  /// micro-batches of the first rows of `data` through a model of its own, on the calling thread.
  /// Messages and sums of gradients take no time then. `peakBytes` has weights, gradients, the
  /// optimizer's state, activations and working memory. Needs no other rank. Throws Error for an
  /// engine on another device, and for a plan without backward passes.
  EngineCost cost(const DataSet& data) const;

  /// Trains. A call after another goes on with its weights, and steps count on. The first call
  /// after a checkpoint was resumed runs the steps that are left of its epochs, and throws Error if
  /// none is. Where a signal saves (CheckpointOptions::onStop), it throws StoppedBySignal on all
  /// ranks when that is done. Throws Error for data of which there is no step, and for a loss that
  /// is no finite number. So it does for an exception of a block, a metric or a callback.
  FitResult fit(const DataSet& train, const FitOptions& options = {});
  /// `steps`: the first ones; 0: all. Weights, random numbers and learning rate stay as they are.
  Evaluation evaluate(const DataSet& data, int steps = 0);
  /// The tensors of Model::lossInputs that blocks make, with all rows of `data` in their order. The
  /// rank with the last stage has them; with `everywhere` all have. The others get none. Batches
  /// need no tensor that only the loss needs.
  std::vector<at::Tensor> predict(const DataSet& data, bool everywhere = false);

  /// Saves the newest weights and buffers in a folder: a file for each block, which Python's
  /// torch.load opens, and a manifest (docs/runtime.md). Replaces weights that were saved there
  /// before, once all is on the disk. Throws Error with path and reason, on all ranks; then what
  /// was there is as it was.
  void save(const std::string& folder);
  /// Takes the weights and buffers that save() or a checkpoint (the folder of its step) has, also
  /// those of another schedule, partition or number of stages. The state of optimizers stays.
  /// Throws Error, on all ranks and before a weight changes, for another model, a file that is
  /// missing or was cut off or damaged, and a folder that is none.
  void load(const std::string& folder);

  /// Ends in order, and closes the logs. Throws as fit() does.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws Error, with the field's name, for a value that means nothing.
void requireMeaning(const EngineOptions& options);
void requireMeaning(const FitOptions& options);

/// Throws Error for two metrics of one name, for one without a name or a function, and for the name
/// of the loss.
void requireNames(const std::vector<Metric>& metrics);

}  // namespace pipetrace
