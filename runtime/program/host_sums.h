#pragma once

#include <functional>
#include <optional>

#include "runtime/program/rank_program.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The number of a rank's lane to or from another one, of the name that the caller knows.
using LaneTo = std::function<int(bool sends, int peer)>;

/// How a rank of the plan agrees with all others.
RankProgram::ScalarAllReduce scalarAllReduceOf(const Plan& plan, int rank, const LaneTo& laneTo);

/// How the ranks of the last stage add up their figures, in a plan without backward passes or with
/// metrics. Nullopt for other ranks, and for the only one of that stage.
std::optional<RankProgram::LossSum> lossSumOf(const Plan& plan, bool hasMetrics, int rank,
                                              const LaneTo& laneTo);

}  // namespace pipetrace
