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
  static constexpr std::array kCosts{&StageCosts::activation, &StageCosts::freedByInput,
                                     &StageCosts::recomputed, &StageCosts::working};
  /// How often each of kCosts counts, stage after stage.
  using Times = std::vector<std::int64_t>;

  std::vector<int> stages_;
  std::vector<std::int64_t> versions_;  // of weights, by stage of the rank
  std::vector<Times> sums_;
};

}  // namespace pipetrace
