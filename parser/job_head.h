#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// The part of a `Profiler Info:` line that is PaddlePaddle's, as far as `job_end_time`.
struct JobHead {
  std::int64_t number = 0;
  std::string_view type;  ///< as it stands there; a JSON string keeps its quotes
  std::int64_t microBatch = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::string_view tail;  ///< what follows: empty, or ", key = value…"

  bool operator==(const JobHead&) const = default;
};

enum class HeadResult { kRead, kNoMatch, kNumberOutOfRange };

/// Reads the line that our log writer and PaddlePaddle write, character for character, by hand.
/// Nothing for any other, and for numbers that need a second look. `line` holds "Profiler Info: ".
std::optional<JobHead> readCanonicalHead(std::string_view line);

/// Reads the same line and looser ones (blanks, types in any script, quoted types, times without
/// fraction) by regular expression. Wherever readCanonicalHead() reads one, this reads the same.
/// `line` is UTF-8.
HeadResult readHeadByPattern(std::string_view line, JobHead& head);

/// By hand if possible, else by pattern.
HeadResult readHead(std::string_view line, JobHead& head);

}  // namespace pipetrace
