#include "analysis/slowdown/run_work.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analysis/slowdown/collective_rules.h"
#include "trace/per_step.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = RunWork::Id;

/// As in the study: a time that is much below zero comes from clocks, not from work.
constexpr Nanoseconds kNoWork = -10'000'000;

double withoutWaiting(Nanoseconds time) { return time <= kNoWork ? 0 : static_cast<double>(time); }

/// The first and the last of a step's compute jobs, counted on a rank.
struct Stretch {
  std::int64_t first = -1;
  std::int64_t last = -1;
};

/// Pairs of steps that run into each other on a rank.
std::vector<std::pair<std::int32_t, std::int32_t>> mixedSteps(const JobGraph& graph,
                                                              const JobGraph::Rank& rank) {
  PerStep<Stretch> stretches;
  std::int64_t count = 0;
  for (Id id = rank.first; id < rank.end; ++id) {
    const Event& job = *graph.node(id).event;
    if (!isCompute(job.kind) || job.step < 0) continue;
    Stretch& stretch = stretches[job.step];
    if (stretch.first < 0) stretch.first = count;
    stretch.last = count++;
  }
  auto steps = stretches.take();
  std::sort(steps.begin(), steps.end(),
            [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  std::vector<std::pair<std::int32_t, std::int32_t>> mixed;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].second.first > steps[i - 1].second.last) continue;
    mixed.emplace_back(steps[i - 1].first, steps[i].first);
    steps[i].second.last = std::max(steps[i].second.last, steps[i - 1].second.last);
  }
  return mixed;
}

}  // namespace

RunWork::RunWork(const Timeline& timeline, const JobGraph& graph,
                 std::span<const std::int32_t> steps, int threads)
    : timeline_(timeline),
      graph_(graph),
      nodes_(static_cast<Id>(graph.nodes().size())),
      numberKey_(timeline.strings.find("seq_id")),
      kinds_(timeline) {
  const auto firstJob =
      std::find_if(graph.nodes().begin(), graph.nodes().end(),
                   [](const JobGraph::Node& node) { return isCompute(node.event->kind); });
  isNumbered_ = firstJob != graph.nodes().end() && hasNumber(*firstJob->event);
  findSteps(steps, threads);
  findCollectives(threads);
  groupCollectives();
  fillChains(threads);
  numberWorks(threads);
  findPosting();
  findStages(threads);
  findKinds(threads);
  findIdeals(threads);
  findSpans(threads);
}

bool RunWork::hasNumber(const Event& event) const {
  if (!numberKey_) return false;
  const auto arguments = timeline_.argumentsOf(event);
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const Argument& argument) { return argument.key == *numberKey_; });
}

std::uint32_t RunWork::stepOf(std::int32_t number) const {
  const auto found = std::partition_point(steps_.begin(), steps_.end(),
                                          [&](const auto& step) { return step.first < number; });
  return found != steps_.end() && found->first == number ? found->second : kNoStep;
}

void RunWork::findSteps(std::span<const std::int32_t> steps, int threads) {
  const auto& ranks = graph_.ranks();
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> mixed(ranks.size());
  inParallel(threads, ranks.size(),
             [&](std::size_t r) { mixed[r] = mixedSteps(graph_, ranks[r]); });
  // Sets of steps that grow together, each known by its lowest.
  std::vector<std::uint32_t> parent(steps.size());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto lowestOf = [&](std::uint32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (std::uint32_t i = 0; i < steps.size(); ++i) steps_.emplace_back(steps[i], i);
  for (const auto& pairs : mixed) {
    for (const auto& [one, other] : pairs) {
      const std::uint32_t a = stepOf(one);
      const std::uint32_t b = stepOf(other);
      if (a == kNoStep || b == kNoStep) continue;
      const auto [low, high] = std::minmax(lowestOf(a), lowestOf(b));
      parent[high] = low;
    }
  }
  std::vector<std::uint32_t> index(steps.size());
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const std::uint32_t lowest = lowestOf(i);
    index[i] = lowest == i ? static_cast<std::uint32_t>(stepCount_++) : index[lowest];
    steps_[i].second = index[i];
  }
}

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

void RunWork::fillChains(int threads) {
  chains_.resize(stepCount_ * graph_.ranks().size());
  inParallel(threads, graph_.ranks().size(), [&](std::size_t r) {
    const JobGraph::Rank& rank = graph_.ranks()[r];
    std::int32_t latest = -1;
    std::uint32_t step = kNoStep;
    for (Id id = rank.first; id < rank.end; ++id) {
      const std::int32_t number = graph_.node(id).event->step;
      if (number != latest) step = stepOf(latest = number);
      if (number >= 0 && step != kNoStep) chains_[cellOf(step, r)].push_back(id);
    }
    for (std::size_t s = 0; s < stepCount_; ++s) {
      const std::size_t cell = cellOf(s, r);
      if (isNumbered_) {
        chainCollectives(cell);
      } else {
        placeCollectives(cell);
      }
    }
  });
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

/// Numbers the works of each step.
void RunWork::numberWorks(int threads) {
  index_.resize(nodes_ + collectives_.size());
  inParallel(threads, stepCount_, [&](std::size_t step) {
    std::uint32_t next = 0;
    for (std::size_t r = 0; r < graph_.ranks().size(); ++r) {
      for (const Id work : chain(step, r)) index_[work] = next++;
      for (const Collective& each : collectives(step, r)) {
        if (!each.isChained) index_[idOf(each)] = next++;
      }
    }
  });
}

void RunWork::findStages(int threads) {
  const auto& ranks = graph_.ranks();
  std::vector<std::vector<std::int32_t>> found(ranks.size());
  inParallel(threads, ranks.size(), [&](std::size_t r) {
    for (Id id = ranks[r].first; id < ranks[r].end; ++id) {
      const Event& job = *graph_.node(id).event;
      if (!isCompute(job.kind) || job.stage < 0) continue;
      if (std::find(found[r].begin(), found[r].end(), job.stage) == found[r].end()) {
        found[r].push_back(job.stage);
      }
    }
  });
  for (const auto& each : found) {
    onlyStage_.push_back(each.size() == 1 ? each.front() : kNotGiven);
    stages_.insert(stages_.end(), each.begin(), each.end());
  }
  std::sort(stages_.begin(), stages_.end());
  stages_.erase(std::unique(stages_.begin(), stages_.end()), stages_.end());
}

std::uint32_t RunWork::stageOf(Id work) const {
  std::int32_t stage = event(work).stage;
  if (stage < 0) stage = onlyStage_[rankOf(work)];
  const auto found = std::lower_bound(stages_.begin(), stages_.end(), stage);
  const bool isThere = found != stages_.end() && *found == stage;
  return static_cast<std::uint32_t>((isThere ? found : stages_.end()) - stages_.begin());
}

void RunWork::findPosting() {
  for (const Track& track : timeline_.tracks) {
    if (!track.events.empty()) firstOfTracks_.push_back(track.events.data());
  }
  std::sort(firstOfTracks_.begin(), firstOfTracks_.end());
  if (isNumbered_) return;
  // Where a receive always begins with its send, as in plans, it says nothing about its rank.
  for (Id id = static_cast<Id>(graph_.jobCount()); id < nodes_ && !arePosted_; ++id) {
    const JobGraph::Message& message = graph_.message(id);
    arePosted_ = message.send != nullptr && message.receive != nullptr &&
                 message.receive->begin > message.send->begin;
  }
}

Id RunWork::postedAfter(Id message) const {
  const Event* const receive = graph_.message(message).receive;
  if (!arePosted_ || receive == nullptr) return kNone;
  const JobGraph::Rank& rank = graph_.ranks()[graph_.node(message).rank];
  const auto nodes = graph_.nodes().begin();
  auto job = std::partition_point(
      nodes + rank.first, nodes + rank.end,
      [&](const JobGraph::Node& node) { return node.begin <= receive->begin; });
  while (job != nodes + rank.first) {
    if ((--job)->end > receive->begin) continue;
    // It may as well have waited for the one before it on its lane.
    const bool isFirst = std::binary_search(firstOfTracks_.begin(), firstOfTracks_.end(), receive);
    const Nanoseconds laneFree = isFirst ? kNsMin : (receive - 1)->end;
    if (laneFree <= receive->begin && laneFree > job->end) return kNone;
    return static_cast<Id>(job - nodes);
  }
  return kNone;
}

template <typename Visit>
void RunWork::visitWorks(std::size_t rank, const Visit& visit) const {
  for (std::size_t step = 0; step < stepCount_; ++step) {
    for (const Id work : chain(step, rank)) {
      if (!isCollective(work)) visit(work);
    }
    for (const Collective& each : collectives(step, rank)) visit(idOf(each));
  }
}

void RunWork::findKinds(int threads) {
  const std::size_t ranks = graph_.ranks().size();
  std::vector<WorkKinds> found(ranks, WorkKinds(timeline_));
  inParallel(threads, ranks,
             [&](std::size_t r) { visitWorks(r, [&](Id work) { found[r].add(event(work)); }); });
  for (const WorkKinds& each : found) kinds_.add(each);
  for (auto id = static_cast<Id>(graph_.jobCount()); id < nodes_; ++id) {
    if (stepOf(event(id).step) != kNoStep) kinds_.add(event(id));
  }
  kinds_.finish();
  kindOf_.resize(nodes_ + collectives_.size());
  inParallel(threads, ranks, [&](std::size_t r) {
    visitWorks(r, [&](Id work) { kindOf_[work] = kinds_.of(event(work)); });
  });
  for (auto id = static_cast<Id>(graph_.jobCount()); id < nodes_; ++id) {
    if (stepOf(event(id).step) != kNoStep) kindOf_[id] = kinds_.of(event(id));
  }
}

double RunWork::measured(Id work) const {
  if (isCollective(work)) {
    const Collective& each = collective(work);
    return withoutWaiting(each.event->end - latestBegin_[each.group]);
  }
  const JobGraph::Node& node = graph_.node(work);
  return withoutWaiting(node.end - node.begin);
}

void RunWork::findIdeals(int threads) {
  std::vector<std::vector<double>> durations(kinds_.count());
  const auto add = [&](Id work) { durations[kindOf_[work]].push_back(measured(work)); };
  for (std::size_t r = 0; r < graph_.ranks().size(); ++r) visitWorks(r, add);
  for (auto id = static_cast<Id>(graph_.jobCount()); id < nodes_; ++id) {
    if (stepOf(event(id).step) != kNoStep) add(id);
  }
  ideals_.assign(kinds_.count(), 0);
  inParallel(threads, kinds_.count(), [&](std::size_t k) {
    std::vector<double>& values = durations[k];
    if (values.empty()) return;
    if (!kinds_.isCommunication(static_cast<WorkKinds::Id>(k))) {
      ideals_[k] =
          std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
      return;
    }
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    ideals_[k] = *middle;
    if (values.size() % 2 == 0) {
      ideals_[k] = (ideals_[k] + *std::max_element(values.begin(), middle)) / 2;
    }
  });
}

void RunWork::findSpans(int threads) {
  spans_.resize(stepCount_, {kNsMax, kNsMin});
  inParallel(threads, stepCount_, [&](std::size_t step) {
    Span& span = spans_[step];
    const auto widen = [&](Nanoseconds begin, Nanoseconds end) {
      span.begin = std::min(span.begin, begin);
      span.end = std::max(span.end, end);
    };
    for (std::size_t r = 0; r < graph_.ranks().size(); ++r) {
      for (const Id work : chain(step, r)) widen(event(work).begin, event(work).end);
      for (const Collective& each : collectives(step, r)) {
        if (each.next != kNone) widen(each.event->begin, each.event->end);
      }
    }
  });
}

Nanoseconds RunWork::release(std::size_t step, std::size_t rank) const {
  const auto works = chain(step, rank);
  if (works.empty()) return 0;
  const Id first = *std::min_element(works.begin(), works.end());
  if (first == graph_.ranks()[rank].first) return 0;
  return graph_.node(first - 1).end - spans_[step].begin;
}

}  // namespace pipetrace
