#pragma once

#include <string>

#include "analysis/run_summary.h"

namespace pipetrace {

/// The summary for people: what the run was, busy and idle time and bubble ratio of each rank,
/// length of each step. Of more than 40 steps the first and the last 20 are shown. Ends with a
/// newline.
std::string textReport(const Timeline& timeline, const RunSummary& summary);

/// A ratio as the reports write it: "0.2727", rounded.
std::string ratioText(double ratio);

}  // namespace pipetrace
