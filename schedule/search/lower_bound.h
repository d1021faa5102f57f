#pragma once

#include "schedule/search/plan_model.h"

namespace pipetrace {

/// A length and a span that no plan of this placement beats, whatever its memory. Each rank gets
/// its first input once it has come through the stages before, and then does all its work. Its last
/// input half still has the way back to the first stage before it. Costs::lr and Costs::optimizer
/// are left out; the sum of ends is 0.
PlanScore lowerBound(const Plan& shape, const Costs& costs);

}  // namespace pipetrace
