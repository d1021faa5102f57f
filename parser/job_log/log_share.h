#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parser/job_log/lines/log_line_kind.h"
#include "parser/job_log/lines/log_run.h"

namespace pipetrace {

/// Lines of one log that follow each other, belong to one run, and have been read without knowing
/// which. Line numbers count from the begin of the block that they are in, from 1.
struct LogStretch {
  /// A Meta, Clock or End line, which is read when its run is known.
  struct About {
    LogLineKind kind = LogLineKind::kOrdinary;
    std::string payload;
    std::int64_t line = 0;
  };

  std::vector<About> about;  ///< in their order; a Meta line only as the first
  LogRun events;             ///< events, arguments, samples and the findings about them
  LogFindings ofLines;       ///< about lines that could not be looked into
  std::int64_t jobLines = 0;

  /// Empty again; the memory is kept.
  void clear();
};

/// What a block of lines of a log has given. A Meta line begins a new stretch.
struct LogShare {
  std::vector<LogStretch> stretches;  ///< the first `used` of them, at least one; others are empty
  std::size_t used = 0;
  std::int64_t lines = 0;
};

}  // namespace pipetrace
