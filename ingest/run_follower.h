#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ingest/load_run.h"
#include "parser/find_logs.h"
#include "parser/job_log/log_tail.h"
#include "parser/ring/recorder_state.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

class TraceReaders;

/// Throws Error, with advice, unless each input may grow: a folder, a job log, or a file that is
/// none yet. Standard input, compressed files, and what is certainly another format cannot.
void checkFollowable(const std::vector<std::string>& inputs, const TraceReaders& readers);

/// Follows the job logs of a run that goes on, and hands each step on once every rank has finished
/// it. It reads only what is new, and keeps only what is not finished. Logs that appear later are
/// picked up. For one thread at a time.
class RunFollower {
 public:
  /// Gets finished steps: sorted, completed, with bubbles if they are asked for, never empty. The
  /// events of a later call may begin before the last end of an earlier one.
  using TakeSteps = std::function<void(const Timeline& steps)>;

  /// Takes `inputs` (folders, which are searched again, and single logs), `bubbles` and `selection`
  /// of the request; times are as logged.
  RunFollower(RunRequest request, TakeSteps take);

  /// Reads the new lines and hands on the steps that they finish. Throws Error when an input cannot
  /// be read, and whatever TakeSteps throws.
  void look();

  /// Looks for logs that were not there before.
  void findNewLogs();

  /// Looks whether the recorders of the logs are still there.
  void lookAtRecorders();

  /// The ranks whose recorders are on another host, so that their end cannot be seen, such as
  /// "ranks 2 and 3". Lists only ranks that no earlier call has named; empty: there are none.
  std::string newlyOutOfSight();

  /// Hands on the other finished steps: those that every rank with a log has ended.
  void finish();

  /// Whether every rank of the run has closed its log, or its recorder is gone.
  bool isOver() const;

  /// The logs that have to appear before anything is written, such as "ranks 2 and 3"; empty when
  /// all are there.
  std::string waitsFor() const;

  /// Whether steps are finished but the selection has left nothing of them.
  bool hasNothingSelected() const { return lastHandedOn_ != kNotGiven && !hasHandedOn_; }

  /// The number of steps that were handed on.
  std::int64_t stepCount() const { return steps_; }
  /// The findings since the last call.
  Diagnostics takeDiagnostics();

 private:
  struct Log {
    LogTail tail;
    std::optional<int> rank;  ///< from its name, or from its jobs once they show it
    std::string opening{};    ///< lines of the profiler before the first job
    bool hasBegun = false;    ///< it has a job
    bool isUpToDate = false;  ///< what it held at first has been read
    bool isDone = false;      ///< nothing more is read from it
    RecorderWatch recorder{tail.path()};
    bool isNamed = false;  ///< newlyOutOfSight() has named it
  };
  /// Two events of a rank with the same identity are one.
  using Identity = std::tuple<int, JobKind, Nanoseconds, Nanoseconds, std::int64_t, std::int32_t>;
  using Steps = std::vector<std::vector<std::int32_t>>;  // by track and event

  void readNew(Log& log);
  void addText(Log& log, std::string text);
  void addInfoOf(const Log& log, const std::string& lines);
  void stopAt(Log& log, const std::string& why);
  void forgetRank(int rank);
  void keep(Timeline part);
  Timeline completed() const;
  void handOn(bool isEnd);
  void handOn(Timeline timeline, std::int32_t last, bool everything);
  void noteWithoutBubbles();
  void select(Timeline& timeline);
  void selectSamples(Timeline& timeline);
  void forget(const Steps& steps, std::int32_t last);
  bool isHandedOn(int rank, const Event& event) const;
  int worldSize() const;
  bool allRanksAreThere() const;
  bool isClosed(const Log& log) const;

  RunRequest request_;
  TakeSteps take_;
  std::vector<Log> logs_;
  std::set<std::string> known_;  // paths
  Timeline pending_;             // read and not yet handed on, and the last step that is
  bool hasNew_ = false;
  bool hasHandedOn_ = false;
  bool isWithoutBubbles_ = false;          // noteWithoutBubbles() has been called
  std::set<Identity> handedOn_;            // the events of pending_ that were handed on
  std::int32_t lastHandedOn_ = kNotGiven;  // the last step that was handed on
  std::int32_t firstKept_ = 0;             // the step that pending_ begins with
  std::int64_t steps_ = 0;
  Timeline::Span selected_{kNsMax, kNsMin};  // of the written events of the selected steps
  Diagnostics diagnostics_;
};

}  // namespace pipetrace
