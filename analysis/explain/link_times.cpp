#include "analysis/explain/link_times.h"

#include <algorithm>
#include <vector>

#include "analysis/median.h"

namespace pipetrace {

LinkTimes::LinkTimes(const JobGraph& graph, const CountedSteps& counted) {
  using Id = JobGraph::Id;
  std::map<Link, std::vector<Nanoseconds>> directions;
  // By receiver, as an index: its senders and their lists. Most ranks have few.
  std::vector<std::vector<std::pair<std::uint32_t, std::vector<Nanoseconds>*>>> known(
      graph.ranks().size());
  for (std::size_t id = graph.jobCount(); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& node = graph.node(static_cast<Id>(id));
    if (node.inputs[0] == JobGraph::kNone || !counted.contains(node.step)) continue;
    const std::uint32_t sender = graph.node(node.inputs[0]).rank;
    auto& senders = known[node.rank];
    auto list = std::find_if(senders.begin(), senders.end(),
                             [&](const auto& each) { return each.first == sender; });
    if (list == senders.end()) {
      const Link link(graph.ranks()[sender].number, graph.ranks()[node.rank].number);
      list = senders.insert(list, {sender, &directions[link]});
    }
    list->second->push_back(node.end - node.begin);
  }
  std::map<Link, std::vector<Nanoseconds>> both;
  for (auto& [direction, times] : directions) {
    const auto [from, to] = direction;
    const Link link(std::min(from, to), std::max(from, to));
    const Nanoseconds median = medianOf(times);
    if (median < 0) early_[link] = std::max(early_[link], -median);
    both[link].insert(both[link].end(), times.begin(), times.end());
  }
  for (auto& [link, times] : both) medians_[link] = medianOf(times);
}

Nanoseconds LinkTimes::of(Link link) const {
  const auto found = medians_.find(link);
  return found == medians_.end() ? 0 : found->second;
}

std::optional<Nanoseconds> LinkTimes::ofOthers(Link link) const {
  std::vector<Nanoseconds> others;
  for (const auto& [each, median] : medians_) {
    if (each != link && !isEarly(each)) others.push_back(median);
  }
  if (others.empty()) return std::nullopt;
  std::sort(others.begin(), others.end());
  return others[(others.size() - 1) / 2];
}

}  // namespace pipetrace
