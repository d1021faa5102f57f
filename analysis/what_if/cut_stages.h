#pragma once

#include <vector>

#include "schedule/costs.h"

namespace pipetrace {

/// The costs of a model that is cut into `count` stages, where it was cut into stages.size(): each
/// of these is even in itself. One that becomes v stages gives each 1/v of its times and
/// activations; v that become one add up. The sums over all stages stay.
std::vector<StageCosts> cutStages(const std::vector<StageCosts>& stages, int count);

}  // namespace pipetrace
