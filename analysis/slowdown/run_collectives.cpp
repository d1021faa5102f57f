// The collectives of a run: who takes part, what they wait for, what waits for them.
#include <algorithm>
#include <tuple>

#include "analysis/slowdown/collective_rules.h"
#include "analysis/slowdown/run_work.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {

void RunWork::findCollectives(int threads) {
  const auto& ranks = graph_.ranks();
  struct Found {
    std::uint32_t step = 0;
    std::uint32_t track = 0;
    const Event* event = nullptr;
  };
  std::vector<std::vector<Found>> found(ranks.size());
  inParallel(threads, ranks.size(), [&](std::size_t r) {
    for (std::uint32_t t = 0; t < timeline_.tracks.size(); ++t) {
      if (timeline_.tracks[t].rank != ranks[r].number) continue;
      for (const Event& event : timeline_.tracks[t].events) {
        if (!pipetrace::isCollective(event.kind)) continue;
        const std::uint32_t step = stepOf(event.step);
        if (step == kNoStep || (!isNumbered_ && isInsideOfJob(event, ranks[r]))) continue;
        found[r].push_back({step, t, &event});
      }
    }
    std::stable_sort(found[r].begin(), found[r].end(), [](const Found& a, const Found& b) {
      return std::tie(a.step, a.event->begin) < std::tie(b.step, b.event->begin);
    });
  });
  std::vector<std::size_t> next(ranks.size());
  for (std::size_t step = 0; step < stepCount_; ++step) {
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
      firstCollective_.push_back(collectives_.size());
      for (; next[r] < found[r].size() && found[r][next[r]].step == step; ++next[r]) {
        const Found& each = found[r][next[r]];
        collectives_.push_back({.event = each.event, .rank = r, .track = each.track});
      }
    }
  }
  firstCollective_.push_back(collectives_.size());
}

/// Whether it is part of a compute job, and of its time.
bool RunWork::isInsideOfJob(const Event& event, const JobGraph::Rank& rank) const {
  const auto nodes = graph_.nodes().begin();
  const auto next =
      std::partition_point(nodes + rank.first, nodes + rank.end,
                           [&](const JobGraph::Node& node) { return node.begin <= event.begin; });
  return next != nodes + rank.first && isCompute(std::prev(next)->event->kind) &&
         std::prev(next)->end >= event.end;
}

/// Finds the members of each group: the n-th of a name on each of the ranks that take part. Unless
/// all of them overlap in time they are no group, and each is one for itself.
void RunWork::groupCollectives() {
  struct Key {
    std::int32_t step = 0;
    JobKind kind = JobKind::kOther;
    StringId name = 0;
    std::int16_t chunk = 0;
    std::int64_t scope = 0;
    std::uint32_t number = 0;
    Id collective = 0;

    auto name_() const { return std::tie(step, kind, name, chunk, scope, number); }
  };
  std::vector<Key> keys;
  keys.reserve(collectives_.size());
  std::vector<std::pair<std::tuple<std::int32_t, JobKind, StringId, std::int16_t>, std::uint32_t>>
      counts;  // of one rank in one step
  for (std::size_t cell = 0; cell + 1 < firstCollective_.size(); ++cell) {
    counts.clear();
    for (std::size_t c = firstCollective_[cell]; c < firstCollective_[cell + 1]; ++c) {
      const Event& event = *collectives_[c].event;
      const JobGraph::Rank& rank = graph_.ranks()[collectives_[c].rank];
      Key key{.step = event.step,
              .kind = event.kind,
              .name = event.name,
              .chunk = event.chunk,
              .collective = static_cast<Id>(c)};
      const std::tuple same(key.step, key.kind, key.name, key.chunk);
      auto count = std::find_if(counts.begin(), counts.end(),
                                [&](const auto& each) { return each.first == same; });
      if (count == counts.end()) count = counts.insert(count, {same, 0});
      key.number = count->second++;
      switch (collectiveRuleOf(timeline_.strings[event.name]).members) {
        case Members::kAlone: key.scope = collectives_[c].rank; break;
        case Members::kReplicas: key.scope = rank.position; break;
        case Members::kPipeline: key.scope = rank.replica; break;
        case Members::kAll: break;
      }
      keys.push_back(key);
    }
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tuple_cat(a.name_(), std::tie(a.collective)) <
           std::tuple_cat(b.name_(), std::tie(b.collective));
  });
  for (std::size_t first = 0, end = 0; first < keys.size(); first = end) {
    Nanoseconds latestBegin = kNsMin;
    Nanoseconds earliestEnd = kNsMax;
    for (end = first; end < keys.size() && keys[end].name_() == keys[first].name_(); ++end) {
      const Event& event = *collectives_[keys[end].collective].event;
      latestBegin = std::max(latestBegin, event.begin);
      earliestEnd = std::min(earliestEnd, event.end);
    }
    const bool isGroup = isNumbered_ || latestBegin <= earliestEnd;
    for (std::size_t k = first; k < end; ++k) {
      Collective& member = collectives_[keys[k].collective];
      if (k == first || !isGroup) {
        latestBegin_.push_back(isGroup ? latestBegin : member.event->begin);
      }
      member.group = static_cast<std::uint32_t>(latestBegin_.size() - 1);
    }
  }
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
    const CollectiveRule rule = collectiveRuleOf(timeline_.strings[each.event->name]);
    each.isChained = rule.order >= 0;
    if (each.isChained) {
      ordered.emplace_back(rule.order, nodes_ + static_cast<Id>(c));
      continue;
    }
    const auto first = std::find_if(chain.begin(), chain.end(), [&](Id job) {
      const Event& event = *graph_.node(job).event;
      return event.kind == JobKind::kForward &&
             (each.event->chunk < 0 || event.chunk == each.event->chunk);
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
    const auto after = jobAt(each.event->end);
    if (after != chain.end()) each.next = *after;
    for (auto job = jobAt(each.event->begin); job != chain.begin();) {
      if (graph_.node(*--job).event->end > each.event->begin) continue;
      each.before[0] = *job;
      break;
    }
    for (std::size_t other = c; other-- > firstCollective_[cell];) {
      if (collectives_[other].track != each.track) continue;
      each.before[1] = nodes_ + static_cast<Id>(other);
      break;
    }
  }
}

}  // namespace pipetrace
