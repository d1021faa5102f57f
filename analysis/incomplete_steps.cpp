#include "analysis/incomplete_steps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/per_step.h"
#include "trace/in_parallel.h"

namespace pipetrace {
namespace {

struct JobCounts {
  std::int64_t compute = 0;
  std::int64_t optimizer = 0;
};

/// By step.
using StepCounts = std::vector<PerStep<JobCounts>::Entry>;

/// Which of its jobs the first rank that lacks some lacks, and how many other ranks do.
struct Lack {
  std::string first;
  int others = 0;
};

StepCounts countSteps(const Timeline& timeline, int rank) {
  PerStep<JobCounts> steps;
  for (const Track& track : timeline.tracks) {
    if (track.rank != rank) continue;
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) {
        ++steps[event.step].compute;
      } else if (event.kind == JobKind::kOptimizer) {
        ++steps[event.step].optimizer;
      }
    }
  }
  return steps.take();
}

/// Adds a count of nothing for each of `steps` that is missing; both are in order.
void addMissing(StepCounts& counts, const std::vector<std::int32_t>& steps) {
  if (counts.size() == steps.size()) return;
  StepCounts all;
  all.reserve(steps.size());
  auto next = counts.begin();
  for (const std::int32_t step : steps) {
    if (next != counts.end() && next->first == step) {
      all.push_back(*next++);
    } else {
      all.emplace_back(step, JobCounts{});
    }
  }
  counts = std::move(all);
}

/// How many the steps have as a rule; 0 when there is no rule.
std::int64_t usualCount(const StepCounts& steps, std::int64_t JobCounts::*field) {
  std::vector<std::int64_t> counts;
  counts.reserve(steps.size());
  for (const auto& [step, count] : steps) counts.push_back(count.*field);
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  const std::int64_t median = *middle;
  const auto same = std::count(counts.begin(), counts.end(), median);
  return 2 * same + 1 >= static_cast<std::ptrdiff_t>(counts.size()) ? median : 0;
}

std::string lackText(int rank, const JobCounts& counts, std::int64_t compute,
                     std::int64_t optimizer) {
  const std::string text = "rank " + std::to_string(rank) + " has ";
  if (counts.compute < compute) {
    return text + std::to_string(counts.compute) + " of " + std::to_string(compute) +
           " compute jobs";
  }
  return text + (counts.optimizer == 0 ? "no optimizer"
                                       : std::to_string(counts.optimizer) + " of " +
                                             std::to_string(optimizer) + " optimizer jobs");
}

std::vector<std::int32_t> stepsOf(const std::vector<StepCounts>& ranks) {
  std::vector<std::int32_t> steps;
  for (const StepCounts& counts : ranks) {
    std::vector<std::int32_t> before = std::exchange(steps, {});
    std::vector<std::int32_t> own;
    own.reserve(counts.size());
    for (const auto& [step, count] : counts) own.push_back(step);
    std::set_union(before.begin(), before.end(), own.begin(), own.end(), std::back_inserter(steps));
  }
  return steps;
}

void collectLacks(const Timeline& timeline, const std::vector<int>& ranks, int threads,
                  std::map<std::int32_t, Lack>& lacks) {
  std::vector<StepCounts> byRank(ranks.size());
  inParallel(threads, ranks.size(),
             [&](std::size_t i) { byRank[i] = countSteps(timeline, ranks[i]); });
  const std::vector<std::int32_t> steps = stepsOf(byRank);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    StepCounts& counts = byRank[i];
    addMissing(counts, steps);
    const std::int64_t compute = usualCount(counts, &JobCounts::compute);
    const std::int64_t optimizer = usualCount(counts, &JobCounts::optimizer);
    for (const auto& [step, count] : counts) {
      if (count.compute >= compute && count.optimizer >= optimizer) continue;
      const auto [lack, isFirst] = lacks.try_emplace(step);
      if (isFirst) {
        lack->second.first = lackText(ranks[i], count, compute, optimizer);
      } else {
        ++lack->second.others;
      }
    }
  }
}

}  // namespace

void findIncompleteSteps(const Timeline& timeline, const Topology& topology, int threads,
                         Diagnostics& diagnostics) {
  std::map<std::int32_t, Lack> lacks;
  for (const auto& [replica, ranks] : topology.replicas())
    collectLacks(timeline, ranks, threads, lacks);
  constexpr std::size_t kToldOneByOne = 4;
  std::size_t told = 0;
  for (const auto& [step, lack] : lacks) {
    if (told == kToldOneByOne) break;
    ++told;
    std::string what = lack.first;
    if (lack.others > 0) {
      what += ", and " + std::to_string(lack.others) +
              (lack.others == 1 ? " more rank lacks jobs" : " more ranks lack jobs");
    }
    diagnostics.add({.message = "step " + std::to_string(step) + " is incomplete (" + what +
                                "); its length and bubble ratio mean little",
                     .advice = "leave it out of comparisons; the run was stopped in it, or jobs "
                               "were lost"});
  }
  if (told < lacks.size()) {
    const std::size_t rest = lacks.size() - told;
    diagnostics.add({.message = std::to_string(rest) +
                                (rest == 1 ? " more step is" : " more steps are") +
                                " incomplete in the same way"});
  }
}

}  // namespace pipetrace
