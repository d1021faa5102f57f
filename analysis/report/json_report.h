#pragma once

#include <string>

#include "analysis/run_summary.h"

namespace pipetrace {

/// The summary for programs: one JSON object, keys as docs/metrics.md lists them, times as integers
/// of nanoseconds. Ends with a newline.
std::string jsonReport(const RunSummary& summary);

}  // namespace pipetrace
