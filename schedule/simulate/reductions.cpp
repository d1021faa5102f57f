#include "schedule/simulate/reductions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pipetrace {

std::vector<Reduction> reductionsOf(const Plan& plan, const Costs& costs) {
  std::map<std::pair<int, int>, std::vector<Reduction::Member>> found;  // by stage and turn
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    std::map<int, int> turns;  // by stage
    const auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Action& action = row[i];
      if (action.kind != JobKind::kReduceScatter) continue;
      if (action.stage < 0 || action.stage >= plan.numStages) continue;
      // A job's own time makes it a job of its rank.
      if (costs.stages[static_cast<std::size_t>(action.stage)].reduction <= 0) continue;
      if (costs.faults.change(action)) continue;
      found[{action.stage, turns[action.stage]++}].push_back(
          {.rank = rank, .cell = static_cast<int>(i)});
    }
  }
  std::vector<Reduction> all;
  for (auto& [place, members] : found) {
    const std::vector<int> ranks = plan.ranksOf(place.first);
    const bool isWhole =
        std::equal(ranks.begin(), ranks.end(), members.begin(), members.end(),
                   [](int rank, const Reduction::Member& m) { return rank == m.rank; });
    if (ranks.size() < 2 || !isWhole) continue;
    const bool follows = !all.empty() && all.back().stage == place.first;
    all.push_back({.stage = place.first,
                   .members = std::move(members),
                   .before = follows ? static_cast<int>(all.size()) - 1 : -1,
                   .length = costs.stages[static_cast<std::size_t>(place.first)].reduction});
  }
  if (costs.scalarAllReduce <= 0 || !plan.hasAny(isScalarAllReduce)) return all;
  Reduction scalars{.stage = kAllStages, .length = costs.scalarAllReduce};
  for (int rank = 0; rank < plan.numRanks(); ++rank) {  // the last action of each
    const std::size_t size = plan.ranks[static_cast<std::size_t>(rank)].size();
    scalars.members.push_back({.rank = rank, .cell = static_cast<int>(size) - 1});
  }
  all.push_back(std::move(scalars));
  return all;
}

std::vector<Reduction> reductionsOf(const UpdateMeetings& updates, const Costs& costs) {
  std::vector<Reduction> all;
  for (const UpdateMeetings::Meeting& meeting : updates.all()) {
    all.push_back({.stage = meeting.stage,
                   .length = costs.stages[static_cast<std::size_t>(meeting.stage)].reduction});
    for (const UpdateMeetings::Member& member : meeting.members) {
      all.back().members.push_back({.rank = member.rank, .cell = member.after.cell});
    }
  }
  return all;
}

std::vector<MeetingOfRanks> meetingsOf(const std::vector<Reduction>& reductions) {
  std::vector<MeetingOfRanks> meetings;
  for (const Reduction& reduction : reductions) {
    meetings.push_back({.before = reduction.before, .isOfAllRanks = reduction.stage == kAllStages});
    for (const Reduction::Member& member : reduction.members) {
      meetings.back().members.push_back({member.rank, member.cell});
    }
  }
  return meetings;
}

}  // namespace pipetrace
