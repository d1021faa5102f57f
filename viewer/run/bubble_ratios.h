#pragma once

#include <cstdint>
#include <map>

#include "analysis/run_summary.h"

namespace pipetrace {

/// The bubble ratio of each step over all pipelines, by the number of the step.
std::map<std::int32_t, double> bubbleRatiosOf(const RunSummary& summary);

}  // namespace pipetrace
