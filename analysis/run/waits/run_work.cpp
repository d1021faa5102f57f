#include "analysis/run/waits/run_work.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/run/graph/collective_rules.h"
#include "trace/per_step.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostNames = 16;

/// Names with numbers say which job it is, not of what kind.
bool isNameOfKind(std::string_view name) {
  return !name.empty() && name.find_first_of("0123456789") == std::string_view::npos;
}

bool isToldApartByName(JobKind kind) {
  return isCollective(kind) || kind == JobKind::kData || kind == JobKind::kDefault;
}

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
    const JobGraph::Node& job = graph.node(id);
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

void WorkKinds::add(JobKind kind, const Event& event) {
  Names& names = names_[index(kind)];
  // Transfers are named by their direction.
  if (isTransfer(kind) && !names.kinds.empty()) return;
  if (names.latest == event.name) return;
  names.latest = event.name;
  if (names.kinds.size() <= kMostNames) names.kinds.emplace(event.name, Id{0});
}

void WorkKinds::add(const WorkKinds& other) {
  for (std::size_t k = 0; k < names_.size(); ++k) {
    for (const auto& [name, id] : other.names_[k].kinds) {
      if (names_[k].kinds.size() <= kMostNames) names_[k].kinds.emplace(name, Id{0});
    }
  }
}

std::uint16_t WorkKinds::setNamed(const std::string& name) {
  const auto found = std::find(setNames_.begin(), setNames_.end(), name);
  const auto index = static_cast<std::uint16_t>(found - setNames_.begin());
  if (found == setNames_.end()) setNames_.push_back(name);
  return index;
}

void WorkKinds::finish() {
  for (std::size_t k = 0; k < names_.size(); ++k) {
    Names& names = names_[k];
    if (names.kinds.empty()) continue;
    const auto kind = static_cast<JobKind>(k);
    const bool isCommunication = isTransfer(kind) || isCollective(kind);
    const auto addKind = [&](const std::string& name) {
      kinds_.push_back({isCommunication, setNamed(name)});
      return static_cast<Id>(kinds_.size() - 1);
    };
    const auto nameOf = [&](StringId name) {
      return std::string(name == 0 ? logName(kind) : timeline_.strings[name]);
    };
    names.isOne = !isToldApartByName(kind) || names.kinds.size() > kMostNames;
    if (isTransfer(kind)) {
      names.kind = addKind(isForwardTransfer(kind) ? "forward-pp-comm" : "backward-pp-comm");
    } else if (names.isOne) {
      const StringId name = names.kinds.begin()->first;
      const bool isItsName = names.kinds.size() == 1 && isNameOfKind(timeline_.strings[name]);
      names.kind = addKind(nameOf(isItsName ? name : StringId{0}));
    } else {
      for (auto& [name, id] : names.kinds) id = addKind(nameOf(name));
    }
  }
}

RunWork::RunWork(const Timeline& timeline, const JobGraph& graph,
                 std::span<const std::int32_t> steps, int threads,
                 std::vector<std::int32_t> idealSteps)
    : timeline_(timeline),
      graph_(graph),
      nodes_(static_cast<Id>(graph.messageEnd())),
      kinds_(timeline),
      idealSteps_(std::move(idealSteps)) {
  findSteps(steps, threads);
  findCollectives();
  fillChains(threads);
  numberOperations(threads);
  findPosting(threads);
  findStages(threads);
  findKinds(threads);
  findIdeals(threads);
  findSpans(threads);
}

std::uint32_t RunWork::stepOf(std::int32_t number) const {
  // Most runs have all steps.
  const std::int64_t guess = steps_.empty() ? -1 : std::int64_t{number} - steps_.front().first;
  if (guess >= 0 && guess < static_cast<std::int64_t>(steps_.size())) {
    const auto& step = steps_[static_cast<std::size_t>(guess)];
    if (step.first == number) return step.second;
  }
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
      const std::uint32_t low = lowestOf(a);
      const std::uint32_t high = lowestOf(b);
      parent[std::max(low, high)] = std::min(low, high);
    }
  }
  std::vector<std::uint32_t> index(steps.size());
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const std::uint32_t lowest = lowestOf(i);
    index[i] = lowest == i ? static_cast<std::uint32_t>(stepCount_++) : index[lowest];
    steps_[i].second = index[i];
  }
}

void RunWork::fillChains(int threads) {
  chains_.resize(stepCount_ * graph_.ranks().size());
  inParallel(threads, graph_.ranks().size(), [&](std::size_t r) {
    const JobGraph::Rank& rank = graph_.ranks()[r];
    for (Id id = rank.first; id < rank.end;) {
      const std::int32_t number = graph_.node(id).step;
      const Id begin = id;
      while (id < rank.end && graph_.node(id).step == number) ++id;
      const std::uint32_t step = number < 0 ? kNoStep : stepOf(number);
      if (step == kNoStep) continue;
      std::vector<Id>& chain = chains_[cellOf(step, r)];
      const std::size_t before = chain.size();
      chain.resize(before + (id - begin));
      std::iota(chain.begin() + static_cast<std::ptrdiff_t>(before), chain.end(), begin);
    }
    for (std::size_t s = 0; s < stepCount_; ++s) {
      const std::size_t cell = cellOf(s, r);
      if (isNumbered()) {
        chainCollectives(cell);
      } else {
        placeCollectives(cell);
      }
    }
  });
}

/// Numbers the operations of each step.
void RunWork::numberOperations(int threads) {
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
      const JobGraph::Node& job = graph_.node(id);
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
  stagesArePositions_ = true;
  std::size_t positions = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto position = static_cast<std::size_t>(ranks[r].position);
    positions = std::max(positions, position + 1);
    if (position >= stages_.size() || onlyStage_[r] != stages_[position]) {
      stagesArePositions_ = false;
    }
  }
  if (positions != stages_.size()) stagesArePositions_ = false;
  for (auto id = static_cast<Id>(graph_.jobCount()); id < nodes_ && stagesArePositions_; ++id) {
    stagesArePositions_ = graph_.node(id).stage == onlyStage_[graph_.node(id).rank];
  }
}

std::uint32_t RunWork::stageOf(Id work) const {
  const JobGraph::Node& node = graph_.node(nodeOf(work));
  const std::int32_t stage = node.stage < 0 ? onlyStage_[node.rank] : node.stage;
  // Most runs have the stages 0, 1, 2, …
  const auto guess = static_cast<std::size_t>(stage);
  if (stage >= 0 && guess < stages_.size() && stages_[guess] == stage) {
    return static_cast<std::uint32_t>(guess);
  }
  const auto found = std::lower_bound(stages_.begin(), stages_.end(), stage);
  const bool isThere = found != stages_.end() && *found == stage;
  return static_cast<std::uint32_t>((isThere ? found : stages_.end()) - stages_.begin());
}

void RunWork::findPosting(int threads) {
  for (const Track& track : timeline_.tracks) {
    if (!track.events.empty()) firstOfTracks_.push_back(track.events.data());
  }
  std::sort(firstOfTracks_.begin(), firstOfTracks_.end());
  if (isNumbered()) return;
  // Where a receive always begins with its send, as in plans, it says nothing about its rank.
  std::atomic<bool> arePosted = false;
  const auto first = static_cast<Id>(graph_.jobCount());
  constexpr Id kAtOnce = 4096;
  inParallel(threads, (nodes_ - first + kAtOnce - 1) / kAtOnce, [&](std::size_t part) {
    const Id begin = first + static_cast<Id>(part) * kAtOnce;
    for (Id id = begin; id < std::min(nodes_, begin + kAtOnce) && !arePosted; ++id) {
      const JobGraph::Message& message = graph_.message(id);
      const bool isPosted = message.send != nullptr && message.receive != nullptr &&
                            message.receive->begin > message.send->begin;
      if (isPosted) arePosted = true;
    }
  });
  arePosted_ = arePosted;
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
void RunWork::visitOperations(std::size_t rank, const Visit& visit) const {
  for (std::size_t step = 0; step < stepCount_; ++step) {
    for (const Id work : chain(step, rank)) {
      if (!isCollective(work)) visit(work);
    }
    for (const Collective& each : collectives(step, rank)) visit(idOf(each));
  }
}

void RunWork::findKinds(int threads) {
  const std::size_t ranks = graph_.ranks().size();
  const auto add = [&](Id work, WorkKinds& kinds) {
    const JobGraph::Node& node = graph_.node(nodeOf(work));
    kinds.add(node.kind, *node.event);
  };
  std::vector<WorkKinds> found(ranks, WorkKinds(timeline_));
  inParallel(threads, ranks,
             [&](std::size_t r) { visitOperations(r, [&](Id work) { add(work, found[r]); }); });
  for (const WorkKinds& each : found) kinds_.add(each);
  for (auto id = static_cast<Id>(graph_.jobCount()); id < nodes_; ++id) {
    if (stepOf(graph_.node(id).step) != kNoStep) add(id, kinds_);
  }
  kinds_.finish();
  kindOf_.resize(nodes_ + collectives_.size());
  const auto setKind = [&](Id work) {
    const JobGraph::Node& node = graph_.node(nodeOf(work));
    kindOf_[work] = kinds_.of(node.kind, *node.event);
  };
  inParallel(threads, ranks, [&](std::size_t r) { visitOperations(r, setKind); });
  for (auto id = static_cast<Id>(graph_.jobCount()); id < nodes_; ++id) {
    if (stepOf(graph_.node(id).step) != kNoStep) setKind(id);
  }
}

void RunWork::fetch(std::size_t step, std::size_t rank) const {
  constexpr std::size_t kRanksOfIds = 8;
  constexpr std::size_t kRanksOfNodes = 4;
  if (rank + kRanksOfIds < rankCount()) __builtin_prefetch(chain(step, rank + kRanksOfIds).data());
  if (rank + kRanksOfNodes >= rankCount()) return;
  for (const Id work : chain(step, rank + kRanksOfNodes)) {
    if (isCollective(work)) continue;
    __builtin_prefetch(&graph_.node(work));
    __builtin_prefetch(&kindOf_[work]);
    __builtin_prefetch(&index_[work]);
  }
}

double RunWork::measured(Id work) const {
  const JobGraph::Node& node = graph_.node(nodeOf(work));
  const Nanoseconds inside = work < graph_.jobCount() ? graph_.inside().lateIn(work) : 0;
  return withoutWaiting(node.end - node.begin - inside);
}

double RunWork::turnsAt(Id work) const {
  const JobGraph::Node& node = graph_.node(nodeOf(work));
  return isCompute(node.kind) ? graph_.turnsOf(node.stage) : 1;
}

/// Durations of the operations of some ranks or of some messages, by kind.
struct RunWork::Durations {
  std::vector<std::vector<double>> all;  // of kinds whose ideal is a median
  std::vector<double> sums;              // of the others
  std::vector<double> counts;            // of the others
};

void RunWork::addDuration(Id work, Durations& durations) const {
  const bool isIn =
      idealSteps_.empty() ||
      std::binary_search(idealSteps_.begin(), idealSteps_.end(), graph_.node(nodeOf(work)).step);
  if (!isIn) return;
  const WorkKinds::Id kind = kindOf_[work];
  if (kinds_.isCommunication(kind)) {
    durations.all[kind].push_back(measured(work));
  } else {
    durations.sums[kind] += measured(work) / turnsAt(work);
    ++durations.counts[kind];
  }
}

void RunWork::findIdeals(int threads) {
  // The same parts for any number of threads, so that sums are the same, too.
  constexpr std::size_t kParts = 16;
  const std::size_t ranks = graph_.ranks().size();
  const std::size_t jobs = graph_.jobCount();
  std::vector<Durations> parts(kParts);
  inParallel(threads, kParts, [&](std::size_t part) {
    Durations& durations = parts[part];
    durations.all.resize(kinds_.count());
    durations.sums.resize(kinds_.count());
    durations.counts.resize(kinds_.count());
    const auto add = [&](Id work) { addDuration(work, durations); };
    const auto from = [&](std::size_t of, std::size_t count) { return of * count / kParts; };
    for (std::size_t r = from(part, ranks); r < from(part + 1, ranks); ++r) visitOperations(r, add);
    const std::size_t messages = nodes_ - jobs;
    const auto end = static_cast<Id>(jobs + from(part + 1, messages));
    for (auto id = static_cast<Id>(jobs + from(part, messages)); id < end; ++id) {
      if (stepOf(graph_.node(id).step) != kNoStep) add(id);
    }
  });
  ideals_.assign(kinds_.count(), 0);
  inParallel(threads, kinds_.count(), [&](std::size_t k) {
    double count = 0;
    std::vector<double> values;
    for (const Durations& part : parts) {
      ideals_[k] += part.sums[k];
      count += part.counts[k];
      values.insert(values.end(), part.all[k].begin(), part.all[k].end());
    }
    if (count > 0) ideals_[k] /= count;
    if (values.empty()) return;
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
      fetch(step, r);
      for (const Id work : chain(step, r)) {
        const JobGraph::Node& node = graph_.node(nodeOf(work));
        widen(isCollective(work) ? node.event->begin : node.begin, node.end);
      }
      for (const Collective& each : collectives(step, r)) {
        if (each.next != kNone)
          widen(graph_.node(each.node).event->begin, graph_.node(each.node).end);
      }
    }
  });
}

Nanoseconds RunWork::release(std::size_t step, std::size_t rank) const {
  const auto operations = chain(step, rank);
  if (operations.empty()) return 0;
  const Id first = *std::min_element(operations.begin(), operations.end());
  if (first == graph_.ranks()[rank].first) return 0;
  return graph_.node(first - 1).end - spans_[step].begin;
}

// The collectives of the steps to use: what they wait for, and what waits for them.

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

/// A collective begins after the last job of its rank that had ended, and after a collective before
/// it. The first job that begins after its end waits for it (JobGraph).
void RunWork::placeCollectives(std::size_t cell) {
  const std::vector<Id>& chain = chains_[cell];
  const auto jobAt = [&](Nanoseconds time) {  // the first that begins then or later
    return std::partition_point(chain.begin(), chain.end(),
                                [&](Id job) { return graph_.node(job).event->begin < time; });
  };
  for (std::size_t c = firstCollective_[cell]; c < firstCollective_[cell + 1]; ++c) {
    Collective& each = collectives_[c];
    const Event& event = *graph_.node(each.node).event;
    auto after = jobAt(event.end);
    if (graph_.collective(each.node).isLeftBehind) {
      after = std::find_if_not(after, chain.end(),
                               [&](Id job) { return isCompute(graph_.node(job).kind); });
    }
    if (after != chain.end()) each.next = *after;
    for (auto job = jobAt(event.begin); job != chain.begin();) {
      if (graph_.node(*--job).event->end > event.begin) continue;
      each.before[0] = *job;
      break;
    }
    // Of those before it the one on its lane, or one that ended later and before it began: the norm
    // of gradients waits for their sum.
    constexpr std::size_t kMostBack = 64;
    const std::size_t first = std::max(firstCollective_[cell], c - std::min(c, kMostBack));
    Nanoseconds latest = kNsMin;
    for (std::size_t other = c; other-- > first;) {
      const Nanoseconds end = graph_.node(collectives_[other].node).event->end;
      const bool isOfLane =
          graph_.collective(collectives_[other].node).track == graph_.collective(each.node).track;
      if ((!isOfLane && end > event.begin) || end <= latest) continue;
      latest = end;
      each.before[1] = nodes_ + static_cast<Id>(other);
    }
  }
}

}  // namespace pipetrace
