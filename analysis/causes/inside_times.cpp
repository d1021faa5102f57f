#include "analysis/causes/inside_times.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace pipetrace {
namespace {

using Id = JobGraph::Id;
__extension__ using Wide = __int128;

/// Takes the share of each part of a job that is in a stretch of time. The parts that it gives add
/// up to what of the job is in it.
class PartShare {
 public:
  PartShare(Nanoseconds inside, Nanoseconds whole) : inside_(inside), whole_(whole) {}

  Nanoseconds of(Nanoseconds part) {
    if (inside_ == whole_) return part;
    taken_ += part;
    const auto next = static_cast<Nanoseconds>(Wide{taken_} * inside_ / whole_);
    return next - std::exchange(given_, next);
  }

 private:
  Nanoseconds inside_;
  Nanoseconds whole_;
  Nanoseconds taken_ = 0;
  Nanoseconds given_ = 0;
};

/// Adds up jobs of one rank.
class PartSums {
 public:
  explicit PartSums(const JobGraph& graph) : inside_(graph.inside()) {}

  void add(Id job, PartShare share) {
    ++times_.jobs;
    const InsideJobs::Parts parts = inside_.partsOf(job);
    times_.parts.own += share.of(parts.own);
    times_.parts.launchBound += share.of(parts.launchBound);
    add(job, share, parts.waiting, times_.parts.waiting, &InsideJobs::Meeting::waitingInside,
        &InsideTimes::OfGroups::waiting);
    add(job, share, parts.moving, times_.parts.moving, &InsideJobs::Meeting::movingInside,
        &InsideTimes::OfGroups::moving);
  }

  InsideTimes take() {
    std::map<std::pair<std::string, JobKind>, InsideTimes::OfGroups> groups;
    for (const auto& [number, sums] : bySet_) {
      const InsideJobs::Set& set = inside_.sets()[number];
      const std::string_view words = axisWords(set.axis);
      const std::string use = words.empty() ? "other" : std::string(words);
      InsideTimes::OfGroups& group = groups[{use, set.kind}];
      group.use = use;
      group.kind = set.kind;
      group.waiting += sums.waiting;
      group.moving += sums.moving;
    }
    for (auto& [key, group] : groups) times_.groups.push_back(std::move(group));
    return std::move(times_);
  }

  InsideTimes& times() { return times_; }

 private:
  /// Adds one part of a job, and what of it is of each group.
  void add(Id job, PartShare& share, Nanoseconds part, Nanoseconds& sum,
           Nanoseconds InsideJobs::Meeting::*of, Nanoseconds InsideTimes::OfGroups::*ofGroups) {
    Nanoseconds rest = part;
    const auto [first, end] = inside_.meetingsOf(job);
    for (Id m = first; m < end; ++m) {
      const InsideJobs::Meeting& each = inside_.meetings()[m];
      if (each.*of == 0) continue;
      const Nanoseconds time = share.of(each.*of);
      rest -= each.*of;
      sum += time;
      bySet_[each.set].*ofGroups += time;
    }
    sum += share.of(rest);
  }

  const InsideJobs& inside_;
  InsideTimes times_;
  std::map<std::uint32_t, InsideTimes::OfGroups> bySet_;
};

/// Visits the waits of a rank's jobs in the steps that count.
template <typename Visit>
void visitWaits(const JobGraph& graph, const JobGraph::Rank& rank, const CountedSteps& counted,
                const Visit& visit) {
  const InsideJobs& inside = graph.inside();
  for (Id job = rank.first; job < rank.end; ++job) {
    const JobGraph::Node& node = graph.node(job);
    if (!isCompute(node.kind) || !counted.contains(node.step)) continue;
    const auto [first, end] = inside.meetingsOf(job);
    for (Id m = first; m < end; ++m) {
      const InsideJobs::Meeting& each = inside.meetings()[m];
      if (each.waitingInside + each.movingInside != 0) visit(job, node, each);
    }
  }
}

}  // namespace

const InsideTimes::OfGroups* InsideTimes::of(const std::string& use, JobKind kind) const {
  for (const OfGroups& each : groups) {
    if (each.use == use && each.kind == kind) return &each;
  }
  return nullptr;
}

void InsideTimes::add(const InsideTimes& other) {
  jobs += other.jobs;
  parts.own += other.parts.own;
  parts.waiting += other.parts.waiting;
  parts.moving += other.parts.moving;
  parts.launchBound += other.parts.launchBound;
  for (const OfGroups& each : other.groups) {
    const auto before = [](const OfGroups& a, const OfGroups& b) {
      return std::tie(a.use, a.kind) < std::tie(b.use, b.kind);
    };
    auto at = std::lower_bound(groups.begin(), groups.end(), each, before);
    if (at == groups.end() || before(each, *at)) at = groups.insert(at, {each.use, each.kind});
    at->waiting += each.waiting;
    at->moving += each.moving;
  }
}

std::vector<InsideTimes> insideTimesOf(const JobGraph& graph, const CountedSteps& counted) {
  std::vector<InsideTimes> times;
  if (graph.inside().empty()) return times;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    std::set<std::int32_t> steps;
    PartSums sums(graph);
    for (Id job = rank.first; job < rank.end; ++job) {
      const JobGraph::Node& node = graph.node(job);
      if (!isCompute(node.kind) || !counted.contains(node.step)) continue;
      steps.insert(node.step);
      sums.add(job, PartShare(1, 1));
    }
    InsideTimes& of = sums.times();
    of.rank = rank.number;
    of.steps = static_cast<std::int64_t>(steps.size());
    for (Id job = rank.first; job < rank.end; ++job) {
      const JobGraph::Node& node = graph.node(job);
      if (!isCompute(node.kind) || !counted.contains(node.step)) continue;
      of.ownByMicroBatch[node.microBatch] += graph.inside().partsOf(job).own;
    }
    visitWaits(graph, rank, counted, [&](Id, const auto& node, const auto& each) {
      of.waitingByPlace[{node.kind, each.place}] += each.waitingInside;
      of.waitingByMicroBatch[node.microBatch] += each.waitingInside;
      of.waitingByStep[node.step] += each.waitingInside;
    });
    times.push_back(sums.take());
  }
  std::sort(times.begin(), times.end(),
            [](const InsideTimes& a, const InsideTimes& b) { return a.rank < b.rank; });
  return times;
}

InsideTimes insideTimesOfJob(const JobGraph& graph, Id job) {
  PartSums sums(graph);
  sums.times().rank = graph.ranks()[graph.node(job).rank].number;
  sums.times().steps = 1;
  sums.add(job, PartShare(1, 1));
  return sums.take();
}

InsideTimes insideTimesIn(const JobGraph& graph, std::uint32_t rank, Interval time) {
  const JobGraph::Rank& of = graph.ranks()[rank];
  PartSums sums(graph);
  std::set<std::int32_t> steps;
  for (Id job = of.first; job < of.end && graph.node(job).begin < time.end; ++job) {
    const JobGraph::Node& node = graph.node(job);
    if (!isCompute(node.kind) || node.end <= time.begin) continue;
    steps.insert(node.step);
    const Nanoseconds inside = std::min(node.end, time.end) - std::max(node.begin, time.begin);
    sums.add(job, PartShare(inside, node.end - node.begin));
  }
  sums.times().rank = of.number;
  sums.times().steps = static_cast<std::int64_t>(steps.size());
  return sums.take();
}

std::vector<std::pair<std::string, JobKind>> groupsOf(std::span<const InsideTimes> times) {
  std::set<std::pair<std::string, JobKind>> groups;
  for (const InsideTimes& of : times) {
    for (const InsideTimes::OfGroups& each : of.groups) groups.insert({each.use, each.kind});
  }
  return {groups.begin(), groups.end()};
}

Id longestOwn(const JobGraph& graph, const CountedSteps& counted, int rank,
              std::int32_t microBatch) {
  Id found = JobGraph::kNone;
  Nanoseconds longest = 0;
  for (const JobGraph::Rank& of : graph.ranks()) {
    if (of.number != rank) continue;
    for (Id job = of.first; job < of.end; ++job) {
      const JobGraph::Node& node = graph.node(job);
      const bool isThere =
          isCompute(node.kind) && counted.contains(node.step) && node.microBatch == microBatch;
      if (!isThere || graph.inside().partsOf(job).own <= longest) continue;
      longest = graph.inside().partsOf(job).own;
      found = job;
    }
  }
  return found;
}

Id longestWait(const JobGraph& graph, const CountedSteps& counted, int rank, WaitsBy by,
               WaitsKey key) {
  const auto isThere = [&](const JobGraph::Node& node, const InsideJobs::Meeting& each) {
    switch (by) {
      case WaitsBy::kPlace: return node.kind == key.kind && each.place == key.number;
      case WaitsBy::kMicroBatch: return node.microBatch == key.number;
      case WaitsBy::kStep: return node.step == key.number;
    }
    return false;
  };
  Id found = JobGraph::kNone;
  Nanoseconds longest = 0;
  for (const JobGraph::Rank& of : graph.ranks()) {
    if (of.number != rank) continue;
    visitWaits(graph, of, counted, [&](Id job, const auto& node, const auto& each) {
      if (each.waitingInside <= longest || !isThere(node, each)) return;
      longest = each.waitingInside;
      found = job;
    });
  }
  return found;
}

}  // namespace pipetrace
