#include "schedule/partition/recompute_choices.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

/// Combinations of a group's counts that are looked at one by one.
constexpr std::int64_t kMostTried = 20'000;
/// Partitions whose choices are kept.
constexpr std::size_t kMostKnown = 200'000;

bool isAtMost(const std::vector<int>& a, const std::vector<int>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
}

}  // namespace

struct RecomputeFinder::Task {
  const StageGroup& group;
  std::vector<int> first;  // block of each of its stages
  std::vector<int> blocks;
};

RecomputeFinder::RecomputeFinder(const Plan& plan, const BlockSums& sums, std::int64_t limit)
    : sums_(sums),
      limit_(limit),
      recomputes_(plan.hasRecomputes()),
      groups_(stageGroups(plan)),
      stages_(static_cast<std::size_t>(plan.numStages)) {
  for (int rank = 0; rank < plan.numRanks(); ++rank) ranks_.emplace_back(plan, rank);
}

RecomputeFinder::Excess RecomputeFinder::excessOf(Task& task, const std::vector<int>& counts) {
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const int stage = task.group.stages[k];
    stages_[static_cast<std::size_t>(stage)] =
        sums_.stage(stage, task.first[k], task.blocks[k], counts[k]);
  }
  Excess excess;
  for (const int rank : task.group.ranks) {
    const std::int64_t peak = ranks_[static_cast<std::size_t>(rank)].peak(stages_);
    const std::int64_t over = std::max<std::int64_t>(peak - limit_, 0);
    excess.most = std::max(excess.most, over);
    excess.sum += over;
  }
  return excess;
}

/// All counts, the last stage's fastest: as soon as these are enough, more of them are no choice.
void RecomputeFinder::tryAll(Task& task, RecomputeChoices& found) {
  std::vector<int> counts(task.blocks.size(), 0);
  std::vector<int> best = counts;
  Excess least{.most = kNsMax, .sum = kNsMax};
  while (true) {
    const Excess excess = excessOf(task, counts);
    if (excess < least) {
      least = excess;
      best = counts;
    }
    if (excess.most == 0) {
      const bool isMore =
          std::any_of(found.counts.begin(), found.counts.end(),
                      [&](const std::vector<int>& other) { return isAtMost(other, counts); });
      if (!isMore) found.counts.push_back(counts);
      counts.back() = task.blocks.back();
    }
    std::size_t k = counts.size();
    while (k > 0 && counts[k - 1] == task.blocks[k - 1]) counts[--k] = 0;
    if (k == 0) break;
    ++counts[k - 1];
  }
  if (!found.counts.empty()) return;
  found.counts.push_back(best);
  found.excess = least.most;
  found.sumOfExcess = least.sum;
}

/// Where there are too many: run more blocks again where it frees most for its time.
void RecomputeFinder::goDown(Task& task, RecomputeChoices& found) {
  found.areAll = false;
  std::vector<int> counts(task.blocks.size(), 0);
  Excess excess = excessOf(task, counts);
  while (excess.most > 0) {
    double bestRate = 0;
    std::vector<int> best;
    Excess bestExcess;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      std::vector<int> more = counts;
      const Nanoseconds before = sums_.times(task.first[k], task.blocks[k], counts[k]).recompute;
      while (++more[k] <= task.blocks[k]) {
        const Excess left = excessOf(task, more);
        const Nanoseconds time =
            sums_.times(task.first[k], task.blocks[k], more[k]).recompute - before;
        const double rate =
            static_cast<double>(excess.sum - left.sum) / static_cast<double>(time + 1);
        if (rate <= bestRate) continue;
        bestRate = rate;
        best = more;
        bestExcess = left;
      }
    }
    if (best.empty()) break;
    counts = std::move(best);
    excess = bestExcess;
  }
  found.counts.push_back(std::move(counts));
  found.excess = excess.most;
  found.sumOfExcess = excess.sum;
}

RecomputeChoices RecomputeFinder::find(Task& task) {
  RecomputeChoices found;
  if (limit_ == 0 || !recomputes_) {
    found.counts.emplace_back(task.blocks.size(), 0);
    if (limit_ == 0) return found;
    const Excess excess = excessOf(task, found.counts.front());
    found.excess = excess.most;
    found.sumOfExcess = excess.sum;
    return found;
  }
  std::int64_t combinations = 1;
  for (const int blocks : task.blocks) {
    combinations = std::min(combinations, kMostTried) * (blocks + 1);
  }
  combinations > kMostTried ? goDown(task, found) : tryAll(task, found);
  const auto timeOf = [&](const std::vector<int>& counts) {
    Nanoseconds time = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      time += sums_.times(task.first[k], task.blocks[k], counts[k]).recompute;
    }
    return time;
  };
  std::stable_sort(found.counts.begin(), found.counts.end(),
                   [&](const auto& a, const auto& b) { return timeOf(a) < timeOf(b); });
  return found;
}

const RecomputeChoices& RecomputeFinder::of(std::size_t group, const std::vector<int>& firsts) {
  Task task{.group = groups_[group], .first = {}, .blocks = {}};
  std::vector<int> key{static_cast<int>(group)};
  for (const int stage : task.group.stages) {
    const auto s = static_cast<std::size_t>(stage);
    task.first.push_back(firsts[s]);
    task.blocks.push_back(firsts[s + 1] - firsts[s]);
    key.push_back(firsts[s]);
    key.push_back(firsts[s + 1]);
  }
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_.emplace(std::move(key), find(task)).first->second;
}

std::vector<std::int64_t> RecomputeFinder::peaks(const std::vector<StageCosts>& stages) const {
  std::vector<std::int64_t> peaks;
  for (const RankMemory& rank : ranks_) peaks.push_back(rank.peak(stages));
  return peaks;
}

}  // namespace pipetrace
