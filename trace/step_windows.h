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

  /// Adds a job. Its kind must be isOfStep().
  void add(const Event& job) {
    end = std::max(end, job.end);
    if (!isCompute(job.kind)) return;
    begin = std::min(begin, job.begin);
    hasCompute = true;
  }
  /// Adds the jobs of another rank.
  void add(const StepTimes& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
    hasCompute = hasCompute || other.hasCompute;
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

  Nanoseconds duration() const { return end - begin; }
  Nanoseconds window() const { return windowEnd - begin; }
  bool operator==(const StepWindow&) const = default;
};

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
