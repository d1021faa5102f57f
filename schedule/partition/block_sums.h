#pragma once

#include <cstdint>
#include <vector>

#include "schedule/partition/block_table.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The costs of any stage that a partition may have, in little time.
class BlockSums {
 public:
  /// `table` must outlive it.
  BlockSums(const BlockTable& table, const Plan& plan);
  /// For any plan with a flush, without optimizerOf().
  BlockSums(const BlockTable& table, int numStages);

  /// The costs of `stage` with `count` blocks from `first` on, of which the last `recomputed` run
  /// again.
  StageCosts stage(int stage, int first, int count, int recomputed) const;
  /// The times of such a stage, without its memory.
  StageCosts times(int first, int count, int recomputed) const;
  /// The update of these blocks.
  Nanoseconds optimizer(int first, int count) const;
  /// The optimizer's time of a step of the plan, as Costs has it: of the slowest rank, without a
  /// flush of the slowest stage.
  Nanoseconds optimizerOf(const std::vector<int>& blocks) const;

 private:
  BlockSums(const BlockTable& table, std::vector<std::vector<int>> stagesByRank,
            bool isAsynchronous, std::vector<int> versions);
  using Sums = std::vector<std::int64_t>;
  std::int64_t sum(const Sums& sums, int first, int count) const {
    return sums[static_cast<std::size_t>(first + count)] - sums[static_cast<std::size_t>(first)];
  }
  /// The memory that neighbours among these blocks share.
  std::int64_t shared(int first, int count) const {
    return count > 1 ? sum(shared_, first, count - 1) : 0;
  }

  const BlockTable& table_;
  std::vector<std::vector<int>> stagesByRank_;
  bool isAsynchronous_;
  std::vector<int> versions_;  // by stage
  // These are sums over the first blocks.
  Sums forward_;
  Sums backward_;
  Sums backwardInput_;
  Sums backwardWeight_;
  Sums optimizer_;
  Sums activation_;
  Sums freedByInput_;
  Sums shared_;
  Sums parameters_;
  Sums updating_;
};

}  // namespace pipetrace
