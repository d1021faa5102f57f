#pragma once

#include <cstdint>
#include <vector>

#include "schedule/check/weight_versions.h"
#include "schedule/plan.h"

namespace pipetrace {

/// Counts the versions of weights over the steps of a plan without a flush.
///
/// Threads: one.
class VersionCount {
 public:
  /// It is for a rank of the plan.
  VersionCount(const Plan& plan, int rank);

  void beginStep() { before_ = made_; }
  void update(int stage) { ++made_[static_cast<std::size_t>(stage)]; }

  /// As StageWork::versionOf(); kNotGiven throughout for plans with a flush.
  std::int32_t of(const Action& action) const;
  /// The version that a micro-batch uses at a stage, counted from 0 in each step.
  int usedBy(int stage, int microBatch) const;
  /// By version counted so: how many of the rank's micro-batches of a step use it at the stage.
  const std::vector<int>& usesOf(int stage) const { return uses_[static_cast<std::size_t>(stage)]; }
  const WeightVersions& versions() const { return versions_; }

 private:
  int numMicroBatches_ = 0;
  WeightVersions versions_;
  std::vector<std::vector<int>> uses_;  // by stage
  std::vector<std::int32_t> before_;    // by stage: versions made in earlier steps
  std::vector<std::int32_t> made_;
};

}  // namespace pipetrace
