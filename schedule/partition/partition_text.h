#pragma once

#include <string>
#include <vector>

#include "schedule/partition/block_table.h"

namespace pipetrace {

/// The recompute ratio of a stage, a decimal number from 0 to 1 with few digits. int(ratio *
/// blocks) of its blocks run again, and these are `recomputed`.
std::string recomputeRatio(int recomputed, int blocks);
double recomputeRatioNumber(int recomputed, int blocks);

/// The partition as a file that trainings read: {"partition": [12, 13], "recompute_ratio": [0.3,
/// 0]}, with a newline. `madeBy`, plain letters, is a further key "made_by" where it is not empty.
std::string partitionFile(const BlockPartition& partition, const std::string& madeBy = {});

}  // namespace pipetrace
