#pragma once

#include <string>

#include "analysis/run_summary.h"

namespace pipetrace {

/// A line that says that the run is asynchronous; empty if it is not.
std::string asynchronousLine(const RunSummary& summary);

/// The summary as text: a line about the run, busy time, idle time and bubble ratio of each rank,
/// and the length of each step. A run of more than 16 steps has its first and its last 8 listed.
/// Ends with a newline.
std::string textReport(const Timeline& timeline, const RunSummary& summary, int threads = 1);

/// A ratio as the reports write it, rounded to four digits: "0.2727".
std::string ratioText(double ratio);

}  // namespace pipetrace
