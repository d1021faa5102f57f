#pragma once

#include <cstdint>
#include <string>

#include "parser/ring/recorder_state.h"
#include "trace/diagnostic.h"

namespace pipetrace {

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
