#pragma once

#include "runtime/engine/engine.h"
#include "runtime/engine/engine_shared.h"

namespace pipetrace {

/// The step of the plan as it would be with these costs.
EngineCost costOf(const CheckedPlan& plan, const Costs& costs);
/// The same with costs that are measured now, as Engine::cost() says.
EngineCost measuredCostOf(const EngineShared& shared, const DataSet& data);

}  // namespace pipetrace
