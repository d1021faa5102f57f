#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/session/session.h"
#include "runtime/train/torch_work.h"

namespace pipetrace {

/// The ranks of an engine have this in common. It is only read while they run.
struct EngineShared {
  const Model model;
  const OptimizerMaker optimizer;
  const std::vector<Metric> metrics;
  const Strategy strategy;
  const EngineOptions options;
  const CheckedPlan plan;
  const Partition partition;
  const std::optional<ProcessEnv> env;  ///< empty: the ranks are threads of this process

  int microBatches() const { return plan->microBatchesOfReplica(); }
  /// The rank that reports the loss.
  int reporter() const { return plan->lastRankOf(0); }
  void print(const std::string& line) const;
  void say(const std::string& line) const;
};

/// Rows of a prediction, by their place among all rows.
struct PredictedRows {
  std::int64_t first = 0;
  Tensors tensors;  ///< in the host's memory
};

/// A rank of an engine: its stages, and the plans that it has run.
///
/// Threads: the rank's own.
class EngineRank {
 public:
  EngineRank(const EngineShared& shared, SessionRank& rank);

  /// Fills `result` on the rank that reports the loss.
  void fit(const DataSet& train, const FitOptions& options, FitResult& result);
  /// Returns the means on the rank that reports the loss.
  Evaluation evaluate(const DataSet& data, int steps);
  /// The rows of this rank.
  std::vector<PredictedRows> predict(const DataSet& data);

 private:
  struct Program {
    std::unique_ptr<TorchWork> work;
    int number = 0;
    int steps = 0;  // run so far
  };

  bool reports() const { return rank_.rank() == shared_.reporter(); }
  Program& training();
  Program& evaluating(bool predicts, int microBatches);
  /// Runs the steps of the data, and calls `ended` after each.
  void runForwards(const DataSet& data, bool predicts, int steps,
                   const std::function<void(const TorchWork& work, RowRange rows)>& ended);
  StepReport reportOf(const TorchWork& work, int epoch, std::int64_t rows, double seconds) const;
  void printStep(const StepReport& report) const;
  bool callBack(const FitOptions& options, const StepReport& report);
  void printEvaluation(const Evaluation& evaluation) const;
  std::map<std::string, double> named(const std::vector<double>& metrics) const;

  const EngineShared& shared_;
  SessionRank& rank_;
  TrainedStages stages_;
  std::unique_ptr<Program> training_;
  std::map<std::pair<bool, int>, Program> evaluating_;  // by whether it predicts, and micro-batches
};

}  // namespace pipetrace
