#pragma once

#include <vector>

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace pipetrace {

/// Everything that is wrong with a plan, all at once: work that is missing, doubled or out of
/// range, backward before its forward, weight half before its input half, a stage on a rank that is
/// not its own, and, when nothing of that is found, deadlock as the cycle of actions that wait for
/// each other. Empty: every rank can do its actions in order. Linear in the number of actions.
std::vector<Problem> check(const Schedule& schedule);

/// Throws Error with all that check() finds.
void requireValid(const Schedule& schedule);

}  // namespace pipetrace
