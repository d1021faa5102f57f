#include "parser/foreign/found_jobs/number_jobs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

namespace pipetrace {
namespace {

bool runsForward(const FoundJob& job) {
  return job.kind == JobKind::kForward || job.kind == JobKind::kForwardBackward;
}

/// Steps that count from 0 and end with an optimizer; several in a row end one step.
std::vector<std::int32_t> stepsByOptimizers(const std::vector<FoundJob>& jobs,
                                            std::span<const Nanoseconds> optimizers) {
  std::vector<std::int32_t> steps;
  std::int32_t step = 0;
  auto next = optimizers.begin();
  for (const FoundJob& job : jobs) {
    const auto first = next;
    while (next != optimizers.end() && *next < job.begin) ++next;
    if (next != first && !steps.empty()) ++step;
    steps.push_back(step);
  }
  return steps;
}

/// Gives backwards that name no forward the forwards of their step that have none, first in first
/// out, where there are as many.
void numberRest(const std::vector<FoundJob>& jobs, std::vector<JobNumbers>& numbers) {
  struct Rest {
    std::vector<std::int32_t> forwards;  // their micro-batches
    std::vector<std::size_t> backwards;
  };
  std::set<std::int32_t> served;  // passes
  for (const FoundJob& job : jobs) {
    if (!runsForward(job)) served.insert(job.pass);
    if (job.kind == JobKind::kForwardBackward) served.insert(job.backwardPass);
  }
  std::map<std::int32_t, Rest> steps;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Rest& rest = steps[numbers[i].step];
    if (runsForward(jobs[i])) {
      if (!served.contains(jobs[i].pass)) rest.forwards.push_back(numbers[i].microBatch);
    } else if (jobs[i].pass == FoundJob::kNoPass) {
      rest.backwards.push_back(i);
    }
  }
  for (const auto& [step, rest] : steps) {
    if (rest.forwards.size() != rest.backwards.size()) continue;
    for (std::size_t i = 0; i < rest.backwards.size(); ++i) {
      numbers[rest.backwards[i]].microBatch = rest.forwards[i];
    }
  }
}

}  // namespace

std::vector<JobNumbers> numberByOrder(const std::vector<FoundJob>& jobs,
                                      const std::function<std::int32_t(Nanoseconds)>& stepAt,
                                      std::span<const Nanoseconds> optimizers) {
  std::vector<JobNumbers> numbers;
  for (const FoundJob& job : jobs) numbers.push_back({.step = stepAt(job.begin)});
  const bool areKnown = std::any_of(numbers.begin(), numbers.end(),
                                    [](const JobNumbers& each) { return each.step != kNotGiven; });
  if (!areKnown && !optimizers.empty()) {
    const std::vector<std::int32_t> steps = stepsByOptimizers(jobs, optimizers);
    for (std::size_t i = 0; i < jobs.size(); ++i) numbers[i].step = steps[i];
  }
  std::map<std::int32_t, std::int32_t> counts;        // by step
  std::map<std::int32_t, std::int32_t> microBatches;  // by pass
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!runsForward(jobs[i]) || jobs[i].pass == FoundJob::kNoPass) continue;
    numbers[i].microBatch = counts[numbers[i].step]++;
    microBatches[jobs[i].pass] = numbers[i].microBatch;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto found = microBatches.find(jobs[i].pass);
    if (found != microBatches.end()) numbers[i].microBatch = found->second;
    const auto backward = microBatches.find(jobs[i].backwardPass);
    if (backward != microBatches.end()) numbers[i].backwardMicroBatch = backward->second;
  }
  numberRest(jobs, numbers);
  return numbers;
}

}  // namespace pipetrace
