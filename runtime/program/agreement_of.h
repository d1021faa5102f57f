#pragma once

#include <functional>

#include "runtime/program/rank_program.h"
#include "schedule/plan.h"

namespace pipetrace {

/// How a rank of the plan agrees with all others. `laneTo(sends, peer)` is the number of its lane
/// to or from that rank.
RankProgram::Agreement agreementOf(const Plan& plan, int rank,
                                   const std::function<int(bool sends, int peer)>& laneTo);

}  // namespace pipetrace
