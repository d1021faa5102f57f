#include "schedule/simulate/reductions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pipetrace {
namespace {

int lastToCome(const std::vector<Reductions::Member>& members) {
  const auto last = std::max_element(members.begin(), members.end(),
                                     [](const Reductions::Member& a, const Reductions::Member& b) {
                                       return a.arrived < b.arrived;
                                     });
  return static_cast<int>(last - members.begin());
}

}  // namespace

Reductions::Reductions(const Plan& plan, const Costs& costs)
    : scalarAllReduce_(costs.scalarAllReduce) {
  for (const StageCosts& stage : costs.stages) costs_.push_back(stage.reduction);
  std::map<std::pair<int, int>, std::vector<Member>> found;  // by stage and turn
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
  for (auto& [place, members] : found) {
    const std::vector<int> ranks = plan.ranksOf(place.first);
    const bool isWhole = std::equal(ranks.begin(), ranks.end(), members.begin(), members.end(),
                                    [](int rank, const Member& m) { return rank == m.rank; });
    if (ranks.size() < 2 || !isWhole) continue;
    const bool follows = !all_.empty() && all_.back().stage == place.first;
    const int before = follows ? static_cast<int>(all_.size()) - 1 : kNone;
    all_.push_back({.stage = place.first, .members = std::move(members), .before = before});
  }
  if (scalarAllReduce_ > 0 && plan.hasAny(isScalarAllReduce)) addScalarAllReduce(plan);
  if (all_.empty()) return;
  for (const auto& row : plan.ranks) places_.emplace_back(row.size(), kNone);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    for (const Member& member : all_[i].members) {
      places_[static_cast<std::size_t>(member.rank)][static_cast<std::size_t>(member.cell)] =
          static_cast<int>(i);
    }
  }
}

Reductions::Reductions(const UpdateMeetings& updates, const Costs& costs) {
  for (const StageCosts& stage : costs.stages) costs_.push_back(stage.reduction);
  for (const UpdateMeetings::Meeting& meeting : updates.all()) {
    Reduction& reduction = all_.emplace_back();
    reduction.stage = meeting.stage;
    for (const UpdateMeetings::Member& member : meeting.members) {
      reduction.members.push_back({.rank = member.rank, .cell = member.after.cell});
    }
  }
}

/// The last action of each rank.
void Reductions::addScalarAllReduce(const Plan& plan) {
  Reduction scalars{.stage = kAllStages};
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const std::size_t size = plan.ranks[static_cast<std::size_t>(rank)].size();
    scalars.members.push_back({.rank = rank, .cell = static_cast<int>(size) - 1});
  }
  all_.push_back(std::move(scalars));
}

int Reductions::at(int rank, int cell) const {
  if (places_.empty()) return kNone;
  return places_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(cell)];
}

void Reductions::arrive(int reduction, int rank, Nanoseconds time) {
  for (Member& member : all_[static_cast<std::size_t>(reduction)].members) {
    if (member.rank == rank) member.arrived = time;
  }
}

Nanoseconds Reductions::runOfUpdate(int reduction) {
  Reduction& own = all_[static_cast<std::size_t>(reduction)];
  own.last = lastToCome(own.members);
  own.begin = own.members[static_cast<std::size_t>(own.last)].arrived;
  return own.end = own.begin + costs_[static_cast<std::size_t>(own.stage)];
}

void Reductions::run(std::vector<Nanoseconds>& free) {
  last_.assign(free.size(), kNone);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Reduction& own = all_[i];
    if (own.stage == kAllStages) {
      runScalarAllReduce(own, free);
      last_.assign(free.size(), static_cast<int>(i));
      continue;
    }
    own.last = lastToCome(own.members);
    own.begin = own.members[static_cast<std::size_t>(own.last)].arrived;
    if (own.before != kNone) {
      own.begin = std::max(own.begin, all_[static_cast<std::size_t>(own.before)].end);
    }
    own.end = own.begin + costs_[static_cast<std::size_t>(own.stage)];
    for (const Member& member : own.members) {
      const auto rank = static_cast<std::size_t>(member.rank);
      if (own.end <= free[rank]) continue;
      free[rank] = own.end;
      last_[rank] = static_cast<int>(i);
    }
  }
}

void Reductions::runScalarAllReduce(Reduction& own, std::vector<Nanoseconds>& free) {
  const auto last = std::max_element(free.begin(), free.end());
  own.last = static_cast<int>(last - free.begin());
  own.before = lastOf(own.last);
  for (Member& member : own.members) {
    member.arrived = free[static_cast<std::size_t>(member.rank)];
  }
  own.begin = *last;
  own.end = own.begin + scalarAllReduce_;
  free.assign(free.size(), own.end);
}

int Reductions::lastOf(int rank) const {
  return last_.empty() ? kNone : last_[static_cast<std::size_t>(rank)];
}

}  // namespace pipetrace
