#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/engine/engine_shared.h"

namespace pipetrace {

/// Prints the steps of a training: every few steps a line. Where the rank that reports the loss has
/// a terminal, one line at its bottom changes, which has the bubble ratio so far.
///
/// Threads: the rank's own.
class FitProgress {
 public:
  /// All ranks make it together. `steps`: the number of the training's step after the last one. All
  /// must outlive it.
  FitProgress(const EngineShared& shared, SessionRank& rank, const FitOptions& options, int steps);
  ~FitProgress();
  FitProgress(const FitProgress&) = delete;
  FitProgress& operator=(const FitProgress&) = delete;

  /// After each step, on all ranks. `report` is the rank's own; only the one that reports the loss
  /// has its figures. `seconds`: what the step took. `computed`: SessionRank::computed().
  void stepEnded(const StepReport& report, double seconds, Nanoseconds computed);
  /// After the last step: shows it if it was not, and then `why` the training ended, if there is
  /// more to say than that it is done.
  void close(const std::string& why);

 private:
  using Clock = std::chrono::steady_clock;

  bool reports() const { return rank_.rank() == shared_.reporter(); }
  /// Bubbles' share of the steps' time so far, where it is known: on the rank that reports.
  std::optional<double> bubbleRatio(Nanoseconds computed);
  /// Shows the step before, on the terminal. `each`: seconds of a step with all around it.
  void show(std::optional<double> bubbleRatio, double each);
  void showPlain();

  const EngineShared& shared_;
  SessionRank& rank_;
  const FitOptions& options_;
  const int steps_;
  bool isOnTerminal_ = false;          // the same on all ranks
  int seen_ = 0;                       // steps
  int next_ = 0;                       // the step after which the line is shown again
  double seconds_ = 0;                 // of the steps after the first
  Nanoseconds before_ = 0;             // computed until the first had ended
  Clock::time_point begun_;            // when the first had ended
  std::optional<StepReport> unshown_;  // the step before, on the rank that reports
};

/// "step 12 loss 2.3105, 9876 tokens/s, 154 samples/s".
std::string lineOf(const StepReport& report, const FitOptions& options);

/// ", accuracy 0.5000" for each.
std::string textOf(const std::map<std::string, double>& metrics);

double secondsSince(std::chrono::steady_clock::time_point begin);

/// "2.3105".
std::string withFourDigits(double value);

}  // namespace pipetrace
