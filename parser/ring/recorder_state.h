#pragma once

#include <cstdint>
#include <string>

#include "parser/job_log/lines/missing_end.h"

namespace pipetrace {

/// What `host` of a `Profiler Meta:` line is for recorders here.
std::string thisHost();

/// Looks for the lock (flock) that a recorder of PipeTrace holds on its log while it is open. It is
/// tried without waiting and given back at once: a shared one, of which several find room. So that
/// of a recorder that gives way to others of its process, which is shared as well, is not seen.
class RecorderLock {
 public:
  enum class State : std::uint8_t { kUnknown, kFree, kHeld };
  static State of(const std::string& logPath);
};

/// What lock and process say of a log whose `Profiler Meta:` line names `host` and a ring file
/// whose header names `process`. That nobody holds the lock says nothing by itself: the log may be
/// a copy. A shared lock says something if it is that process's.
RecorderState recorderState(const std::string& logPath, const std::string& host,
                            std::int64_t process);

}  // namespace pipetrace
