#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"

namespace pipetrace {

/// The schedule of that name. Names and aliases are taken in any case, with or without '-', '_' and
/// blanks ("1F1B", "f-then-b"). Throws Error for a name that is unknown (with the names that are
/// known) and for ranks or micro-batches below 1.
Schedule buildSchedule(std::string_view name, int ranks, int microBatches);

/// The names of buildSchedule(), without aliases.
std::vector<std::string> scheduleNames();

}  // namespace pipetrace
