#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/costs.h"
#include "schedule/partition/block_sums.h"
#include "schedule/plan.h"
#include "schedule/simulate/plan_timing.h"

namespace pipetrace {

/// Stages whose memory is on the same ranks, so that they share a limit. A stage with a rank of its
/// own is a group of one; the stages of a rank are one, and so are those of ranks that share any.
struct StageGroup {
  std::vector<int> stages;  ///< ascending
  std::vector<int> ranks;
};

/// All of a plan, by their first stages.
std::vector<StageGroup> stageGroups(const Plan& plan);

/// The most memory that a rank of a plan holds, for many costs of its stages. The activations that
/// are held at a time follow from the plan alone (HeldMemory). So the memory at each action is a
/// sum in which each of its stages' costs counts a number of times. Few of these sums can be the
/// largest.
class RankMemory {
 public:
  RankMemory(const Plan& plan, int rank);

  const std::vector<int>& stages() const { return stages_; }  ///< of the rank, ascending
  /// peaksOf() of the rank. `stages`: of all stages of the plan.
  std::int64_t peak(const std::vector<StageCosts>& stages) const;

 private:
  /// The memory of a stage in parts, none of which is below 0. They are its activation, the part
  /// that the input half leaves, the part that is recomputed, and its working memory.
  static constexpr std::size_t kParts = 4;
  using Parts = std::array<std::int64_t, kParts>;
  static Parts partsOf(const StageCosts& stage);
  /// The costs of a stage of which one part is 1, and the others are 0.
  static StageCosts unitOf(std::size_t part);
  /// How often each part counts, stage after stage.
  using Times = std::vector<std::int64_t>;

  std::vector<int> stages_;
  std::vector<std::int64_t> versions_;  // of weights, by stage of the rank
  std::vector<Times> sums_;
};

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
