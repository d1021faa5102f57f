// How much later than their last inputs operations began, where launches are kept.
#include <algorithm>
#include <array>
#include <utility>

#include "analysis/rerun/rerun_order.h"

namespace pipetrace {

/// Adds to what begins late the last work of its ranks that had ended, if that explains more.
void RerunOrder::addWaitsForLaunches(const JobGraph& graph, const RunWork& runWork,
                                     bool areInLine) {
  const auto isMessage = [&](Index work) {
    return !runWork.isCollective(operations_[work].id) &&
           graph.node(operations_[work].id).isMessage;
  };
  // The ranks of a message are its receiver's and, where it is known, its sender's.
  const auto ranksOf = [&](Index work) {
    const RunWork::Id maker = isMessage(work) ? graph.node(operations_[work].id).inputs[0]
                                              : static_cast<RunWork::Id>(RunWork::kNone);
    return std::array{operations_[work].rank,
                      maker == RunWork::kNone ? operations_[work].rank : graph.node(maker).rank};
  };
  using Ended = std::vector<std::pair<Nanoseconds, Index>>;
  std::vector<Ended> jobs(runWork.rankCount());
  std::vector<Ended> messages(runWork.rankCount());
  for (Index i = 0; i < operations_.size(); ++i) {
    if (runWork.isCollective(operations_[i].id)) continue;
    const Nanoseconds end = runWork.endOf(operations_[i].id);
    const auto ranks = ranksOf(i);
    std::vector<Ended>& lists = isMessage(i) ? messages : jobs;
    lists[ranks[0]].emplace_back(end, i);
    if (ranks[1] != ranks[0]) lists[ranks[1]].emplace_back(end, i);
  }
  for (std::vector<Ended>* const lists : {&jobs, &messages}) {
    for (Ended& list : *lists) std::sort(list.begin(), list.end());
  }
  const auto latest = [](const Ended& list, Nanoseconds time) {
    const auto after = std::upper_bound(list.begin(), list.end(), std::pair{time, kNone});
    return after == list.begin() ? std::pair{kNsMin, kNone} : *(after - 1);
  };
  std::vector<Wait> all;
  std::vector<Index> first;
  all.reserve(waits_.size() + operations_.size() / 8);
  for (Index i = 0; i < operations_.size(); ++i) {
    first.push_back(static_cast<Index>(all.size()));
    Nanoseconds ready = kNsMin;
    for (const Wait& wait : waits(i)) {
      all.push_back(wait);
      if (wait.source != kNone) ready = std::max(ready, runWork.endOf(operations_[wait.source].id));
    }
    const RunWork::Id id = operations_[i].id;
    const Nanoseconds begin = runWork.beginOf(id);
    if (runWork.isCollective(id) || ready == kNsMin || ready >= begin) continue;
    if (!isMessage(i) && !runWork.isNumbered()) continue;
    if (isMessage(i) && areInLine && graph.isOnLine(id)) continue;
    std::pair<Nanoseconds, Index> found{kNsMin, kNone};
    for (const std::uint32_t rank : ranksOf(i)) {
      found = std::max(found, latest(isMessage(i) ? jobs[rank] : messages[rank], begin));
    }
    if (found.first > ready && found.second != i) all.push_back({.source = found.second});
  }
  first.push_back(static_cast<Index>(all.size()));
  waits_ = std::move(all);
  firstWait_ = std::move(first);
}

/// Times are exact: whole nanoseconds below 2^53.
void RerunOrder::findLaunches(const RunWork& runWork) {
  isCoupled_.assign(operations_.size(), 0);
  origin_ = kNsMax;
  for (const Work& work : operations_) origin_ = std::min(origin_, runWork.beginOf(work.id));
  for (const Group& group : groups_) {
    Nanoseconds begin = kNsMin;  // of all members
    for (const Index member : members(group)) {
      Work& work = operations_[member];
      const Nanoseconds own = runWork.beginOf(work.id);
      begin = std::max(begin, own);
      Nanoseconds ready = kNsMin;
      for (const Wait& wait : waits(member)) {
        if (wait.source != kNone)
          ready = std::max(ready, runWork.endOf(operations_[wait.source].id));
      }
      work.launch = static_cast<double>(own - (ready == kNsMin ? origin_ : ready));
    }
    for (const Index member : members(group)) {
      operations_[member].measured =
          static_cast<double>(runWork.endOf(operations_[member].id) - begin);
    }
  }
}

}  // namespace pipetrace
