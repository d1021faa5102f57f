// The collectives of the steps to use: what they wait for, and what waits for them.
#include <algorithm>
#include <tuple>

#include "analysis/graph/collective_rules.h"
#include "analysis/rerun/run_work.h"

namespace pipetrace {

void RunWork::findCollectives() {
  const auto& ranks = graph_.ranks();
  std::vector<std::vector<std::pair<std::uint32_t, Id>>> found(ranks.size());  // step and node
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (Id id = ranks[r].firstCollective; id < ranks[r].endOfCollectives; ++id) {
      const std::uint32_t step = stepOf(graph_.node(id).step);
      if (step != kNoStep) found[r].emplace_back(step, id);
    }
    std::stable_sort(found[r].begin(), found[r].end(), [&](const auto& a, const auto& b) {
      return std::tie(a.first, graph_.node(a.second).event->begin) <
             std::tie(b.first, graph_.node(b.second).event->begin);
    });
  }
  std::vector<std::size_t> next(ranks.size());
  for (std::size_t step = 0; step < stepCount_; ++step) {
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
      firstCollective_.push_back(collectives_.size());
      for (; next[r] < found[r].size() && found[r][next[r]].first == step; ++next[r]) {
        const Id node = found[r][next[r]].second;
        collectives_.push_back({.node = node, .group = graph_.collective(node).group});
      }
    }
  }
  firstCollective_.push_back(collectives_.size());
}

/// The study's order: compute jobs, then `default` jobs, collectives and the optimizer. Collectives
/// that come before have the first forward of their chunk wait for them.
void RunWork::chainCollectives(std::size_t cell) {
  std::vector<Id>& chain = chains_[cell];
  std::vector<std::pair<int, Id>> ordered;
  for (const Id job : chain) {
    const JobKind kind = graph_.node(job).event->kind;
    ordered.emplace_back(isCompute(kind) ? -1 : kind == JobKind::kOptimizer ? 9 : 0, job);
  }
  for (std::size_t c = firstCollective_[cell]; c < firstCollective_[cell + 1]; ++c) {
    Collective& each = collectives_[c];
    const CollectiveRule rule =
        collectiveRuleOf(timeline_.strings[graph_.node(each.node).event->name]);
    each.isChained = rule.order >= 0;
    if (each.isChained) {
      ordered.emplace_back(rule.order, nodes_ + static_cast<Id>(c));
      continue;
    }
    const std::int16_t chunk = graph_.node(each.node).event->chunk;
    const auto first = std::find_if(chain.begin(), chain.end(), [&](Id job) {
      const Event& event = *graph_.node(job).event;
      return event.kind == JobKind::kForward && (chunk < 0 || event.chunk == chunk);
    });
    if (first != chain.end()) each.next = *first;
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  chain.clear();
  for (const auto& [order, work] : ordered) chain.push_back(work);
}

/// A collective begins after the last job of its rank that had ended, and after the one before it
/// on its lane. The first job that begins after its end waits for it.
void RunWork::placeCollectives(std::size_t cell) {
  const std::vector<Id>& chain = chains_[cell];
  const auto jobAt = [&](Nanoseconds time) {  // the first that begins then or later
    return std::partition_point(chain.begin(), chain.end(),
                                [&](Id job) { return graph_.node(job).event->begin < time; });
  };
  for (std::size_t c = firstCollective_[cell]; c < firstCollective_[cell + 1]; ++c) {
    Collective& each = collectives_[c];
    const Event& event = *graph_.node(each.node).event;
    const auto after = jobAt(event.end);
    if (after != chain.end()) each.next = *after;
    for (auto job = jobAt(event.begin); job != chain.begin();) {
      if (graph_.node(*--job).event->end > event.begin) continue;
      each.before[0] = *job;
      break;
    }
    for (std::size_t other = c; other-- > firstCollective_[cell];) {
      const bool isOfLane =
          graph_.collective(collectives_[other].node).track == graph_.collective(each.node).track;
      if (!isOfLane) continue;
      each.before[1] = nodes_ + static_cast<Id>(other);
      break;
    }
  }
}

}  // namespace pipetrace
