#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/partition/block_sums.h"
#include "schedule/partition/recompute_choices.h"
#include "schedule/simulate/plan_timing.h"

namespace pipetrace {

/// How good a partition is: compared from the first member on.
struct PartitionScore {
  std::int64_t excess = 0;    ///< bytes of the fullest rank over the limit
  Nanoseconds length = 0;     ///< of a simulated step; of one over the limit it is not looked at
  Nanoseconds recompute = 0;  ///< the recomputes of a micro-batch
  double unevenness = 0;      ///< of the stages' work, or of the excess of ranks

  auto operator<=>(const PartitionScore&) const = default;
};

/// A partition that the search has looked at.
struct PartitionCandidate {
  BlockPartition partition = {};
  PartitionScore score = {};
};

/// The stages of a plan with a table's blocks, to time many partitions in little time. Lengths are
/// those of dryRun(). For one thread.
class PartitionModel {
 public:
  /// `table` must outlive it. `limit`: bytes of a rank; 0: none. `recomputes`: blocks may run
  /// again.
  PartitionModel(const CheckedPlan& plan, const BlockTable& table, std::int64_t limit,
                 bool recomputes = true);
  PartitionModel(const PartitionModel&) = delete;
  PartitionModel& operator=(const PartitionModel&) = delete;

  int numStages() const { return plan_->numStages; }
  int numBlocks() const { return table_.numBlocks(); }
  /// With recomputes of all stages, where blocks may run again.
  const Plan& plan() const { return *plan_; }
  RecomputeFinder& recomputes() { return recomputes_; }

  /// With the recomputes that take least time.
  PartitionCandidate candidate(std::vector<int> blocks);
  /// With these.
  PartitionCandidate candidate(BlockPartition partition);

  /// A length that no partition beats in which `stage` has these blocks, of which the last
  /// `recomputed` run again. All blocks before them come before the stage's first job, and after
  /// its last one. More blocks at either end do not make it shorter.
  Nanoseconds bound(int stage, int first, int count, int recomputed = 0) const;
  /// The part of it that is the stage's own work, on the rank that has most of it.
  Nanoseconds work(int stage, int first, int count, int recomputed = 0) const;
  /// bound() less work().
  Nanoseconds forwardsBefore(int first) const;

  /// Actions that were timed so far: what the search has cost.
  std::int64_t timed() const { return timed_; }

 private:
  Nanoseconds length();
  void setUp(const BlockPartition& partition);
  double unevenness(const BlockPartition& partition) const;
  /// The least time of a backward of a stage, and of its part that the stage before waits for.
  Nanoseconds leastBackward(const StageCosts& stage) const;
  Nanoseconds leastInput(const StageCosts& stage) const;

  const CheckedPlan plan_;
  const BlockTable& table_;
  const BlockSums sums_;
  RecomputeFinder recomputes_;
  std::vector<std::int64_t> microBatches_;  // by stage, on the rank that has most
  bool hasWhole_ = false;                   // backwards
  bool hasHalves_ = false;
  std::int64_t timed_ = 0;
  std::vector<Nanoseconds> forwardsBefore_;   // by block
  std::vector<Nanoseconds> backwardsBefore_;  // by block, what the stages before wait for

  Costs costs_;  // of the candidate that is timed; timing_ looks at them
  std::optional<PlanTiming> timing_;
  std::vector<Nanoseconds> free_;
  Nanoseconds begin_ = 0;
};

}  // namespace pipetrace
