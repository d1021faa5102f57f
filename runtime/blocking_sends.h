#pragma once

#include <string>

#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// Whether the ranks of a full plan get stuck where a send waits until its receive is posted, and a
/// receive waits for nothing. (With check()'s blocking sends, receives wait as well.) Returns a
/// sentence that names a send that waits for ever; empty: all come to their ends.
std::string stuckSend(const CheckedPlan& full);

}  // namespace pipetrace
