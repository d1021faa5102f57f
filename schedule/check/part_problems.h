#pragma once

#include "schedule/check/plan_index.h"

namespace pipetrace {

/// Finds what is wrong with backwards in parts, apart from their order and parts that are missing.
/// Only the last backward of a stage on its rank may be in parts, or its weight half, and in a plan
/// without a flush none. Where a REDUCE_GRAD of the stage stands between them, there is one for
/// each part, with its number and after it.
ProblemList partProblems(const Plan& plan);

}  // namespace pipetrace
