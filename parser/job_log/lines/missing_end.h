#pragma once

#include <cstdint>
#include <string>

#include "trace/diagnostic.h"

namespace pipetrace {

/// Whether the program that recorded into a log still runs.
enum class RecorderState : std::uint8_t {
  kUnknown,  ///< no sign of it: the log was never locked, was copied, or is on another host
  kRecords,
  kEnded,
};

/// The facts about a run whose log has a `Profiler Meta:` line and no `Profiler End:`.
struct MissingEnd {
  /// The run's ring file.
  enum class Ring : std::uint8_t {
    kNone,  ///< nothing could be read of it
    kRead,
    kReadWithLosses,  ///< ... but records that are in neither were lost before
  };

  Ring ring = Ring::kNone;
  RecorderState recorder = RecorderState::kUnknown;

  /// A diagnostic about `file` that says so, and which jobs are missing.
  Diagnostic toDiagnostic(const std::string& file) const;
};

}  // namespace pipetrace
