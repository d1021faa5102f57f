#pragma once

#include <string>
#include <string_view>

#include "schedule/schedule.h"

namespace pipetrace {

/// Reads a schedule file: one row a rank, one cell an action (toText(Action)). Blank cells carry no
/// meaning; `REDUCE_GRAD`, `UNSHARD` and `RESHARD` cells are left out, as gradients are reduced and
/// parameters gathered outside the plan. A stage belongs to the first rank that has an action of
/// it.
///
/// Throws Error with `name:line:column: …` for every cell that is no action (columns are bytes,
/// both counted from 1), for a row without actions, and for a text without any. Whether the plan
/// can run is check()'s question.
Schedule readSchedule(std::string_view text, const std::string& name);

}  // namespace pipetrace
