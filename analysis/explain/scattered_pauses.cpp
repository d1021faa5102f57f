#include "analysis/explain/scattered_pauses.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/median.h"
#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
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
  PausesOfRank(const JobGraph& graph, const UsualTimes& times, const CountedSteps& counted,
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
      const Nanoseconds longer = job.end - job.begin - usual;
      const double least = ScatteredPauses::kLonger * static_cast<double>(usual);
      const Nanoseconds length = std::max(longer, latenessOf(graph_, job, least));
      if (static_cast<double>(length) < least) continue;
      if (lengths_.isShownBy(job.stage)) continue;
      StepPause& pause = pauses.bySteps[job.step];
      pause.jobs.push_back(id);
      pause.length = std::max(pause.length, length);
    }
    pauses.steps = steps.size();
    const bool isOftenUnsteady = 2 * pauses.bySteps.size() > pauses.steps;
    std::erase_if(pauses.bySteps, [&](const auto& step) {
      return isOftenUnsteady || step.second.jobs.size() > kMostJobs;
    });
    return pauses;
  }

 private:
  const JobGraph& graph_;
  const UsualTimes& times_;
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

ScatteredPauses::ScatteredPauses(const JobGraph& graph, const UsualTimes& times,
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
  const bool areMany =
      count_ >= kLeastPauses && ranks_.size() >= 2 && 4 * ranks_.size() >= graph.ranks().size();
  const bool areApart = 2 * count_ <= steps_ * ranks_.size();
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

std::string toText(const ScatteredPauses& pauses) {
  return "ranks " + numbersText(pauses.ranks()) + " pause at different steps, as for a garbage " +
         "collection: " + std::to_string(pauses.count()) + " times in " +
         std::to_string(pauses.steps()) + (pauses.steps() == 1 ? " step" : " steps") + ", for " +
         formatDuration(pauses.median()) + " in the median";
}

}  // namespace pipetrace
