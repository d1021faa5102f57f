#pragma once

#include <string>

#include "schedule/builders/schedule_info.h"

namespace pipetrace {

/// The rows of onStageRanks().
enum class OrderOfRow { kOldestFirst, kNewestFirst, kOneFOneB };

/// A plan with stages on several ranks, which take turns at the micro-batches. A rank has one
/// stage. In 1F1B it warms up with as many forwards as there are ranks in the stages after its own,
/// divided by those of its own and rounded up. Depths, if given, have another number for each
/// stage. Throws Error for a rank that is left out or has two stages, and for more ranks of a stage
/// than micro-batches. It also does for depths of other stages, or of a plan that runs all forwards
/// first. The plan has the name of `schedule`.
/// Source: PipeDream's stage_to_rank_map and stage_to_depth_map, and num_warmup_minibatches in its
/// runtime (Narayanan et al. 2019).
Plan onStageRanks(OrderOfRow order, const ScheduleInfo& schedule, const StageMap& map,
                  int microBatches);

/// The schedules that have stages on several ranks, and those of them that take depths, in a
/// sentence: "1F1B, FThenB and GPipe".
std::string schedulesOnStageRanks();
std::string schedulesWithDepths();

}  // namespace pipetrace
