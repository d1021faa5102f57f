#pragma once

#include <string>

#include "schedule/plan.h"

namespace pipetrace {

/// The plan as a schedule file (CSV): one row a rank, its actions in order; before them a comment
/// with the name and what the cells cannot say (PlanHeader), of a plan of which there is any such
/// thing. readPlan() reads it back.
std::string toCsv(const Plan& plan);

}  // namespace pipetrace
