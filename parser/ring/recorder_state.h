#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "parser/job_log/lines/rank_part.h"

namespace pipetrace {

/// The `host` that recorders on this host write to their `Profiler Meta:` lines.
std::string thisHost();

/// Looks for the lock (flock) that a recorder of PipeTrace holds on its log while the log is open.
/// It tries to take a shared lock, without waiting, and gives it back at once. So it does not see
/// the shared lock of a recorder that gives way to others of its process.
class RecorderLock {
 public:
  enum class State : std::uint8_t { kUnknown, kFree, kHeld };
  static State of(const std::string& logPath);
};

/// The state that lock and process show. The log's `Profiler Meta:` line names `host`, and the
/// header of its ring file names `process`. A free lock alone shows nothing: the log may be a copy.
/// A shared lock counts if that process holds it.
RecorderState recorderState(const std::string& logPath, const std::string& host,
                            std::int64_t process);

/// Watches, from another process, whether the recorder of a log that grows is gone. Only certain
/// signs count. Either the recorder held the log before and no longer does, or its ring file is
/// there and names a process of this host that has ended. A log that was never locked, as those of
/// PaddlePaddle, is never given up.
class RecorderWatch {
 public:
  explicit RecorderWatch(std::string logPath) : path_(std::move(logPath)) {}

  /// Keeps the contents of the last `Profiler Meta:` line in these lines of the log, if there is
  /// one.
  void addLines(std::string_view lines);

  /// Looks once. If the recorder is gone, the log then holds everything that it wrote.
  void look();

  /// It has closed the log, or ended without closing it.
  bool isGone() const { return isGone_; }

  /// Its end cannot be seen from here: it is on another host, and no lock of it was seen.
  bool isOutOfSight() const;

 private:
  bool hasEndedByRing() const;

  std::string path_;
  std::string host_;
  std::string ringFile_;
  bool wasHeld_ = false;
  bool isGone_ = false;
};

}  // namespace pipetrace
