#include "analysis/incomplete_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace pipetrace {
namespace {

struct JobCounts {
  std::int64_t compute = 0;
  std::int64_t optimizer = 0;
};

using StepCounts = std::map<std::int32_t, JobCounts>;

/// Which of its jobs the first rank that lacks some lacks, and how many other ranks do.
struct Lack {
  std::string first;
  int others = 0;
};

StepCounts countSteps(const Timeline& timeline, int rank) {
  StepCounts steps;
  for (const Track& track : timeline.tracks) {
    if (track.rank != rank) continue;
    JobCounts* counts = nullptr;
    std::int32_t step = kNotGiven;
    for (const Event& event : track.events) {
      const bool compute = isCompute(event.kind);
      if (!compute && event.kind != JobKind::kOptimizer) continue;
      if (counts == nullptr || event.step != step) {
        step = event.step;
        counts = &steps[step];
      }
      ++(compute ? counts->compute : counts->optimizer);
    }
  }
  return steps;
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

void collectLacks(const Timeline& timeline, const std::vector<int>& ranks,
                  std::map<std::int32_t, Lack>& lacks) {
  std::map<int, StepCounts> byRank;
  std::set<std::int32_t> steps;
  for (const int rank : ranks) {
    byRank[rank] = countSteps(timeline, rank);
    for (const auto& [step, counts] : byRank[rank]) steps.insert(step);
  }
  for (auto& [rank, counts] : byRank) {
    for (const std::int32_t step : steps) counts.try_emplace(step);
    const std::int64_t compute = usualCount(counts, &JobCounts::compute);
    const std::int64_t optimizer = usualCount(counts, &JobCounts::optimizer);
    for (const auto& [step, count] : counts) {
      if (count.compute >= compute && count.optimizer >= optimizer) continue;
      const auto [lack, isFirst] = lacks.try_emplace(step);
      if (isFirst) {
        lack->second.first = lackText(rank, count, compute, optimizer);
      } else {
        ++lack->second.others;
      }
    }
  }
}

}  // namespace

void findIncompleteSteps(const Timeline& timeline, const Topology& topology,
                         Diagnostics& diagnostics) {
  std::map<std::int32_t, Lack> lacks;
  for (const auto& [replica, ranks] : topology.replicas()) collectLacks(timeline, ranks, lacks);
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
