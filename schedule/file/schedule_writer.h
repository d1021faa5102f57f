#pragma once

#include <string>

#include "schedule/schedule.h"

namespace pipetrace {

/// The schedule as a CSV file: one row a rank, its actions in order; before them a comment with the
/// name and what the cells cannot say (PlanHeader), of a plan of which there is any such thing.
/// readSchedule() reads it back.
std::string toCsv(const Schedule& schedule);

}  // namespace pipetrace
