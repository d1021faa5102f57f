#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parser/job_log/lines/log_scanner.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The part of a `Profiler Info:` line that is PaddlePaddle's, as far as `job_end_time`.
struct JobHead {
  std::int64_t number = 0;
  std::string_view type;  ///< as in the line; a JSON string keeps its quotes
  std::int64_t microBatch = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::string_view tail;  ///< what follows: empty, or ", key = value…"

  bool operator==(const JobHead&) const = default;
};

enum class HeadResult { kRead, kNoMatch, kNumberOutOfRange };

/// Takes the head of a job's line, all but its tail, from `scan`, which stands at its mark. The
/// head must be as our log writer and PaddlePaddle write it, character for character. False for any
/// other line, and for numbers that need a closer look; `scan` then stands anywhere in it.
bool takeCanonicalHead(LogScanner& scan, JobHead& head);

/// Reads by hand the line that our log writer and PaddlePaddle write, as above. Nothing for any
/// other line. `line` contains "Profiler Info: ".
std::optional<JobHead> readCanonicalHead(std::string_view line);

/// Reads the same line and looser ones (blanks, types in any script, quoted types, times without
/// fraction) by regular expression. Both ways read the same wherever readCanonicalHead() reads a
/// line. `line` is UTF-8.
HeadResult readHeadByPattern(std::string_view line, JobHead& head);

/// By hand if possible, else by pattern.
HeadResult readHead(std::string_view line, JobHead& head);

}  // namespace pipetrace
