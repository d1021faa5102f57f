#pragma once

#include "runtime/engine/config/run_config.h"
#include "runtime/engine/strategy.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// The strategy of the file, with the defaults of Strategy. Throws Error as
/// "FILE:LINE: …" for a value that means nothing.
Strategy strategyOf(const RunConfig& config);

/// The plan of the file's strategy, of all replicas, before the model is known. Throws Error as
/// "FILE: …" where the file does not say how many ranks there are, and for a plan that cannot be
/// built. It also does for machines that are not as many as the ranks, and for a partition of other
/// stages.
CheckedPlan planOf(const RunConfig& config);

}  // namespace pipetrace
