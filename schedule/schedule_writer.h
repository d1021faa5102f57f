#pragma once

#include <string>

#include "schedule/schedule.h"

namespace pipetrace {

/// The schedule as a CSV file: one row a rank, its actions in order. readSchedule() reads it back.
std::string toCsv(const Schedule& schedule);

}  // namespace pipetrace
