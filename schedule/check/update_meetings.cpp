#include "schedule/check/update_meetings.h"

#include <map>
#include <utility>

namespace pipetrace {

UpdateMeetings::UpdateMeetings(const Plan& plan, const WeightVersions& versions) {
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
