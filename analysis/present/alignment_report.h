#pragma once

#include <string>

#include "analysis/run/clocks/alignment.h"

namespace pipetrace {

/// A table with a row per host, and a line that says how the clocks were aligned. Ends with a
/// newline.
std::string alignmentText(const Alignment& alignment);

/// The same as one JSON object with the keys of docs/pipe-trace.md. Ends with a newline.
std::string alignmentJson(const Alignment& alignment);

}  // namespace pipetrace
