#pragma once

#include <set>
#include <string>

#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// For people: a plan with split backwards takes longer than it could, because these stages have
/// nothing to do in their weight halves. "" if it does not. The times are simulated, with forwards,
/// input halves and weight halves of equal length elsewhere.
std::string noteOfEmptyHalves(const CheckedPlan& plan, const std::set<int>& stages);

}  // namespace pipetrace
