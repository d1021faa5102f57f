#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/per_step.h"
#include "trace/run_parts.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// Whether jobs of this kind make up a step: compute jobs and the optimizer do.
constexpr bool isOfStep(JobKind kind) { return isCompute(kind) || kind == JobKind::kOptimizer; }

/// The time from the first start of a step's compute jobs to the last end of its compute and
/// optimizer jobs, over the jobs that were added. At first it has no compute job.
struct StepTimes {
  Nanoseconds begin = kNsMax;
  Nanoseconds end = kNsMin;
  bool hasCompute = false;
  bool isAsynchronous = false;  ///< a rank updates its weights between forwards of the step
  Nanoseconds firstUpdate = kNsMax;
  Nanoseconds lastForward = kNsMin;

  /// Adds a job. All must be of one rank, and of a kind that isOfStep().
  void add(const Event& job) {
    end = std::max(end, job.end);
    if (job.kind == JobKind::kOptimizer) firstUpdate = std::min(firstUpdate, job.end);
    if (job.kind == JobKind::kForward) lastForward = std::max(lastForward, job.begin);
    isAsynchronous = firstUpdate <= lastForward;
    if (!isCompute(job.kind)) return;
    begin = std::min(begin, job.begin);
    hasCompute = true;
  }
  /// Adds the jobs of another rank.
  void add(const StepTimes& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
    hasCompute = hasCompute || other.hasCompute;
    isAsynchronous = isAsynchronous || other.isAsynchronous;
  }
};

/// The time from a rank's first backward to the end of its last forward. On the first rank of a
/// pipeline that is when the pipeline is full.
struct FullPipeline {
  Nanoseconds begin = kNsMax;
  Nanoseconds end = kNsMin;

  void add(const Event& job) {
    const bool isPair = job.kind == JobKind::kForwardBackward;
    if (isPair || job.kind == JobKind::kBackward || job.kind == JobKind::kBackwardInput) {
      begin = std::min(begin, job.begin);
    }
    if (isPair || job.kind == JobKind::kForward) end = std::max(end, job.end);
  }
  void add(const FullPipeline& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

/// One step of one pipeline, as docs/metrics.md defines it. Windows of one pipeline do not overlap;
/// those of two pipelines may.
struct StepWindow {
  std::int32_t step = 0;
  int replica = 0;            ///< the number of the pipeline, as in Topology
  Nanoseconds begin = 0;      ///< first start of its compute jobs, over the pipeline's ranks
  Nanoseconds end = 0;        ///< last end of its compute and optimizer jobs
  Nanoseconds windowEnd = 0;  ///< `end`, cut where the step that begins next begins
  /// From windowEnd to where the next step of its phase begins, without the time of otherPhases; 0
  /// where that step is not there. It is there if it has the next number, apart from those of the
  /// steps of other phases in between.
  Nanoseconds betweenSteps = 0;
  /// From where the first of these begins to where the last one ends; 0 without.
  Nanoseconds otherPhases = 0;
  /// All steps of an asynchronous run, while its pipeline is full; where steps of other phases
  /// stand between them, all up to these.
  bool isWholeRun = false;
  Phase phase = Phase::kTraining;
  std::int32_t lastStep = kNotGiven;  ///< the last of them; kNotGiven without isWholeRun
  bool isFollowed = false;            ///< the next step of its phase is there, see betweenSteps

  std::int32_t last() const { return isWholeRun ? lastStep : step; }
  Nanoseconds duration() const { return end - begin; }
  Nanoseconds window() const { return windowEnd - begin; }
  /// From its begin to the next one's, without the time of otherPhases: what a step takes by a
  /// clock on the wall. Where no step follows it is the window alone.
  Nanoseconds wall() const { return window() + betweenSteps; }
  bool operator==(const StepWindow&) const = default;
};

/// By step, when the first rank of a pipeline says that this is full.
using FullPipelines = PerStep<FullPipeline>;

/// Makes the steps of an asynchronous pipeline, ascending from index `first` on, one: there is no
/// flush between them. Steps of other phases (`others`) between two of them have one, so there is
/// a window before these and one after. `full`: of its first rank; it is used up. Steps stay as
/// they are where that rank runs no backward. Parts of a run are too far apart for this.
template <typename Step>
void joinAsynchronousSteps(std::vector<Step>& steps, std::size_t first, FullPipelines& full,
                           std::span<const StepWindow> others,
                           std::span<const Nanoseconds> partBegins) {
  if (!partBegins.empty()) return;
  const auto isBetween = [&](std::size_t i) {
    return std::any_of(others.begin(), others.end(), [&](const StepWindow& other) {
      return steps[i].step < other.step && other.step < steps[i + 1].step;
    });
  };
  std::size_t made = first;
  for (std::size_t i = first; i < steps.size();) {
    std::size_t last = i;
    FullPipeline all = full[steps[i].step];
    while (last + 1 < steps.size() && !isBetween(last)) all.add(full[steps[++last].step]);
    if (all.begin < all.end) {
      Step& window = steps[i];
      window.begin = all.begin;
      window.end = all.end;
      window.isWholeRun = true;
      window.lastStep = steps[last].step;
      if (made != i) steps[made] = std::move(window);
      ++made;
    } else {
      for (std::size_t each = i; each <= last; ++each, ++made) {
        if (made != each) steps[made] = std::move(steps[each]);
      }
    }
    i = last + 1;
  }
  steps.resize(made);
}

/// Sets windowEnd, betweenSteps, otherPhases and isFollowed of the steps of one pipeline, of all
/// phases and in any order, and sorts them by begin; equal begins keep their order. `partBegins`:
/// of the run (partBeginsOf()).
void cutWindows(std::span<StepWindow*> steps, std::span<const Nanoseconds> partBegins);

/// The steps of all phases that have compute jobs, in the order of replica and number. Jobs without
/// a step count in no step. Runs on the calling thread.
std::vector<StepWindow> stepWindows(const Timeline& timeline, const Topology& topology);
/// The same of a timeline of which nobody knows the topology yet.
std::vector<StepWindow> stepWindows(const Timeline& timeline);

}  // namespace pipetrace
