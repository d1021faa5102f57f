#include "analysis/run/steps/incomplete_steps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/per_step.h"
#include "trace/text/number_text.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// The median of counts (of an even number of them the upper one), if at least half of the others
/// are just that; else 0.
std::int64_t usualCount(std::vector<std::int64_t> counts) {
  if (counts.empty()) return 0;
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  const std::int64_t median = *middle;
  const auto same = std::count(counts.begin(), counts.end(), median);
  return 2 * same + 1 >= static_cast<std::ptrdiff_t>(counts.size()) ? median : 0;
}

/// By how many steps the optimizers of a rank lie apart, of its `counts` of them by step. 1: each
/// step has one, or they follow no rule.
int stepsOfOptimizer(const std::vector<std::int64_t>& counts) {
  std::vector<std::size_t> with;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) with.push_back(i);
  }
  if (with.size() < 2) return 1;
  const std::size_t every = with[1] - with[0];
  for (std::size_t i = 1; i < with.size(); ++i) {
    if (with[i] - with[i - 1] != every) return 1;
  }
  const bool isWhole = with.front() < every && counts.size() - with.back() <= every;
  return isWhole ? static_cast<int>(every) : 1;
}

struct JobCounts {
  std::int64_t compute = 0;
  std::int64_t optimizer = 0;
};

/// In the order of steps.
using StepCounts = std::vector<PerStep<JobCounts>::Entry>;

/// The jobs that a step lacks: the first rank without them, a text about them, and the number of
/// other ranks that lack some.
struct Lack {
  int rank = 0;
  std::string first;
  int others = 0;
  bool isGoingOn = true;  ///< all these ranks still record and have begun no later step
};

/// Steps in which the same rank is the first to lack jobs, most likely for one reason.
struct LackingSteps {
  std::int32_t first = 0;
  std::int32_t last = 0;
  int count = 0;
  bool isGoingOn = false;
};

StepCounts countSteps(const Timeline& timeline, int rank, Phase phase) {
  PerStep<JobCounts> steps;
  const auto begin = std::partition_point(timeline.tracks.begin(), timeline.tracks.end(),
                                          [&](const Track& track) { return track.rank < rank; });
  for (auto track = begin; track != timeline.tracks.end() && track->rank == rank; ++track) {
    for (const Event& event : track->events) {
      if (event.phase != phase) continue;
      if (isCompute(event.kind)) {
        ++steps[event.step].compute;
      } else if (event.kind == JobKind::kOptimizer) {
        ++steps[event.step].optimizer;
      }
    }
  }
  return steps.take();
}

/// Adds a count of 0 for each of `steps` that is missing. Both are in ascending order.
void addMissing(StepCounts& counts, const std::vector<std::int32_t>& steps) {
  if (counts.size() == steps.size()) return;
  StepCounts all;
  all.reserve(steps.size());
  auto next = counts.begin();
  for (const std::int32_t step : steps) {
    while (next != counts.end() && next->first < step) all.push_back(*next++);
    if (next != counts.end() && next->first == step) {
      all.push_back(*next++);
    } else {
      all.emplace_back(step, JobCounts{});
    }
  }
  all.insert(all.end(), next, counts.end());
  counts = std::move(all);
}

std::vector<std::int64_t> countsOf(const StepCounts& steps, std::int64_t JobCounts::*field) {
  std::vector<std::int64_t> counts;
  counts.reserve(steps.size());
  for (const auto& [step, count] : steps) counts.push_back(count.*field);
  return counts;
}

std::string lackText(int rank, const JobCounts& counts, std::int64_t compute,
                     std::int64_t optimizer) {
  const std::string text = "rank " + std::to_string(rank) + " has ";
  if (counts.compute == 0 && compute > 0) return text + "no compute jobs";
  if (counts.compute < compute) {
    return text + std::to_string(counts.compute) + " of " + std::to_string(compute) +
           " compute jobs";
  }
  return text + (counts.optimizer == 0 ? "no optimizer"
                                       : std::to_string(counts.optimizer) + " of " +
                                             std::to_string(optimizer) + " optimizer jobs");
}

/// The steps in which some rank computes, ascending.
std::vector<std::int32_t> stepsOf(const std::vector<StepCounts>& ranks) {
  std::vector<std::int32_t> steps;
  for (const StepCounts& counts : ranks) {
    std::vector<std::int32_t> before = std::exchange(steps, {});
    std::vector<std::int32_t> own;
    own.reserve(counts.size());
    for (const auto& [step, count] : counts) {
      if (count.compute > 0) own.push_back(step);
    }
    std::set_union(before.begin(), before.end(), own.begin(), own.end(), std::back_inserter(steps));
  }
  return steps;
}

/// The same where it holds for all ranks.
int stepsOfOptimizer(const Timeline& timeline, const Topology& topology, int threads) {
  const Phase phase = countedPhaseOf(timeline);
  std::vector<int> ranks;
  for (const auto& [replica, ofIt] : topology.replicas()) {
    ranks.insert(ranks.end(), ofIt.begin(), ofIt.end());
  }
  // Of most runs the first rank says that each step has one.
  const auto of = [&](int rank) {
    return stepsOfOptimizer(countsOf(countSteps(timeline, rank, phase), &JobCounts::optimizer));
  };
  if (ranks.empty()) return 1;
  const int every = of(ranks.front());
  if (every == 1) return 1;
  std::vector<int> others(ranks.size());
  inParallel(threads, ranks.size(), [&](std::size_t i) { others[i] = of(ranks[i]); });
  const bool isAlike = std::all_of(others.begin(), others.end(), [&](int n) { return n == every; });
  return isAlike ? every : 1;
}

/// `inEach`: whether each step is to have an optimizer.
void collectLacks(const Timeline& timeline, const std::vector<int>& ranks, Phase phase, int threads,
                  bool inEach, std::map<std::int32_t, Lack>& lacks) {
  std::vector<StepCounts> byRank(ranks.size());
  inParallel(threads, ranks.size(),
             [&](std::size_t i) { byRank[i] = countSteps(timeline, ranks[i], phase); });
  const std::vector<std::int32_t> steps = stepsOf(byRank);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    StepCounts& counts = byRank[i];
    const auto info = timeline.ranks.find(ranks[i]);
    const bool isRecording = info != timeline.ranks.end() && info->second.isRecording;
    if (counts.empty()) continue;
    const std::int32_t latest = counts.back().first;
    const std::int64_t least = leastCompute(countsOf(counts, &JobCounts::compute));
    const std::int64_t optimizer = inEach ? usualCount(countsOf(counts, &JobCounts::optimizer)) : 0;
    if (least > 0) addMissing(counts, steps);
    for (const auto& [step, count] : counts) {
      const bool peersCompute = std::binary_search(steps.begin(), steps.end(), step);
      const std::int64_t compute = peersCompute ? least : 0;
      if (count.compute >= compute && count.optimizer >= optimizer) continue;
      const auto [lack, isFirst] = lacks.try_emplace(step);
      if (isFirst) {
        lack->second.rank = ranks[i];
        lack->second.first = lackText(ranks[i], count, compute, optimizer);
      } else {
        ++lack->second.others;
      }
      lack->second.isGoingOn = lack->second.isGoingOn && isRecording && step >= latest;
    }
  }
}

std::map<std::int32_t, Lack> lacksOf(const Timeline& timeline, const Topology& topology,
                                     int threads) {
  std::map<std::int32_t, Lack> lacks;
  const Phase phase = countedPhaseOf(timeline);
  const bool inEach = stepsOfOptimizer(timeline, topology, threads) == 1;
  for (const auto& [replica, ranks] : topology.replicas()) {
    collectLacks(timeline, ranks, phase, threads, inEach, lacks);
  }
  return lacks;
}

std::string textOf(const Lack& lack) {
  if (lack.others == 0) return lack.first;
  return lack.first + ", and " +
         countText(lack.others, "more rank lacks jobs", "more ranks lack jobs");
}

std::string textOf(const LackingSteps& steps, const Lack& lack) {
  const std::string first = std::to_string(steps.first);
  if (steps.count == 1) {
    return "step " + first + " is incomplete (" + textOf(lack) +
           "); its length and bubble ratio mean little";
  }
  return std::to_string(steps.count) + " steps from " + first + " to " +
         std::to_string(steps.last) + " are incomplete (in step " + first + " " + textOf(lack) +
         "); their lengths and bubble ratios mean little";
}

std::string adviceOn(const LackingSteps& steps) {
  const std::string they = steps.count == 1 ? "it" : "them";
  return "leave " + they + " out of comparisons; " +
         (steps.isGoingOn ? "the program still runs and has not finished " + they + " yet"
                          : "the run was stopped, or jobs were lost");
}

/// The groups in the order of their first steps.
std::vector<LackingSteps> groupsOf(const std::map<std::int32_t, Lack>& lacks) {
  std::vector<LackingSteps> groups;
  std::map<std::pair<int, bool>, std::size_t> groupOf;
  for (const auto& [step, lack] : lacks) {
    const std::pair kind(lack.rank, lack.isGoingOn);
    const auto [group, isNew] = groupOf.try_emplace(kind, groups.size());
    if (isNew) groups.push_back({.first = step, .isGoingOn = lack.isGoingOn});
    LackingSteps& steps = groups[group->second];
    steps.last = step;
    ++steps.count;
  }
  return groups;
}

}  // namespace

std::int64_t leastCompute(std::vector<std::int64_t> counts) {
  std::erase(counts, 0);
  return counts.empty() ? 0 : std::max<std::int64_t>(usualCount(std::move(counts)), 1);
}

void findIncompleteSteps(const Timeline& timeline, const Topology& topology, int threads,
                         Diagnostics& diagnostics) {
  if (const int every = stepsOfOptimizer(timeline, topology, threads); every > 1) {
    diagnostics.add(
        {.severity = Severity::kNote,
         .message = "one of " + std::to_string(every) +
                    " steps has an optimizer: where gradients of several calls of a schedule are "
                    "added up, each call counts as a step here",
         .advice = "call pipetrace.step() after each optimizer, so that its calls are one step "
                   "(docs/python-recording.md)"});
  }
  const std::map<std::int32_t, Lack> lacks = lacksOf(timeline, topology, threads);
  constexpr std::size_t kMostTold = 4;
  const std::vector<LackingSteps> groups = groupsOf(lacks);
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i >= kMostTold) {
      rest += groups[i].count;
      continue;
    }
    diagnostics.add({.message = textOf(groups[i], lacks.at(groups[i].first)),
                     .advice = adviceOn(groups[i]),
                     .doubt = DoubtKind::kIncompleteSteps});
  }
  if (rest == 0) return;
  diagnostics.add({.message = countText(rest, "more step is", "more steps are") + " incomplete",
                   .doubt = DoubtKind::kIncompleteSteps});
}

std::vector<std::int32_t> incompleteSteps(const Timeline& timeline, const Topology& topology,
                                          int threads) {
  std::vector<std::int32_t> steps;
  for (const auto& [step, lack] : lacksOf(timeline, topology, threads)) steps.push_back(step);
  return steps;
}

}  // namespace pipetrace
