#pragma once

#include <cstdint>
#include <string>

#include "trace/diagnostic.h"

namespace pipetrace {

/// Whether the program that recorded into a log goes on.
enum class RecorderState : std::uint8_t {
  kUnknown,  ///< nothing shows it: its log was never locked, was copied, or is on another host
  kRecords,
  kEnded,
};

/// What is known of a run whose log has a `Profiler Meta:` line and no `Profiler End:`.
struct MissingEnd {
  /// The run's ring file.
  enum class Ring : std::uint8_t {
    kNone,  ///< nothing could be read of it
    kRead,
    kReadWithLosses,  ///< ... but records are in neither of both: they were lost before
  };

  Ring ring = Ring::kNone;
  RecorderState recorder = RecorderState::kUnknown;

  /// Says it of `file`, and which jobs are missing for it.
  Diagnostic toDiagnostic(const std::string& file) const;
};

}  // namespace pipetrace
