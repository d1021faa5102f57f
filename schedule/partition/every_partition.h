#pragma once

#include "schedule/partition/partition_model.h"

namespace pipetrace {

/// Looks at every partition that could be better than `best`, which it replaces by the best one.
/// Leaves out those of which a stage's bound, or what a rank has to do, says that they are not
/// (branch and bound). Returns whether it came to its end: then no partition has a shorter step, or
/// where none fits the limit, none exceeds it less. Else the actions that it timed came to
/// `budget`.
bool tryEveryPartition(PartitionModel& model, PartitionCandidate& best, std::int64_t budget);

}  // namespace pipetrace
