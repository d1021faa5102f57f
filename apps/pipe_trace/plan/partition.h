#pragma once

#include <cstdint>
#include <string>

#include "analysis/costs/given_costs.h"
#include "apps/pipe_trace/plan/options.h"
#include "schedule/partition/best_partition.h"

namespace pipetrace {

/// Throws Error for a plan whose partition cannot be searched: that of the schedule auto, which is
/// made for the costs of its stages.
void requireSearchable(const PlanOptions& options);

/// The best partition of `blocks` for the plan. Throws Error where none fits into `limit` bytes,
/// with what is missing, and as bestPartition() does. `limitGb` is the option as it was typed.
BestPartition partitionWithin(const Plan& plan, const BlockTable& blocks, std::int64_t limit,
                              const std::string& limitGb);

/// The costs of its stages, without memory where that of the blocks is not known.
GivenCosts givenCostsOf(const BlockTable& blocks, const Plan& plan,
                        const BlockPartition& partition);

}  // namespace pipetrace
