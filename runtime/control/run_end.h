#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/control/control_channel.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// How a run ends for one rank: in order, or with the text of a failure. The control thread sets
/// it, other threads wait for it.
class RunEnd {
 public:
  /// `options` must outlive it.
  explicit RunEnd(const ControlOptions& options) : options_(options) {}

  /// The run has failed. Calls onFailure. The first call counts.
  void fail(const FailureCause& cause, const ActionStatus& own, Nanoseconds now);
  /// All ranks have finished.
  void finish();

  /// Waits for the failure; its text. The compute thread knows of it then. `own`: what the rank
  /// itself has to report, which counts if all ranks have finished.
  std::string awaitFailure(const std::string& own = "all ranks have finished");
  /// Waits for either end. Throws Error with the text of the failure.
  void awaitFinish();
  /// Someone who learned of the failure in another way no longer needs the process to be ended.
  void acknowledge();
  bool hasFailed() const;

  /// Runs `body`, which may never return. Meanwhile the compute thread counts as one that has not
  /// learned of the failure, from `now` on.
  void whileEnding(Nanoseconds now, const std::function<void()>& body);

  /// Ends the process, after beforeExit, if it has failed and nobody has learned of it in time
  /// (exitDelayAfter()). A run that was stopped goes on to the end of its jobs: whoever stopped it
  /// can kill it.
  void exitIfStuck(Nanoseconds now, Nanoseconds longestJob);

 private:
  const ControlOptions& options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> failure_;
  Nanoseconds failed_ = 0;
  bool isStop_ = false;
  bool isFinished_ = false;
  bool isKnown_ = false;
};

/// How long a compute thread has to learn of a failure. It is 1.5 times the longest job that its
/// rank has ended, between `least` and a minute.
Nanoseconds exitDelayAfter(Nanoseconds longestJob, Nanoseconds least);

}  // namespace pipetrace
