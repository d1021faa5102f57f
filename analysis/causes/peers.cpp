#include "analysis/causes/peers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/causes/unsteady_jobs.h"
#include "analysis/median.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// Replicas share weights and not the work of a micro-batch, unless they send tokens to experts of
/// each other.
bool sharesWork(const InsideJobs::Set& set) {
  return set.kind == JobKind::kAllToAll || set.axis == GroupAxis::kTensor ||
         set.axis == GroupAxis::kContext || set.axis == GroupAxis::kExpert;
}

/// Stage, step, micro-batch.
using BatchKey = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

/// Own time of a rank in the forward and the backward of a micro-batch.
struct Batch {
  BatchKey key;
  double forward = 0;
  double backward = 0;
};

std::vector<Batch> batchesOf(const JobGraph& graph, const JobGraph::Rank& rank,
                             const CountedSteps& counted) {
  std::map<BatchKey, Batch> found;
  for (Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    const bool isForward = job.kind == JobKind::kForward;
    const bool isBackward = job.kind == JobKind::kBackward || job.kind == JobKind::kBackwardInput;
    if ((!isForward && !isBackward) || !counted.contains(job.step)) continue;
    const BatchKey key{job.stage, job.step, job.microBatch};
    Batch& batch = found.try_emplace(key, Batch{key}).first->second;
    const InsideJobs::Parts parts = graph.inside().partsOf(id);
    (isForward ? batch.forward : batch.backward) += static_cast<double>(parts.own);
  }
  std::vector<Batch> list;
  for (const auto& [key, batch] : found) {
    if (batch.forward > 0 && batch.backward > 0) list.push_back(batch);
  }
  return list;
}

/// The deviations of a rank from the mean of its group, of each micro-batch that all have.
struct Deviations {
  std::vector<double> forward;
  std::vector<double> backward;
};

/// Pearson's correlation over all, each rank's own mean taken off, and the deviation of forwards.
Peers::Load loadOfRanks(const std::vector<Deviations>& ranks) {
  double ff = 0;
  double bb = 0;
  double fb = 0;
  std::size_t count = 0;
  for (const Deviations& rank : ranks) {
    const auto meanOf = [](const std::vector<double>& values) {
      double sum = 0;
      for (const double value : values) sum += value;
      return sum / static_cast<double>(values.size());
    };
    const double f = meanOf(rank.forward);
    const double b = meanOf(rank.backward);
    for (std::size_t i = 0; i < rank.forward.size(); ++i) {
      ff += (rank.forward[i] - f) * (rank.forward[i] - f);
      bb += (rank.backward[i] - b) * (rank.backward[i] - b);
      fb += (rank.forward[i] - f) * (rank.backward[i] - b);
      ++count;
    }
  }
  Peers::Load load;
  if (count > 0) load.variation = std::sqrt(ff / static_cast<double>(count));
  if (ff > 0 && bb > 0) load.correlation = fb / std::sqrt(ff * bb);
  return load;
}

constexpr double kSlowSet = 1.2;
constexpr double kPossible = 0.5;
constexpr double kStandardErrors = 3;  // 1 / sqrt(n) of n independent pairs

}  // namespace

Peers::Peers(const JobGraph& graph, const CountedSteps& counted, int threads) {
  if (graph.inside().empty()) return;
  findLoads(graph, counted, threads);
  findSlowSets(graph);
  findExposed(graph, counted);
  findContention(graph, counted);
}

void Peers::findLoads(const JobGraph& graph, const CountedSteps& counted, int threads) {
  std::set<std::vector<int>> groups;
  for (const InsideJobs::Set& set : graph.inside().sets()) {
    if (sharesWork(set)) groups.insert(set.ranks);
  }
  if (groups.empty()) return;
  std::vector<std::vector<Batch>> batches(graph.ranks().size());
  inParallel(threads, batches.size(),
             [&](std::size_t r) { batches[r] = batchesOf(graph, graph.ranks()[r], counted); });
  std::map<int, std::size_t> indexOf;
  for (std::size_t r = 0; r < graph.ranks().size(); ++r) indexOf[graph.ranks()[r].number] = r;
  for (const std::vector<int>& ranks : groups) {
    std::vector<const std::vector<Batch>*> lists;
    for (const int rank : ranks) {
      if (const auto found = indexOf.find(rank); found != indexOf.end()) {
        lists.push_back(&batches[found->second]);
      }
    }
    if (lists.size() < 2) continue;
    std::vector<Deviations> deviations(lists.size());
    std::vector<std::size_t> at(lists.size());
    std::size_t pairs = 0;
    for (const Batch& first : *lists.front()) {
      double forward = 0;
      double backward = 0;
      bool haveAll = true;
      for (std::size_t i = 0; i < lists.size(); ++i) {
        while (at[i] < lists[i]->size() && (*lists[i])[at[i]].key < first.key) ++at[i];
        haveAll = haveAll && at[i] < lists[i]->size() && (*lists[i])[at[i]].key == first.key;
        if (!haveAll) break;
        forward += (*lists[i])[at[i]].forward;
        backward += (*lists[i])[at[i]].backward;
      }
      if (!haveAll) continue;
      const auto count = static_cast<double>(lists.size());
      for (std::size_t i = 0; i < lists.size(); ++i) {
        deviations[i].forward.push_back((*lists[i])[at[i]].forward * count / forward - 1);
        deviations[i].backward.push_back((*lists[i])[at[i]].backward * count / backward - 1);
        ++pairs;
      }
    }
    if (pairs < UnevenMicroBatches::kLeastPairs) continue;
    Load load = loadOfRanks(deviations);
    if (load.variation < UnevenMicroBatches::kVariation / 2) continue;
    if (load.correlation < UnevenMicroBatches::kCorrelated) {
      // Deviations of a group add up to 0, so one of its ranks says nothing new.
      const auto independent = static_cast<double>(pairs - pairs / lists.size());
      const double least = std::max(kPossible, kStandardErrors / std::sqrt(independent));
      const double before = possibleLoad_ ? possibleLoad_->correlation : 0;
      if (load.correlation >= std::max(least, before)) {
        possibleLoad_ = PossibleLoad{.ranks = ranks, .correlation = load.correlation};
      }
      continue;
    }
    load.ranks = ranks;
    load.busiest = graph.inside().busiest(ranks);
    loads_.push_back(std::move(load));
  }
  std::stable_sort(loads_.begin(), loads_.end(),
                   [](const Load& a, const Load& b) { return a.busiest > b.busiest; });
  for (Load& load : loads_) load.moreGroups = loads_.size() - 1;
}

void Peers::findSlowSets(const JobGraph& graph) {
  using Key = std::tuple<JobKind, GroupAxis, std::int64_t, std::size_t>;
  std::map<Key, std::vector<const InsideJobs::Set*>> alike;
  const std::vector<InsideJobs::Set>& all = graph.inside().sets();
  for (const InsideJobs::Set& set : all) {
    if (set.whole != static_cast<std::size_t>(&set - all.data())) continue;
    if (set.moving > 0) alike[{set.kind, set.axis, set.bytes, set.ranks.size()}].push_back(&set);
  }
  for (const auto& [key, sets] : alike) {
    if (sets.size() < 2) continue;
    for (const InsideJobs::Set* const set : sets) {
      std::vector<Nanoseconds> others;
      for (const InsideJobs::Set* const other : sets) {
        if (other != set) others.push_back(other->moving);
      }
      const SlowSet slow{set->ranks, set->kind, set->axis, set->moving, lowerMedianOf(others)};
      if (slow.factor() >= kSlowSet) slowSets_.push_back(slow);
    }
  }
  std::stable_sort(slowSets_.begin(), slowSets_.end(),
                   [](const SlowSet& a, const SlowSet& b) { return a.factor() > b.factor(); });
}

namespace {

/// The time of a job in which collectives of its rank's replicas run. `collectives`: of the rank,
/// by begin; `next`: the first that may reach into the job.
Nanoseconds besideCollectives(const InsideJobs& inside, const JobGraph::Node& job,
                              const std::vector<Id>& collectives, std::size_t& next) {
  const auto all = inside.meetings();
  while (next < collectives.size() && all[collectives[next]].end <= job.begin) ++next;
  Nanoseconds time = 0;
  Nanoseconds upTo = job.begin;
  for (std::size_t i = next; i < collectives.size(); ++i) {
    const InsideJobs::Meeting& each = all[collectives[i]];
    if (each.begin >= job.end) break;
    const Nanoseconds from = std::max(each.begin, upTo);
    upTo = std::max(upTo, std::min(each.end, job.end));
    time += std::max<Nanoseconds>(0, upTo - from);
  }
  return time;
}

/// Mean and squared standard error.
std::pair<double, double> meanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, squares / (count - 1) / count};
}

}  // namespace

void Peers::findContention(const JobGraph& graph, const CountedSteps& counted) {
  constexpr std::size_t kFewest = 4;  // jobs of a stage and kind of a rank, of either sort
  constexpr double kLeast = 1.03;     // times as long
  constexpr double kErrors = 4;       // standard errors
  const InsideJobs& inside = graph.inside();
  std::vector<double> deviations;  // beside collectives, from the median of the others
  std::vector<double> others;      // the same of the others
  std::set<std::pair<std::uint32_t, std::int32_t>> steps;  // of ranks
  Contention found;
  for (std::uint32_t r = 0; r < graph.ranks().size(); ++r) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    std::vector<Id> collectives;
    for (Id m = inside.meetingsOf(rank.first).first;
         rank.first < rank.end && m < inside.meetingsOf(rank.end - 1).second; ++m) {
      if (inside.setOf(inside.meetings()[m]).axis == GroupAxis::kData) collectives.push_back(m);
    }
    if (collectives.empty()) continue;
    std::sort(collectives.begin(), collectives.end(),
              [&](Id a, Id b) { return inside.meetings()[a].begin < inside.meetings()[b].begin; });
    using Kind = std::tuple<std::int32_t, JobKind, std::int16_t>;
    std::map<Kind, std::pair<std::vector<double>, std::vector<double>>> kinds;  // beside, apart
    std::map<Kind, std::vector<Id>> idsBeside;
    std::size_t next = 0;
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isCompute(job.kind) || !counted.contains(job.step)) continue;
      steps.insert({r, job.step});
      const InsideJobs::Parts parts = inside.partsOf(id);
      if (parts.own <= 0) continue;
      const Nanoseconds time = besideCollectives(inside, job, collectives, next);
      // While a job stands still they are not beside its work.
      const Nanoseconds beside = time - parts.waiting - parts.moving;
      auto& [withOnes, without] = kinds[{job.stage, job.kind, job.event->part}];
      if (2 * beside >= parts.own) {
        withOnes.push_back(static_cast<double>(parts.own));
        idsBeside[{job.stage, job.kind, job.event->part}].push_back(id);
      }
      if (20 * time <= parts.own) without.push_back(static_cast<double>(parts.own));
    }
    for (auto& [kind, lists] : kinds) {
      auto& [withOnes, without] = lists;
      if (withOnes.size() < kFewest || without.size() < kFewest) continue;
      const std::vector<Id>& ids = idsBeside[kind];
      found.beside.insert(found.beside.end(), ids.begin(), ids.end());
      std::vector<double> sorted = without;
      const double usual = medianOf(sorted);
      for (const double own : without) others.push_back(own / usual - 1);
      for (const double own : withOnes) {
        deviations.push_back(own / usual - 1);
        found.time += static_cast<Nanoseconds>(own - usual);
      }
    }
  }
  if (deviations.empty()) return;
  const auto [longer, error] = meanOf(deviations);
  const auto [chance, chanceError] = meanOf(others);
  found.factor = 1 + longer;
  found.jobs = static_cast<std::int64_t>(deviations.size());
  const bool isByChance = longer - chance < kErrors * std::sqrt(error + chanceError);
  if (found.factor < kLeast || isByChance || found.time <= 0) return;
  found.perStep = found.time / static_cast<Nanoseconds>(std::max<std::size_t>(1, steps.size()));
  std::sort(found.beside.begin(), found.beside.end());
  contention_ = std::move(found);
}

void Peers::findExposed(const JobGraph& graph, const CountedSteps& counted) {
  const InsideJobs& inside = graph.inside();
  Exposed exposed;
  std::set<std::pair<std::uint32_t, std::int32_t>> steps;  // of ranks
  std::vector<Nanoseconds> before;
  for (const InsideJobs::Meeting& each : inside.meetings()) {
    const JobGraph::Node& job = graph.node(each.job);
    if (!counted.contains(job.step)) continue;
    const InsideJobs::Set& set = inside.setOf(each);
    const bool isGather = set.kind == JobKind::kAllGather;
    const bool isScatter = set.kind == JobKind::kReduceScatter;
    if (set.axis != GroupAxis::kData || (!isGather && !isScatter)) continue;
    steps.insert({job.rank, job.step});
    exposed.time +=
        static_cast<Nanoseconds>(static_cast<double>(each.movingInside) / slowFactorOf(set));
    exposed.gathers = exposed.gathers || (isGather && each.movingInside > 0);
    exposed.scatters = exposed.scatters || (isScatter && each.movingInside > 0);
    if (!isGather || each.movingInside == 0) continue;
    Nanoseconds compute = each.segment;
    if (compute == 0 && job.before != JobGraph::kNone) {
      const Id previous = job.before;
      compute = isCompute(graph.node(previous).kind) ? inside.partsOf(previous).own : 0;
    }
    before.push_back(compute);
  }
  if (exposed.time <= 0) return;
  exposed.perStep = exposed.time / static_cast<Nanoseconds>(steps.size());
  exposed.before = medianOf(before);
  exposed_ = exposed;
}

/// How many times as long the collectives of a set move as those of other groups; 1: as long.
double Peers::slowFactorOf(const InsideJobs::Set& set) const {
  for (const SlowSet& slow : slowSets_) {
    if (slow.ranks == set.ranks && slow.kind == set.kind && slow.axis == set.axis) {
      return slow.factor();
    }
  }
  return 1;
}

const Peers::Load* Peers::loadOf(int rank) const {
  for (const Load& load : loads_) {
    if (std::binary_search(load.ranks.begin(), load.ranks.end(), rank)) return &load;
  }
  return nullptr;
}

const Peers::SlowSet* Peers::slowSetOf(int rank) const {
  for (const SlowSet& set : slowSets_) {
    if (std::binary_search(set.ranks.begin(), set.ranks.end(), rank)) return &set;
  }
  return nullptr;
}

}  // namespace pipetrace
