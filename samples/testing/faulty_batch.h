#pragma once

#include <functional>

#include "runtime/train/data/data_loader.h"
#include "samples/testing/planned_fault.h"

namespace pipetrace {

using BatchFunction = std::function<Batch(int step, int replica)>;

/// `usual`, which goes wrong if the fault is one of the batch function. Each call takes `seconds`
/// longer, so that steps take at least that long.
BatchFunction faultyBatches(const PlannedFault& fault, BatchFunction usual, double seconds);

}  // namespace pipetrace
