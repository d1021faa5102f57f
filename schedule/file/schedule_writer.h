#pragma once

#include <string>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// The plan as a schedule file (CSV): one row a rank, its actions in order. Name and other things
/// that the cells cannot hold (PlanHeader) stand in a comment before them, if there are any.
/// readPlan() reads it back.
std::string toCsv(const Plan& plan);
/// The rows alone, one of each rank.
std::string rowsText(const std::vector<std::vector<Action>>& rows);

}  // namespace pipetrace
