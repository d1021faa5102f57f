#pragma once

#include <string>

#include "analysis/run_summary.h"

namespace pipetrace {

/// The summary as one JSON object with the keys of docs/metrics.md. Times are whole nanoseconds.
/// `timeline` is what the summary is about; its bubbles and its jobs count, too. Ends with a
/// newline.
std::string jsonReport(const Timeline& timeline, const RunSummary& summary, int threads = 1);

}  // namespace pipetrace
