#pragma once

#include <string>

#include "analysis/run_summary.h"

namespace pipetrace {

/// The summary as one JSON object with the keys of docs/metrics.md. Times are whole nanoseconds.
/// Ends with a newline.
std::string jsonReport(const RunSummary& summary);

}  // namespace pipetrace
