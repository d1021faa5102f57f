#pragma once

#include <cstddef>
#include <map>
#include <utility>
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

inline UpdateMeetings::UpdateMeetings(const Plan& plan, const WeightVersions& versions) {
  if (!exist(plan)) return;
  std::vector<char> meets;  // by stage
  for (int s = 0; s < plan.numStages; ++s) meets.push_back(plan.ranksOf(s).size() > 1 ? 1 : 0);
  std::map<std::pair<int, int>, std::vector<Member>> found;  // by stage and number
  for (std::size_t i = 0; i < versions.updates.size(); ++i) {
    const WeightVersions::Update& update = versions.updates[i];
    if (meets[static_cast<std::size_t>(update.stage)] == 0) continue;
    found[{update.stage, update.number}].push_back(
        {.rank = update.after.rank, .update = static_cast<int>(i), .after = update.after});
  }
  ofUpdate_.assign(versions.updates.size(), -1);
  for (auto& [place, members] : found) {
    for (const Member& member : members) {
      ofUpdate_[static_cast<std::size_t>(member.update)] = static_cast<int>(all_.size());
    }
    all_.push_back({.stage = place.first, .number = place.second, .members = std::move(members)});
  }
}

}  // namespace pipetrace
