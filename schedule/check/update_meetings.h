#pragma once

#include <vector>

#include "schedule/check/weight_versions.h"

namespace pipetrace {

/// The updates of an asynchronous plan at which the ranks of a stage wait for each other: each
/// comes to the update, and none goes on before all have. An update comes right before the next
/// compute action of its rank, or at the end of the step, so after the sends and receives before
/// that.
class UpdateMeetings {
 public:
  struct Member {
    int rank = 0;
    int update = 0;             ///< its index in WeightVersions::updates
    PlanIndex::Position after;  ///< WeightVersions::Update::after
  };
  struct Meeting {
    int stage = 0;
    int number = 0;               ///< of the update
    std::vector<Member> members;  ///< by rank
  };

  UpdateMeetings() = default;
  /// `versions` are those of the plan.
  UpdateMeetings(const Plan& plan, const WeightVersions& versions);

  /// Whether a plan has stages on several ranks, and is asynchronous.
  static bool exist(const Plan& plan) {
    return plan.isAsynchronous() && (plan.replicas > 1 || plan.placement.hasSeveralRanks());
  }

  bool empty() const { return all_.empty(); }
  const std::vector<Meeting>& all() const { return all_; }  ///< by stage and number
  /// The index of the one of an update; below 0: its stage is on one rank.
  int of(int update) const {
    return ofUpdate_.empty() ? -1 : ofUpdate_[static_cast<std::size_t>(update)];
  }

 private:
  std::vector<Meeting> all_;
  std::vector<int> ofUpdate_;
};

}  // namespace pipetrace
