#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/partition/block_table.h"

namespace pipetrace {

/// A partition and its step, as simulate() has it.
struct FoundPartition {
  BlockPartition partition = {};
  Nanoseconds step = 0;
  std::vector<std::int64_t> peakMemory = {};  ///< bytes, by rank
  /// By how much the fullest rank exceeds the limit; above 0: no partition was found that fits.
  std::int64_t excess = 0;
};

struct BestPartition {
  FoundPartition best;
  /// As equal numbers of blocks as possible, with the least recomputes that fit.
  FoundPartition even;
  /// Whether all others were ruled out: none has a shorter step within the limit; with an excess,
  /// none has less.
  bool isProven = false;
};

struct PartitionSearchOptions {
  std::int64_t memoryLimit = 0;  ///< bytes of a rank; 0: none
  /// Actions that are timed at most, which is what bounds the time of the search: about 50 million
  /// a second. The result does not depend on the machine.
  std::int64_t budget = 120'000'000;
  bool recomputes = true;  ///< blocks may run again where the limit asks for it
};

/// Throws Error for a schedule whose plan is made for the costs of its stages, so that a partition
/// cannot be found for it. Empty: a plan without a name, such as one in a file.
void requireSearchable(std::string_view schedule);

/// Throws Error for a plan that says itself what runs again.
void requireSearchable(const CheckedPlan& plan);

/// Finds which blocks the stages of `plan` have, and how many run again, so that its simulated step
/// is shortest with no rank over the limit. Each rank has the memory that the plan gives it; order
/// and places stay as they are.
///
/// It goes down from the even partition and from the one with the least bound. Then it looks at all
/// that could be better. As long as the budget lasts it goes down from random ones near the best.
/// A stage runs no more blocks again than the limit asks for, as the step would not be shorter.
///
/// Throws Error for fewer blocks than stages, a plan that has recomputes already, and a limit
/// where the table has no memory.
BestPartition bestPartition(const CheckedPlan& plan, const BlockTable& table,
                            const PartitionSearchOptions& options = {});

}  // namespace pipetrace
