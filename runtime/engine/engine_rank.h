#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/engine_shared.h"
#include "runtime/engine/rank_checkpoints.h"
#include "runtime/inspect/inspected_work.h"
#include "runtime/inspect/inspection_file.h"
#include "runtime/train/torch_work.h"

namespace pipetrace {

class TorchWork;

/// A rank's work that is looked at in some steps, with what is seen in the rank's file; or the work
/// itself.
///
/// Threads: the compute thread.
class InspectedTraining {
 public:
  struct Options {
    int every = 0;  ///< steps; 0: never
    std::string folder;
    int rank = 0;
    int ranks = 0;  ///< how many there are
  };

  /// `work` must outlive it. Throws Error if the file cannot be written.
  InspectedTraining(const Options& options, TorchWork& work);

  /// The work for the executor.
  StageWork& work();
  /// After each step. A file that can no longer be written ends no training: `say` hears it.
  void stepEnded(const std::function<void(const std::string& line)>& say);

 private:
  TorchWork& own_;
  std::optional<InspectedWork> inspected_;
  std::optional<InspectionFile> file_;
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

  /// Fills `result` on the rank that reports the loss; `wasEnded` and `stoppedBy` on all.
  void fit(const DataSet& train, const FitOptions& options, FitResult& result);
  /// Returns the means on the rank that reports the loss.
  Evaluation evaluate(const DataSet& data, int steps);
  /// The rows of this rank.
  std::vector<PredictedRows> predict(const DataSet& data);
  void save(const std::string& folder);
  void load(const std::string& folder);
  /// The signal that has ended the training, on all ranks; 0: none.
  int stoppedBy() const { return stoppedBy_; }

 private:
  struct Program {
    std::unique_ptr<TorchWork> work;
    std::optional<InspectedTraining> inspected;  // of the training
    int number = 0;
    int steps = 0;  // run so far; of training those before a checkpoint, too
  };

  bool reports() const { return rank_.rank() == shared_.reporter(); }
  Program& training();
  Program& evaluating(bool predicts, int microBatches);
  /// Runs the steps of the data, and calls `ended` after each.
  void runForwards(const DataSet& data, bool predicts, int steps,
                   const std::function<void(const TorchWork& work, RowRange rows)>& ended);
  StepReport reportOf(const FitOptions& options, int epoch, std::int64_t rows,
                      double seconds) const;
  bool callBack(const FitOptions& options, const StepReport& report);
  void printEvaluation(const Evaluation& evaluation) const;
  std::string reasonToStop();
  std::map<std::string, double> named(const std::vector<double>& metrics) const;

  const EngineShared& shared_;
  SessionRank& rank_;
  TrainedStages stages_;
  RankBlocks blocks_;
  std::unique_ptr<RankCheckpoints> checkpoints_;  // null: there are none
  int stoppedBy_ = 0;                             // a signal
  int resumed_ = 0;                               // steps before the checkpoint
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::unique_ptr<Program> training_;
  std::map<std::pair<bool, int>, Program> evaluating_;  // by whether it predicts, and micro-batches
};

}  // namespace pipetrace
