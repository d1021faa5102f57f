#include "analysis/causes/unsteady_jobs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/median.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

struct LengthPair {
  std::int32_t step = 0;
  std::int32_t microBatch = 0;
  double forward = 0;
  double backward = 0;
};
using LengthsOfStages = std::map<std::int32_t, std::vector<LengthPair>>;

/// The forwards of one stage that wait for their backwards. A table of a fixed size: when more
/// micro-batches are on their way, pairs are lost.
class OpenForwards {
 public:
  void add(const JobGraph::Node& job) { slotOf(job) = &job; }
  /// Takes the forward of the same step and micro-batch; null: there is none.
  const JobGraph::Node* take(const JobGraph::Node& backward) {
    const JobGraph::Node*& slot = slotOf(backward);
    const bool isOne =
        slot != nullptr && slot->microBatch == backward.microBatch && slot->step == backward.step;
    return isOne ? std::exchange(slot, nullptr) : nullptr;
  }

 private:
  static constexpr std::size_t kSlots = 512;
  const JobGraph::Node*& slotOf(const JobGraph::Node& job) {
    return slots_[static_cast<std::uint32_t>(job.microBatch) % kSlots];
  }
  std::array<const JobGraph::Node*, kSlots> slots_{};
};

LengthsOfStages lengthsOf(const JobGraph& graph, const JobGraph::Rank& rank,
                          const CountedSteps& counted) {
  LengthsOfStages lengths;
  std::map<std::int32_t, OpenForwards> open;
  const auto idOf = [&](const JobGraph::Node* job) {
    return static_cast<JobGraph::Id>(job - graph.nodes().data());
  };
  for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    const bool isForward = job.kind == JobKind::kForward;
    const bool isBackward = job.kind == JobKind::kBackward || job.kind == JobKind::kBackwardInput;
    if (!isForward && !isBackward) continue;
    if (job.stage < 0 || job.step < 0 || job.event->part != kNotGiven) continue;
    if (!counted.contains(job.step)) continue;
    OpenForwards& ofStage = open[job.stage];
    if (isForward) {
      ofStage.add(job);
    } else if (const JobGraph::Node* const forward = ofStage.take(job)) {
      lengths[job.stage].push_back({job.step, job.microBatch,
                                    static_cast<double>(graph.lengthOf(idOf(forward))),
                                    static_cast<double>(graph.lengthOf(id))});
    }
  }
  return lengths;
}

/// Divides them by the means of their steps.
void compareWithSteps(std::vector<LengthPair>& pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  for (auto first = pairs.begin(); first != pairs.end();) {
    double forward = 0;
    double backward = 0;
    auto end = first;
    for (; end != pairs.end() && end->step == first->step; ++end) {
      forward += end->forward;
      backward += end->backward;
    }
    const auto count = static_cast<double>(end - first);
    for (; first != end; ++first) {
      first->forward = forward > 0 ? first->forward * count / forward : 1;
      first->backward = backward > 0 ? first->backward * count / backward : 1;
    }
  }
}

/// Sums over the pairs of a stage. The mean of each step is 1, so theirs is, too.
struct LengthSums {
  std::size_t pairs = 0;
  double forward = 0;  // squares of deviations
  double backward = 0;
  double both = 0;
  double longest = 0;

  void add(const std::vector<LengthPair>& lengths) {
    pairs += lengths.size();
    for (const LengthPair& pair : lengths) {
      const double f = pair.forward - 1;
      const double b = pair.backward - 1;
      forward += f * f;
      backward += b * b;
      both += f * b;
      longest = std::max(longest, pair.forward);
    }
  }
  UnevenMicroBatches::Stage stage() const {
    UnevenMicroBatches::Stage stage{.pairs = pairs, .longest = longest};
    if (pairs == 0) return stage;
    stage.variation = std::sqrt(forward / static_cast<double>(pairs));
    if (forward > 0 && backward > 0) stage.correlation = both / std::sqrt(forward * backward);
    return stage;
  }
};

/// The mean over the stages of a pipeline of each of its micro-batches.
std::vector<LengthPair> meansOf(std::vector<LengthPair> pairs) {
  const auto keyOf = [](const LengthPair& pair) { return std::pair(pair.step, pair.microBatch); };
  std::ranges::stable_sort(pairs, {}, keyOf);
  std::vector<LengthPair> means;
  double count = 0;
  for (const LengthPair& pair : pairs) {
    if (means.empty() || keyOf(means.back()) != keyOf(pair)) {
      means.push_back({pair.step, pair.microBatch});
      count = 0;
    }
    ++count;
    means.back().forward += (pair.forward - means.back().forward) / count;
    means.back().backward += (pair.backward - means.back().backward) / count;
  }
  return means;
}

}  // namespace

UnevenMicroBatches::UnevenMicroBatches(const JobGraph& graph, const CountedSteps& counted,
                                       int threads) {
  std::vector<LengthsOfStages> ranks(graph.ranks().size());
  inParallel(threads, ranks.size(), [&](std::size_t r) {
    ranks[r] = lengthsOf(graph, graph.ranks()[r], counted);
    for (auto& [stage, pairs] : ranks[r]) compareWithSteps(pairs);
  });
  std::map<std::int32_t, LengthSums> sums;
  for (const LengthsOfStages& rank : ranks) {
    for (const auto& [stage, pairs] : rank) sums[stage].add(pairs);
  }
  for (const auto& [number, sum] : sums) {
    stages_[number] = sum.stage();
    if (stages_[number].isUneven()) uneven_.push_back(number);
  }
  if (2 * uneven_.size() < stages_.size()) uneven_.clear();
  if (!uneven_.empty()) {
    uneven_.clear();
    for (const auto& [number, stage] : stages_) {
      if (stage.isUneven(kRelated)) uneven_.push_back(number);
    }
  }
  if (!uneven_.empty() || stages_.size() < kLeastStages) return;
  const bool mayBe = std::ranges::all_of(stages_, [](const auto& stage) {
    return stage.second.correlation > 0 && stage.second.variation >= kVariation;
  });
  if (!mayBe) return;
  LengthSums ofMeans;
  for (const std::vector<std::uint32_t>& pipeline : graph.pipelines()) {
    std::vector<LengthPair> all;
    for (const std::uint32_t r : pipeline) {
      for (const auto& [stage, pairs] : ranks[r]) all.insert(all.end(), pairs.begin(), pairs.end());
    }
    ofMeans.add(meansOf(std::move(all)));
  }
  const Stage mean = ofMeans.stage();
  if (!mean.isUneven()) return;
  ofMeans_ = mean;
  for (const auto& [number, stage] : stages_) uneven_.push_back(number);
}

bool UnevenMicroBatches::isShownBy(std::int32_t stage) const {
  return std::binary_search(uneven_.begin(), uneven_.end(), stage);
}

double UnevenMicroBatches::correlation() const {
  if (ofMeans_) return ofMeans_->correlation;
  double least = 1;
  for (const int stage : uneven_) least = std::min(least, stages_.at(stage).correlation);
  return least;
}

double UnevenMicroBatches::longest() const {
  double longest = 0;
  for (const int stage : uneven_) longest = std::max(longest, stages_.at(stage).longest);
  return longest;
}

namespace {

using Id = JobGraph::Id;

constexpr std::size_t kMostJobs = 2;  // of one pause: a long job, and one that begins late

/// The jobs of a rank that pause in one step.
struct StepPause {
  std::vector<Id> jobs;
  Nanoseconds length = 0;  // of the longest
};

struct RankPauses {
  std::map<std::int32_t, StepPause> bySteps;
  std::size_t steps = 0;  // in which the rank has jobs
};

/// How much later a job began than its last input; 0 where that is of another step, and where it is
/// below `least`.
Nanoseconds latenessOf(const JobGraph& graph, const JobGraph::Node& job, double least) {
  if (job.before == JobGraph::kNone) return 0;
  // The job before it is near. Its inputs are all over the graph.
  const JobGraph::Node& before = graph.node(job.before);
  if (before.step != job.step || static_cast<double>(job.begin - before.end) < least) return 0;
  Nanoseconds ready = kNsMin;
  for (const Id input : {job.before, job.collective, job.inputs[0], job.inputs[1]}) {
    if (input != JobGraph::kNone) ready = std::max(ready, graph.node(input).end);
  }
  return std::max<Nanoseconds>(0, job.begin - ready);
}

class PausesOfRank {
 public:
  PausesOfRank(const JobGraph& graph, const MedianDurations& times, const CountedSteps& counted,
               const UnevenMicroBatches& lengths)
      : graph_(graph), times_(times), counted_(counted), lengths_(lengths) {}

  RankPauses of(const JobGraph::Rank& rank) const {
    RankPauses pauses;
    std::set<std::int32_t> steps;
    std::int32_t latest = kNotGiven;
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph_.node(id);
      const Nanoseconds usual = times_.median(id);
      if (usual <= 0 || job.step < 0 || !counted_.contains(job.step)) continue;
      if (job.step != latest) steps.insert(latest = job.step);
      // Where micro-batches are uneven, a long job is none that pauses. Nor is a late one where
      // ranks meet inside jobs, as they wait there for those with long micro-batches.
      const bool isUneven = lengths_.isShownBy(job.stage);
      if (isUneven && !graph_.inside().empty()) continue;
      const Nanoseconds longer = isUneven ? 0 : graph_.ownTimeOf(id) - usual;
      const double least = ScatteredPauses::kLonger * static_cast<double>(usual);
      const Nanoseconds length = std::max(longer, latenessOf(graph_, job, least));
      if (static_cast<double>(length) < least) continue;
      StepPause& pause = pauses.bySteps[job.step];
      pause.jobs.push_back(id);
      pause.length = std::max(pause.length, length);
    }
    pauses.steps = steps.size();
    const bool isOftenUnsteady = 3 * pauses.bySteps.size() > 2 * pauses.steps;
    std::erase_if(pauses.bySteps, [&](const auto& step) {
      return isOftenUnsteady || step.second.jobs.size() > kMostJobs;
    });
    return pauses;
  }

 private:
  const JobGraph& graph_;
  const MedianDurations& times_;
  const CountedSteps& counted_;
  const UnevenMicroBatches& lengths_;
};

/// Whether the longer half of them is about as long as the shorter one. Sorts them.
bool areAboutAsLong(std::vector<Nanoseconds>& lengths) {
  std::sort(lengths.begin(), lengths.end());
  const std::size_t last = lengths.size() - 1;
  return lengths[last - last / 4] / 2 <= lengths[last / 4];
}

}  // namespace

ScatteredPauses::ScatteredPauses(const JobGraph& graph, const MedianDurations& times,
                                 const CountedSteps& counted, const UnevenMicroBatches& lengths,
                                 int threads) {
  const PausesOfRank finder(graph, times, counted, lengths);
  std::vector<RankPauses> pauses(graph.ranks().size());
  inParallel(threads, pauses.size(),
             [&](std::size_t r) { pauses[r] = finder.of(graph.ranks()[r]); });
  std::set<std::int32_t> steps;
  std::vector<Nanoseconds> all;
  for (std::size_t r = 0; r < pauses.size(); ++r) {
    if (!pauses[r].bySteps.empty()) ranks_.push_back(graph.ranks()[r].number);
    for (const auto& [step, pause] : pauses[r].bySteps) {
      steps.insert(step);
      all.push_back(pause.length);
      jobs_.insert(jobs_.end(), pause.jobs.begin(), pause.jobs.end());
    }
  }
  steps_ = steps.size();
  count_ = all.size();
  const std::size_t least = ranks_.size() > 2 ? kLeastPauses : kLeastPausesOfTwo;
  const bool areMany =
      count_ >= least && ranks_.size() >= 2 && 4 * ranks_.size() >= graph.ranks().size();
  const bool areApart = 4 * count_ <= 3 * steps_ * ranks_.size();
  if (!areMany || !areApart || !areAboutAsLong(all)) {
    *this = ScatteredPauses();
    return;
  }
  median_ = medianOf(all);
  std::sort(ranks_.begin(), ranks_.end());
  std::sort(jobs_.begin(), jobs_.end());
}

bool ScatteredPauses::contains(Id job) const {
  return std::binary_search(jobs_.begin(), jobs_.end(), job);
}

}  // namespace pipetrace
