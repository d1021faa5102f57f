#include "analysis/explain/culprits.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// One job in every step, or a rank.
using Share = std::unordered_map<std::uint64_t, Nanoseconds>;

/// A group whose largest rank and job are not known yet.
struct Collecting {
  CulpritGroup group;
  Share ranks;
  Share stages;
  Share jobs;                                      // by what they are, over all steps
  std::vector<std::pair<Id, Nanoseconds>> single;  // jobs of single steps, each several times
};

std::uint64_t kindOfJob(const JobGraph::Node& node) {
  return (static_cast<std::uint64_t>(node.kind) << 56U) ^
         (static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.stage)) << 32U) ^
         static_cast<std::uint32_t>(node.microBatch);
}

template <typename Map>
typename Map::const_iterator largest(const Map& map) {
  return std::max_element(map.begin(), map.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first > b.first;
  });
}

/// Class, then a stage, a rank, or the two ranks of a link.
using Key = std::tuple<BubbleClass, int, int>;

Key keyOf(const JobGraph& graph, const Bubble& bubble, Id culprit, std::int32_t stage) {
  const JobGraph::Node& node = graph.node(culprit);
  const int rank = graph.ranks()[node.rank].number;
  switch (bubble.bubbleClass) {
    case BubbleClass::kImbalance: return {bubble.bubbleClass, stage, -1};
    case BubbleClass::kTransfer: {
      const auto [from, to] = linkOf(graph, bubble);
      return {bubble.bubbleClass, std::min(from, to), std::max(from, to)};
    }
    default: return {bubble.bubbleClass, rank, -1};
  }
}

void addExample(CulpritGroup& group, std::uint32_t rank, const Bubble& bubble) {
  constexpr std::size_t kMost = 3;
  const auto length = [](const auto& example) { return example.second.end - example.second.begin; };
  auto& examples = group.examples;
  if (examples.size() == kMost && bubble.end - bubble.begin <= length(examples.back())) return;
  if (examples.size() == kMost) examples.pop_back();
  examples.emplace_back(rank, bubble);
  std::stable_sort(examples.begin(), examples.end(),
                   [&](const auto& a, const auto& b) { return length(a) > length(b); });
}

CulpritGroup finished(const JobGraph& graph, Collecting& collecting) {
  CulpritGroup group = std::move(collecting.group);
  group.rank = graph.ranks()[static_cast<std::size_t>(largest(collecting.ranks)->first)].number;
  if (collecting.stages.size() == 1) {
    group.stage = static_cast<std::int32_t>(collecting.stages.begin()->first);
  }
  const auto most = largest(collecting.jobs);
  group.timeOfJob = most->second;
  auto& single = collecting.single;
  std::erase_if(single,
                [&](const auto& each) { return kindOfJob(graph.node(each.first)) != most->first; });
  std::sort(single.begin(), single.end());
  for (std::size_t i = 0; i < single.size();) {
    const Id job = single[i].first;
    Nanoseconds time = 0;
    for (; i < single.size() && single[i].first == job; ++i) time += single[i].second;
    if (time <= group.timeOfStep) continue;
    group.timeOfStep = time;
    group.job = job;
  }
  group.step = graph.node(group.job).step;
  return group;
}

}  // namespace

std::pair<int, int> linkOf(const JobGraph& graph, const Bubble& transfer) {
  const Id sender = culpritOf(graph, transfer);
  const auto numberOf = [&](Id node) { return graph.ranks()[graph.node(node).rank].number; };
  return {sender == JobGraph::kNone ? -1 : numberOf(sender),
          transfer.cause == JobGraph::kNone ? -1 : numberOf(transfer.cause)};
}

Culprits culpritsOf(const JobGraph& graph, const Bubbles& bubbles, const SlowerStages& stages) {
  Culprits culprits;
  std::map<Key, Collecting> groups;
  for (std::uint32_t rank = 0; rank < bubbles.byRank.size(); ++rank) {
    for (const Bubble& bubble : bubbles.byRank[rank]) {
      const Id job = culpritOf(graph, bubble);
      if (job == JobGraph::kNone) continue;
      const Nanoseconds time = bubble.end - bubble.begin;
      culprits.byRanks[{rank, graph.node(job).rank}] += time;
      if (bubble.bubbleClass == BubbleClass::kSync) continue;
      const std::int32_t stage = bubble.bubbleClass == BubbleClass::kImbalance
                                     ? stages.toBlame(job)
                                     : graph.node(job).stage;
      Collecting& collecting = groups[keyOf(graph, bubble, job, stage)];
      CulpritGroup& group = collecting.group;
      group.bubbleClass = bubble.bubbleClass;
      group.time += time;
      if (bubble.bubbleClass == BubbleClass::kTransfer) group.peer = linkOf(graph, bubble).second;
      collecting.ranks[graph.node(job).rank] += time;
      if (stage >= 0) collecting.stages[static_cast<std::uint64_t>(stage)] += time;
      collecting.jobs[kindOfJob(graph.node(job))] += time;
      collecting.single.emplace_back(job, time);
      addExample(group, rank, bubble);
    }
  }
  for (auto& [key, collecting] : groups) {
    CulpritGroup group = finished(graph, collecting);
    if (group.bubbleClass == BubbleClass::kTransfer) {
      group.rank = std::get<1>(key);
      group.peer = std::get<2>(key);
    }
    culprits.groups.push_back(std::move(group));
  }
  std::stable_sort(culprits.groups.begin(), culprits.groups.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return culprits;
}

}  // namespace pipetrace
