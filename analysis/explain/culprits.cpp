#include "analysis/explain/culprits.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// Idle time by rank, by stage, or by what jobs are, over all steps.
using Shares = std::unordered_map<std::uint64_t, Nanoseconds>;

/// A job of every step, and its rank.
struct JobOfRank {
  std::uint64_t kind = 0;  // kindOfJob
  std::uint32_t rank = 0;

  bool operator==(const JobOfRank&) const = default;
};
struct JobOfRankHash {
  std::size_t operator()(const JobOfRank& job) const {
    return (job.kind * 0x9e3779b97f4a7c15U) ^ job.rank;
  }
};
using JobShares = std::unordered_map<JobOfRank, Nanoseconds, JobOfRankHash>;

/// A group whose largest rank and job are not known yet.
struct Collecting {
  CulpritGroup group;
  JobShares jobs;
  std::pair<std::uint64_t, Nanoseconds> most;  // kindOfJob with most, over all ranks
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

constexpr unsigned kStageBits = 24;

std::int32_t stageOf(std::uint64_t kindOfJob) {
  const auto stage = static_cast<std::uint32_t>(kindOfJob >> 32U) & ((1U << kStageBits) - 1);
  return stage == (1U << kStageBits) - 1 ? kNotGiven : static_cast<std::int32_t>(stage);
}

std::uint64_t kindOfJob(const JobGraph::Node& node) {
  const std::uint64_t stage = static_cast<std::uint32_t>(node.stage) & ((1U << kStageBits) - 1);
  return (static_cast<std::uint64_t>(node.kind) << 56U) | (stage << 32U) |
         static_cast<std::uint32_t>(node.microBatch);
}

std::pair<std::uint64_t, Nanoseconds> largest(const Shares& shares) {
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

  /// By the culprit's rank. Complete once groups are added to it.
  Shares byRank;
  Groups groups;

  /// Adds one of several parts, which follow each other in time.
  void collect(std::size_t part, std::size_t parts) {
    const std::size_t end = (part + 1) * bubbles_.size() / parts;
    for (std::size_t i = part * bubbles_.size() / parts; i < end; ++i) {
      const Bubble& bubble = bubbles_[i];
      if (bubble.culprit == JobGraph::kNone) continue;
      const JobGraph::Node& node = graph_.node(bubble.culprit);
      const Nanoseconds time = bubble.end - bubble.begin;
      if (bubble.bubbleClass == BubbleClass::kSync) {
        byRank[node.rank] += time;
        continue;
      }
      Collecting& collecting = groups[keyOf(graph_, bubble, bubble.culprit)];
      collecting.group.bubbleClass = bubble.bubbleClass;
      collecting.group.time += time;
      collecting.jobs[{kindOfJob(node), node.rank}] += time;
      addExample(collecting.group, rank_, bubble);
    }
  }

  using Single = std::pair<Id, Nanoseconds>;
  using Singles = std::unordered_map<Key, std::vector<Single>, KeyHash>;
  /// The jobs that are what each group has most of, each several times. `candidates`: by node,
  /// whether it may be one.
  Singles singles(const std::vector<char>& candidates,
                  const std::unordered_map<Key, std::uint64_t, KeyHash>& most) const {
    Singles found;
    for (const Bubble& bubble : bubbles_) {
      const Id job = bubble.culprit;
      if (job == JobGraph::kNone || candidates[job] == 0) continue;
      if (bubble.bubbleClass == BubbleClass::kSync) continue;
      const Key key = keyOf(graph_, bubble, job);
      if (most.at(key) != kindOfJob(graph_.node(job))) continue;
      found[key].emplace_back(job, bubble.end - bubble.begin);
    }
    return found;
  }

 private:
  const JobGraph& graph_;
  const std::vector<Bubble>& bubbles_;
  std::uint32_t rank_;
};

/// By node: whether it is of one of these kinds.
std::vector<char> nodesOf(const JobGraph& graph, const std::unordered_set<std::uint64_t>& kinds,
                          int threads) {
  std::vector<char> are(graph.nodes().size());
  constexpr std::size_t kAtOnce = 65536;
  inParallel(threads, are.size() / kAtOnce + 1, [&](std::size_t part) {
    const std::size_t end = std::min(are.size(), (part + 1) * kAtOnce);
    for (std::size_t id = part * kAtOnce; id < end; ++id) {
      const JobGraph::Node& node = graph.node(static_cast<Id>(id));
      are[id] = !node.isMessage && kinds.contains(kindOfJob(node)) ? 1 : 0;
    }
  });
  return are;
}

void add(Collecting& sum, const Collecting& part) {
  sum.group.bubbleClass = part.group.bubbleClass;
  sum.group.time += part.group.time;
  for (const auto& [rank, bubble] : part.group.examples) addExample(sum.group, rank, bubble);
  for (const auto& [job, time] : part.jobs) sum.jobs[job] += time;
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
  Shares ranks;
  std::set<std::int32_t> stages;
  for (const auto& [job, time] : collecting.jobs) {
    ranks[job.rank] += time;
    if (stageOf(job.kind) >= 0) stages.insert(stageOf(job.kind));
  }
  group.rank = graph.ranks()[static_cast<std::size_t>(largest(ranks).first)].number;
  if (stages.size() == 1) group.stage = *stages.begin();
  group.timeOfJob = collecting.most.second;
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
  // Jobs of a few steps at once stay in the processor's caches.
  constexpr std::size_t kJobsAtOnce = 8192;
  const std::size_t parts =
      1 + graph.jobCount() / (kJobsAtOnce * std::max<std::size_t>(1, graph.pipelines().size()));
  for (std::size_t part = 0; part < parts; ++part) {
    inParallel(threads, ranks.size(), [&](std::size_t r) { ranks[r].collect(part, parts); });
  }
  Culprits culprits;
  std::map<Key, Collecting> groups;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& [key, collecting] : ranks[rank].groups) {
      for (const auto& [job, time] : collecting.jobs) ranks[rank].byRank[job.rank] += time;
      add(groups[key], collecting);
    }
    for (const auto& [culprit, time] : ranks[rank].byRank) {
      culprits.byRanks[{rank, static_cast<std::uint32_t>(culprit)}] = time;
    }
    ranks[rank].groups.clear();
  }
  std::unordered_map<Key, std::uint64_t, KeyHash> most;
  std::unordered_set<std::uint64_t> kinds;
  for (auto& [key, collecting] : groups) {
    Shares ofAllRanks;
    for (const auto& [job, time] : collecting.jobs) ofAllRanks[job.kind] += time;
    collecting.most = largest(ofAllRanks);
    most[key] = collecting.most.first;
    kinds.insert(collecting.most.first);
  }
  const std::vector<char> candidates = nodesOf(graph, kinds, threads);
  std::vector<RankCulprits::Singles> found(ranks.size());
  inParallel(threads, ranks.size(),
             [&](std::size_t r) { found[r] = ranks[r].singles(candidates, most); });
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
