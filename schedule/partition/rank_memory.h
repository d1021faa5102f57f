#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

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

}  // namespace pipetrace
