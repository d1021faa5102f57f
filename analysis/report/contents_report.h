#pragma once

#include <cstdint>
#include <string>

#include "analysis/run_contents.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// What `pipe-trace info` tells of its inputs.
struct InputContents {
  std::string format;  ///< names of the formats, each once, with commas between them
  RunContents run;
  std::int64_t flows = 0;  ///< arrows between slices, as Perfetto counts them
};

/// For people: a line for each thing. Ends with a newline.
std::string contentsText(const InputContents& contents, const Diagnostics& diagnostics);

/// For programs: one JSON object, keys as docs/pipe-trace.md lists them, times as integers of
/// nanoseconds. Ends with a newline.
std::string contentsJson(const InputContents& contents, const Diagnostics& diagnostics);

}  // namespace pipetrace
