#pragma once

#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Notes a step with events that have no time (RankInfo::untimedSteps). One below 0 is not known.
void addUntimedStep(RankInfo& info, std::int32_t step);

/// The steps in which some rank has events without a time, ascending.
std::vector<std::int32_t> untimedSteps(const Timeline& timeline);

}  // namespace pipetrace
