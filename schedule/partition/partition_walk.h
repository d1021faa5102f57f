#pragma once

#include <random>

#include "schedule/partition/partition_model.h"

namespace pipetrace {

/// The partition whose stages have the least largest bound (PartitionModel::bound()), with the
/// recomputes that a stage with a rank of its own needs. Found by dynamic programming: for each
/// stage and number of blocks up to its end, the best of its first blocks.
std::vector<int> leastBoundPartition(PartitionModel& model);

/// Goes from a partition to a better one next to it, until there is none. In those next to it one
/// stage has a block less and another one more, and the stages between them are shifted by one. Or
/// the stages of a rank have other recomputes. Ends early when model.timed() has come to `budget`.
PartitionCandidate walkDown(PartitionModel& model, PartitionCandidate from, std::int64_t budget);

/// Moves a few blocks at random.
std::vector<int> shaken(std::vector<int> blocks, std::mt19937& random);

}  // namespace pipetrace
