#include "analysis/causes/slow_optimizers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "analysis/median.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// The optimizer jobs of a rank in the steps that count.
struct Updates {
  std::uint32_t rank = 0;                       // an index in ranks()
  std::map<std::int32_t, Nanoseconds> lengths;  // by step
  Nanoseconds usual = 0;                        // the median
};

Updates updatesOf(const JobGraph& graph, std::uint32_t rank, const CountedSteps& counted) {
  Updates updates{.rank = rank};
  for (Id id = graph.ranks()[rank].first; id < graph.ranks()[rank].end; ++id) {
    const JobGraph::Node& node = graph.node(id);
    const bool counts = node.kind == JobKind::kOptimizer && counted.contains(node.step);
    if (counts) updates.lengths[node.step] += node.end - node.begin;
  }
  std::vector<Nanoseconds> lengths;
  for (const auto& [step, length] : updates.lengths) lengths.push_back(length);
  updates.usual = medianOf(lengths);
  return updates;
}

/// When the steps of a pipeline begin.
std::map<std::int32_t, Nanoseconds> beginsOf(const RunSummary& summary, int replica) {
  std::map<std::int32_t, Nanoseconds> begins;
  for (const StepSummary& step : summary.steps) {
    if (step.replica == replica) begins[step.step] = step.begin;
  }
  return begins;
}

/// Adds for how long other ranks waited for the optimizer: at the beginning of the step after it;
/// and at the end of its own step, before that begins, once it has taken as long as others do.
void addWaits(const Run& run, std::uint32_t slowRank, const CountedSteps& counted,
              SlowOptimizer& slow) {
  const JobGraph& graph = run.graph();
  const Bubbles& bubbles = run.bubbles();
  const std::map<std::int32_t, Nanoseconds> begins =
      beginsOf(run.summary(), graph.ranks()[slowRank].replica);
  for (std::uint32_t rank = 0; rank < bubbles.byRank.size(); ++rank) {
    if (rank == slowRank) continue;
    for (const Bubble& bubble : bubbles.byRank[rank]) {
      if (bubble.bubbleClass != BubbleClass::kSync || bubble.culprit == JobGraph::kNone) continue;
      const JobGraph::Node& culprit = graph.node(bubble.culprit);
      if (culprit.rank != slowRank || culprit.kind != JobKind::kOptimizer) continue;
      if (!counted.contains(bubble.step)) continue;
      Nanoseconds begin = bubble.begin;
      Nanoseconds end = bubble.end;
      if (culprit.step == bubble.step) {
        const auto next = begins.upper_bound(culprit.step);
        if (next == begins.end()) continue;
        begin = std::max(begin, culprit.begin + slow.others);
        end = std::min(end, next->second);
      }
      if (end <= begin) continue;
      slow.time += end - begin;
      slow.bubbles.emplace_back(rank, &bubble);
    }
  }
}

}  // namespace

std::vector<SlowOptimizer> slowOptimizersOf(const Run& run, const CountedSteps& counted) {
  const JobGraph& graph = run.graph();
  std::map<int, std::vector<Updates>> byReplica;
  for (std::uint32_t rank = 0; rank < graph.ranks().size(); ++rank) {
    Updates updates = updatesOf(graph, rank, counted);
    if (updates.lengths.empty()) continue;
    byReplica[graph.ranks()[rank].replica].push_back(std::move(updates));
  }
  std::vector<SlowOptimizer> slow;
  for (auto& [replica, ranks] : byReplica) {
    if (ranks.size() < 2) continue;
    std::ranges::stable_sort(ranks, std::ranges::greater(), &Updates::usual);
    SlowOptimizer one{.rank = graph.ranks()[ranks[0].rank].number,
                      .length = ranks[0].usual,
                      .others = ranks[1].usual};
    const double least = kSlowOptimizer * static_cast<double>(one.others);
    if (static_cast<double>(one.length) < least) continue;
    addWaits(run, ranks[0].rank, counted, one);
    if (one.time > 0) slow.push_back(std::move(one));
  }
  std::ranges::stable_sort(slow, std::ranges::greater(), &SlowOptimizer::time);
  return slow;
}

}  // namespace pipetrace
