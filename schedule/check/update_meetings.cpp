#include "schedule/check/update_meetings.h"

namespace pipetrace {
namespace {

using Position = PlanIndex::Position;

/// The first compute action of the row after `cell`, or its end.
int nextCompute(const std::vector<Action>& row, int cell) {
  const auto size = static_cast<int>(row.size());
  do {
    ++cell;
  } while (cell < size && !isCompute(row[static_cast<std::size_t>(cell)].kind));
  return cell;
}

}  // namespace

UpdateMeetings::UpdateMeetings(const Plan& plan, const WeightVersions& versions, bool hasLines) {
  if (!exist(plan)) return;
  std::vector<char> meets;  // by stage
  for (int s = 0; s < plan.numStages; ++s) meets.push_back(plan.ranksOf(s).size() > 1 ? 1 : 0);
  std::map<std::pair<int, int>, std::vector<Member>> found;  // by stage and number
  for (std::size_t i = 0; i < versions.updates.size(); ++i) {
    const WeightVersions::Update& update = versions.updates[i];
    if (meets[static_cast<std::size_t>(update.stage)] == 0) continue;
    const int rank = update.after.rank;
    const std::vector<Action>& row = plan.ranks[static_cast<std::size_t>(rank)];
    const int next = nextCompute(row, update.after.cell);
    int last = next - 1;
    while (hasLines && isTransfer(row[static_cast<std::size_t>(last)].kind)) --last;
    Member member{
        .rank = rank, .update = static_cast<int>(i), .after = update.after, .last = {rank, last}};
    if (next < static_cast<int>(row.size())) member.next = {rank, next};
    found[{update.stage, update.number}].push_back(member);
  }
  ofUpdate_.assign(versions.updates.size(), -1);
  for (auto& [place, members] : found) {
    const auto index = static_cast<int>(all_.size());
    for (const Member& member : members) {
      ofUpdate_[static_cast<std::size_t>(member.update)] = index;
      if (member.next.exists()) before_[{member.rank, member.next.cell}].push_back(index);
    }
    all_.push_back({.stage = place.first, .number = place.second, .members = std::move(members)});
  }
}

const std::vector<int>& UpdateMeetings::before(Position position) const {
  static const std::vector<int> kNone;
  const auto found = before_.find({position.rank, position.cell});
  return found == before_.end() ? kNone : found->second;
}

}  // namespace pipetrace
