#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/run_parts.h"
#include "trace/timeline.h"

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
};

/// One step of one pipeline, as docs/metrics.md defines it. Windows of one pipeline do not overlap;
/// those of two pipelines may.
struct StepWindow {
  std::int32_t step = 0;
  int replica = 0;               ///< the number of the pipeline, as in Topology
  Nanoseconds begin = 0;         ///< first start of its compute jobs, over the pipeline's ranks
  Nanoseconds end = 0;           ///< last end of its compute and optimizer jobs
  Nanoseconds windowEnd = 0;     ///< `end`, cut where the step that begins next begins
  Nanoseconds betweenSteps = 0;  ///< from windowEnd to the next step's begin; 0 for a part's last
  bool isWholeRun = false;       ///< all steps of an asynchronous run, while its pipeline is full

  Nanoseconds duration() const { return end - begin; }
  Nanoseconds window() const { return windowEnd - begin; }
  bool operator==(const StepWindow&) const = default;
};

/// Makes the steps of an asynchronous pipeline, from index `first` on, one: there is no flush
/// between them. `full`: of its first rank. Does nothing where that rank runs no backward. Parts of
/// a run are too far apart for this.
template <typename Step>
void joinAsynchronousSteps(std::vector<Step>& steps, std::size_t first, const FullPipeline& full,
                           std::span<const Nanoseconds> partBegins) {
  if (steps.size() == first || full.begin >= full.end || !partBegins.empty()) return;
  steps.resize(first + 1);
  StepWindow& window = steps[first];
  window.begin = full.begin;
  window.end = full.end;
  window.isWholeRun = true;
}

/// Sets windowEnd and betweenSteps of the steps of one pipeline, given in any order. Returns them
/// in the order of their begins; equal begins keep their order. A Step is a StepWindow or a class
/// derived from it. `partBegins`: of the run (partBeginsOf()).
template <typename Step>
std::vector<Step*> cutWindows(std::span<Step> steps, std::span<const Nanoseconds> partBegins) {
  std::vector<Step*> order;
  order.reserve(steps.size());
  for (Step& step : steps) order.push_back(&step);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    StepWindow& step = *order[i];
    step.windowEnd = step.end;
    step.betweenSteps = 0;
    if (i + 1 == order.size()) break;
    const Nanoseconds next = order[i + 1]->begin;
    step.windowEnd = std::min(step.end, next);
    if (partAt(partBegins, step.begin) != partAt(partBegins, next)) continue;
    step.betweenSteps = next - step.windowEnd;
  }
  return order;
}

/// The steps that have compute jobs, in the order of replica (topologyOf) and number. Jobs without
/// a step count in no step. Runs on the calling thread.
std::vector<StepWindow> stepWindows(const Timeline& timeline);

}  // namespace pipetrace
