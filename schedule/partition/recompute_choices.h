#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "schedule/partition/block_sums.h"
#include "schedule/partition/rank_memory.h"
#include "schedule/partition/stage_groups.h"

namespace pipetrace {

/// How many blocks the stages of a group have to run again to stay within the limit.
struct RecomputeChoices {
  /// By stage of the group. In each of them no stage could run fewer again without another running
  /// more. The one with the least time comes first. A step is not shorter with more recomputes, so
  /// no others need to be looked at.
  std::vector<std::vector<int>> counts;
  /// By how many bytes the fullest rank exceeds the limit; above 0 there is one choice, which
  /// exceeds it least.
  std::int64_t excess = 0;
  /// The excess of all ranks together.
  std::int64_t sumOfExcess = 0;
  bool areAll = true;  ///< false: there were too many to look at all of them
};

/// Finds the choices of a group of stages.
///
/// Threads: one.
class RecomputeFinder {
 public:
  /// `plan` has recomputes of all stages. `limit` is in bytes for each rank; 0: there is none.
  /// `plan` and `sums` must outlive it.
  RecomputeFinder(const Plan& plan, const BlockSums& sums, std::int64_t limit);

  const std::vector<StageGroup>& groups() const { return groups_; }
  /// `firsts`: of each stage of the plan its first block, and behind them the number of all blocks.
  /// Only those of the group's stages are looked at.
  const RecomputeChoices& of(std::size_t group, const std::vector<int>& firsts);
  /// Most memory of each rank, with costs of all stages.
  std::vector<std::int64_t> peaks(const std::vector<StageCosts>& stages) const;

 private:
  struct Excess {
    std::int64_t most = 0;
    std::int64_t sum = 0;
    auto operator<=>(const Excess&) const = default;
  };
  struct Task;  // one group of a partition
  Excess excessOf(Task& task, const std::vector<int>& counts);
  void tryAll(Task& task, RecomputeChoices& found);
  void goDown(Task& task, RecomputeChoices& found);
  RecomputeChoices find(Task& task);

  const BlockSums& sums_;
  const std::int64_t limit_;
  const bool recomputes_;
  const std::vector<StageGroup> groups_;
  std::vector<RankMemory> ranks_;
  std::vector<StageCosts> stages_;  // of all; those of a task are set
  std::map<std::vector<int>, RecomputeChoices> known_;
};

}  // namespace pipetrace
