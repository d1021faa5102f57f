#pragma once

#include "schedule/search/plan_model.h"

namespace pipetrace {

/// What no plan of this placement beats, whatever its memory: each rank gets its first input when
/// that has come through the stages before, does all its work, and its last input half still has
/// the way back before it. Less Costs::lr and Costs::optimizer; the sum of ends is left at 0.
PlanScore lowerBound(const Plan& shape, const Costs& costs);

}  // namespace pipetrace
