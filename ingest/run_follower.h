#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ingest/run_request.h"
#include "parser/chrome/write/growing_json.h"
#include "parser/find_logs.h"
#include "parser/job_log/log_tail.h"
#include "parser/ring/recorder_state.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Follows the job logs of a run that goes on, and hands each step on to a profile once every rank
/// has finished it. It reads only what is new, and keeps only what is not finished. Logs that
/// appear later are picked up.
class RunFollower {
 public:
  /// Takes `inputs` (folders, which are searched again, and single logs), `bubbles` and `selection`
  /// of the request; times are as logged. With `flows` the profile gets the arrows between the
  /// jobs. The profile must outlive this.
  RunFollower(RunRequest request, bool flows, GrowingChromeJson& profile);

  /// Reads the new lines and writes the steps that they finish. Throws Error when an input cannot
  /// be read or the profile cannot be written.
  void look();

  /// Looks for logs that were not there before.
  void findNewLogs();

  /// Looks whether the recorders of the logs are still there.
  void lookAtRecorders();

  /// The ranks whose recorders are on another host, so that their end cannot be seen, such as
  /// "ranks 2, 3". Lists only ranks that no earlier call has named; empty: there are none.
  std::string newlyOutOfSight();

  /// Writes the other finished steps: those that every rank with a log has ended.
  void finish();

  /// Whether every rank of the run has closed its log, or its recorder is gone.
  bool isOver() const;

  /// The logs that have to appear before anything is written, such as "ranks 2, 3"; empty when all
  /// are there.
  std::string waitsFor() const;

  /// Whether steps are finished but the selection has left nothing of them.
  bool hasNothingSelected() const { return written_ != kNotGiven && profile_.isEmpty(); }

  std::size_t logCount() const { return logs_.size(); }
  /// The number of steps in the profile.
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
  void write(bool isEnd);
  void addToProfile(Timeline timeline, std::int32_t last, bool everything);
  void select(Timeline& timeline);
  void selectSamples(Timeline& timeline);
  void forget(const Steps& steps, std::int32_t last);
  bool isInProfile(int rank, const Event& event) const;
  int worldSize() const;
  bool allRanksAreThere() const;
  bool isClosed(const Log& log) const;

  RunRequest request_;
  bool flows_;
  GrowingChromeJson& profile_;
  std::vector<Log> logs_;
  std::set<std::string> known_;  // paths
  Timeline pending_;             // read and not yet in the profile, and the last step that is
  bool hasNew_ = false;
  std::set<Identity> inProfile_;      // the events of pending_ that are in the profile
  std::int32_t written_ = kNotGiven;  // the last step that is in the profile
  std::int32_t firstKept_ = 0;        // the step that pending_ begins with
  std::int64_t steps_ = 0;
  Timeline::Span selected_{kNsMax, kNsMin};  // of the written events of the selected steps
  Diagnostics diagnostics_;
};

}  // namespace pipetrace
