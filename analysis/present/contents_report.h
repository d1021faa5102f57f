#pragma once

#include <cstdint>
#include <string>

#include "analysis/run_contents.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// The contents of inputs, as `pipe-trace info` reports them.
struct InputContents {
  std::string format;  ///< names of the formats, each once, with commas between them
  RunContents run;
  std::int64_t flows = 0;  ///< arrows between slices, as Perfetto counts them
};

/// The contents as text, one line for each field. Ends with a newline.
std::string contentsText(const InputContents& contents, const Diagnostics& diagnostics);

/// The contents as one JSON object with the keys of docs/pipe-trace.md. Times are whole
/// nanoseconds. Ends with a newline.
std::string contentsJson(const InputContents& contents, const Diagnostics& diagnostics);

}  // namespace pipetrace
