#include "analysis/explain/culprits.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// Idle time by rank, by stage, or by what jobs are, over all steps.
using Shares = std::unordered_map<std::uint64_t, Nanoseconds>;

/// A group whose largest rank and job are not known yet.
struct Collecting {
  CulpritGroup group;
  Shares ranks;
  Shares stages;
  Shares jobs;
};

/// Class, then a stage, a rank, or the two ranks of a link.
using Key = std::tuple<BubbleClass, int, int>;

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
    const std::uint64_t ranks = (word(std::get<1>(key)) << 32U) ^ word(std::get<2>(key));
    return (ranks * 0x9e3779b97f4a7c15U) ^ word(std::get<0>(key));
  }
};
using Groups = std::unordered_map<Key, Collecting, KeyHash>;

std::uint64_t kindOfJob(const JobGraph::Node& node) {
  return (static_cast<std::uint64_t>(node.kind) << 56U) ^
         (static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.stage)) << 32U) ^
         static_cast<std::uint32_t>(node.microBatch);
}

Shares::value_type largest(const Shares& shares) {
  return *std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first > b.first;
  });
}

Key keyOf(const JobGraph& graph, const Bubble& bubble, Id culprit) {
  const JobGraph::Node& node = graph.node(culprit);
  const int rank = graph.ranks()[node.rank].number;
  switch (bubble.bubbleClass) {
    case BubbleClass::kImbalance: return {bubble.bubbleClass, node.stage, -1};
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

/// The bubbles that one rank waits in.
class RankCulprits {
 public:
  RankCulprits(const JobGraph& graph, const std::vector<Bubble>& bubbles, std::uint32_t rank)
      : graph_(graph), bubbles_(bubbles), rank_(rank) {}

  /// By the culprit's rank.
  Shares byRank;
  Groups groups;

  void collect() {
    visit([&](const Bubble& bubble, Id job) {
      const JobGraph::Node& node = graph_.node(job);
      const Nanoseconds time = bubble.end - bubble.begin;
      byRank[node.rank] += time;
      if (bubble.bubbleClass == BubbleClass::kSync) return;
      Collecting& collecting = groups[keyOf(graph_, bubble, job)];
      collecting.group.bubbleClass = bubble.bubbleClass;
      collecting.group.time += time;
      collecting.ranks[node.rank] += time;
      if (node.stage >= 0) collecting.stages[static_cast<std::uint64_t>(node.stage)] += time;
      collecting.jobs[kindOfJob(node)] += time;
      addExample(collecting.group, rank_, bubble);
    });
  }

  using Single = std::pair<Id, Nanoseconds>;
  /// The jobs that are what each group has most of, each several times.
  std::unordered_map<Key, std::vector<Single>, KeyHash> singles(
      const std::unordered_map<Key, std::uint64_t, KeyHash>& most) const {
    std::unordered_map<Key, std::vector<Single>, KeyHash> found;
    visit([&](const Bubble& bubble, Id job) {
      if (bubble.bubbleClass == BubbleClass::kSync) return;
      const Key key = keyOf(graph_, bubble, job);
      if (most.at(key) != kindOfJob(graph_.node(job))) return;
      found[key].emplace_back(job, bubble.end - bubble.begin);
    });
    return found;
  }

 private:
  template <typename Use>
  void visit(const Use& use) const {
    for (const Bubble& bubble : bubbles_) {
      const Id job = bubble.culprit;
      if (job != JobGraph::kNone) use(bubble, job);
    }
  }

  const JobGraph& graph_;
  const std::vector<Bubble>& bubbles_;
  std::uint32_t rank_;
};

void add(Shares& sum, const Shares& shares) {
  for (const auto& [what, time] : shares) sum[what] += time;
}

void add(Collecting& sum, const Collecting& part) {
  sum.group.bubbleClass = part.group.bubbleClass;
  sum.group.time += part.group.time;
  for (const auto& [rank, bubble] : part.group.examples) addExample(sum.group, rank, bubble);
  add(sum.ranks, part.ranks);
  add(sum.stages, part.stages);
  add(sum.jobs, part.jobs);
}

/// Finds the job with most of a group among those that are alike in every step.
void findJob(CulpritGroup& group, std::vector<RankCulprits::Single>& singles) {
  std::sort(singles.begin(), singles.end());
  for (std::size_t i = 0; i < singles.size();) {
    const Id job = singles[i].first;
    Nanoseconds time = 0;
    for (; i < singles.size() && singles[i].first == job; ++i) time += singles[i].second;
    if (time <= group.timeOfStep) continue;
    group.timeOfStep = time;
    group.job = job;
  }
}

CulpritGroup finished(const JobGraph& graph, const Key& key, Collecting& collecting) {
  CulpritGroup group = std::move(collecting.group);
  group.rank = graph.ranks()[static_cast<std::size_t>(largest(collecting.ranks).first)].number;
  if (collecting.stages.size() == 1) {
    group.stage = static_cast<std::int32_t>(collecting.stages.begin()->first);
  }
  group.timeOfJob = largest(collecting.jobs).second;
  group.step = graph.node(group.job).step;
  if (group.bubbleClass == BubbleClass::kTransfer) {
    group.rank = std::get<1>(key);
    group.peer = std::get<2>(key);
  }
  return group;
}

}  // namespace

std::pair<int, int> linkOf(const JobGraph& graph, const Bubble& transfer) {
  const Id sender = transfer.culprit;
  const auto numberOf = [&](Id node) { return graph.ranks()[graph.node(node).rank].number; };
  return {sender == JobGraph::kNone ? -1 : numberOf(sender),
          transfer.cause == JobGraph::kNone ? -1 : numberOf(transfer.cause)};
}

Culprits culpritsOf(const JobGraph& graph, const Bubbles& bubbles, int threads) {
  std::vector<RankCulprits> ranks;
  ranks.reserve(bubbles.byRank.size());
  for (std::uint32_t rank = 0; rank < bubbles.byRank.size(); ++rank) {
    ranks.emplace_back(graph, bubbles.byRank[rank], rank);
  }
  inParallel(threads, ranks.size(), [&](std::size_t r) { ranks[r].collect(); });
  Culprits culprits;
  std::map<Key, Collecting> groups;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& [culprit, time] : ranks[rank].byRank) {
      culprits.byRanks[{rank, static_cast<std::uint32_t>(culprit)}] = time;
    }
    for (const auto& [key, collecting] : ranks[rank].groups) add(groups[key], collecting);
    ranks[rank].groups.clear();
  }
  std::unordered_map<Key, std::uint64_t, KeyHash> most;
  for (const auto& [key, collecting] : groups) most[key] = largest(collecting.jobs).first;
  std::vector<std::unordered_map<Key, std::vector<RankCulprits::Single>, KeyHash>> found(
      ranks.size());
  inParallel(threads, ranks.size(), [&](std::size_t r) { found[r] = ranks[r].singles(most); });
  for (auto& [key, collecting] : groups) {
    std::vector<RankCulprits::Single> singles;
    for (const auto& ofRank : found) {
      const auto list = ofRank.find(key);
      if (list == ofRank.end()) continue;
      singles.insert(singles.end(), list->second.begin(), list->second.end());
    }
    findJob(collecting.group, singles);
    culprits.groups.push_back(finished(graph, key, collecting));
  }
  std::stable_sort(culprits.groups.begin(), culprits.groups.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return culprits;
}

}  // namespace pipetrace
