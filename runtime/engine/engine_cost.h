#pragma once

#include "runtime/engine/engine.h"
#include "runtime/engine/engine_shared.h"

namespace pipetrace {

/// The first micro-batch of a step of the plan. Throws Error for fewer rows than micro-batches.
Batch firstMicroBatch(const Plan& plan, const DataSet& data);

/// The step of the plan as it would be with these costs.
EngineCost costOf(const CheckedPlan& plan, const Costs& costs);
/// The same with costs that are measured now, as Engine::cost() says.
EngineCost measuredCostOf(const EngineShared& shared, const DataSet& data);

}  // namespace pipetrace
