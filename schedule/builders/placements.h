#pragma once

#include <string_view>

#include "schedule/builders/schedule_info.h"

namespace pipetrace {

/// Throws Error for a plan of less than one rank, micro-batch or chunk, and for one of more actions
/// than any real plan has.
void requirePlanSize(std::string_view name, const PlanSize& size);

/// Builders start from this: the name of the row, stages on the ranks that it says, no actions yet.
/// Throws for a bad size as requirePlanSize() does.
Plan emptyPlan(const ScheduleInfo& schedule, const PlanSize& size);

}  // namespace pipetrace
