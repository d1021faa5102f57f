#include "schedule/partition/partition_model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "schedule/check/held_memory.h"
#include "schedule/check/weight_versions.h"
#include "schedule/with_recompute.h"

namespace pipetrace {
namespace {

/// Combinations of a group's counts that are looked at one by one.
constexpr std::int64_t kMostTried = 20'000;
/// Partitions whose choices are kept.
constexpr std::size_t kMostKnown = 200'000;

bool isAtMost(const std::vector<int>& a, const std::vector<int>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
}

CheckedPlan withAllRecomputes(const CheckedPlan& plan) {
  return withRecompute(*plan, std::vector<bool>(static_cast<std::size_t>(plan->numStages), true));
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

RankMemory::Parts RankMemory::partsOf(const StageCosts& stage) {
  return {stage.activation, stage.activation - stage.freedByInput, stage.recomputed, stage.working};
}

StageCosts RankMemory::unitOf(std::size_t part) {
  switch (part) {
    case 0: return {.activation = 1, .freedByInput = 1};
    case 1: return {.activation = 0, .freedByInput = -1};
    case 2: return {.activation = 0, .recomputed = 1};
    default: return {.activation = 0, .working = 1};
  }
}

RankMemory::RankMemory(const Plan& plan, int rank) : stages_(plan.stagesOfRank(rank)) {
  const HeldFor heldFor = whatActivationsAreHeldFor(plan);
  const WeightVersions versions = weightVersions(plan);
  const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
  std::vector<Times> found(actions.size(), Times(stages_.size() * kParts));
  Costs one = Costs::equal(plan.numStages, {.activation = 0});
  for (std::size_t k = 0; k < stages_.size(); ++k) {
    const auto stage = static_cast<std::size_t>(stages_[k]);
    versions_.push_back(versions.stages[stage].held);
    for (std::size_t part = 0; part < kParts; ++part) {
      one.stages[stage] = unitOf(part);
      HeldMemory held(plan, heldFor, one, 0, rank);
      for (std::size_t i = 0; i < actions.size(); ++i) {
        held.begin(actions[i]);
        found[i][k * kParts + part] = held.memory();
        held.end(actions[i]);
      }
    }
    one.stages[stage] = {.activation = 0};
  }
  // No part is negative, so a sum in which none counts more often than in another is not larger.
  const auto isAtMost = [](const Times& a, const Times& b) {
    return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
  };
  for (const Times& sum : std::set<Times>(found.begin(), found.end())) {
    if (std::any_of(sums_.begin(), sums_.end(), [&](const Times& b) { return isAtMost(sum, b); })) {
      continue;
    }
    std::erase_if(sums_, [&](const Times& a) { return isAtMost(a, sum); });
    sums_.push_back(sum);
  }
}

std::int64_t RankMemory::peak(const std::vector<StageCosts>& stages) const {
  std::int64_t weights = 0;
  for (std::size_t k = 0; k < stages_.size(); ++k) {
    weights += versions_[k] * stages[static_cast<std::size_t>(stages_[k])].weights;
  }
  std::int64_t most = 0;
  for (const Times& times : sums_) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < stages_.size(); ++k) {
      const Parts parts = partsOf(stages[static_cast<std::size_t>(stages_[k])]);
      for (std::size_t part = 0; part < kParts; ++part) {
        sum += times[k * kParts + part] * parts[part];
      }
    }
    most = std::max(most, sum);
  }
  return weights + most;
}

std::vector<StageGroup> stageGroups(const Plan& plan) {
  const std::vector<std::vector<int>> byRank = plan.stagesByRank();
  // By stage: the first stage of its group that is known so far.
  std::vector<int> group(static_cast<std::size_t>(plan.numStages));
  for (int stage = 0; stage < plan.numStages; ++stage) {
    group[static_cast<std::size_t>(stage)] = stage;
  }
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (const std::vector<int>& stages : byRank) {
      int first = plan.numStages;
      for (const int stage : stages)
        first = std::min(first, group[static_cast<std::size_t>(stage)]);
      for (const int stage : stages) {
        int& of = group[static_cast<std::size_t>(stage)];
        hasChanged = hasChanged || of != first;
        of = first;
      }
    }
  }
  std::vector<StageGroup> groups(static_cast<std::size_t>(plan.numStages));
  for (int stage = 0; stage < plan.numStages; ++stage) {
    groups[static_cast<std::size_t>(group[static_cast<std::size_t>(stage)])].stages.push_back(
        stage);
  }
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const std::vector<int>& stages = byRank[static_cast<std::size_t>(rank)];
    if (stages.empty()) continue;
    const int first = group[static_cast<std::size_t>(stages.front())];
    groups[static_cast<std::size_t>(first)].ranks.push_back(rank);
  }
  std::erase_if(groups, [](const StageGroup& each) { return each.stages.empty(); });
  return groups;
}

// A recompute that takes no time and frees nothing changes nothing, so one plan does for all.
PartitionModel::PartitionModel(const CheckedPlan& plan, const BlockTable& table, std::int64_t limit,
                               bool recomputes)
    : plan_(recomputes ? withAllRecomputes(plan) : plan),
      table_(table),
      sums_(table, *plan_),
      recomputes_(*plan_, sums_, limit),
      free_(plan_->ranks.size()) {
  costs_ = {.stages = std::vector<StageCosts>(static_cast<std::size_t>(plan_->numStages)),
            .transfer = table.transfer,
            .lr = table.lr,
            .bandwidth = table.bandwidth};
  for (int stage = 0; stage < plan_->numStages; ++stage) {
    const auto ranks = static_cast<std::int64_t>(plan_->ranksOf(stage).size());
    microBatches_.push_back((plan_->numMicroBatches + ranks - 1) / ranks);
  }
  for (const auto& actions : plan_->ranks) {
    for (const Action& action : actions) {
      hasWhole_ = hasWhole_ || action.kind == JobKind::kBackward ||
                  action.kind == JobKind::kForwardBackward;
      hasHalves_ = hasHalves_ || action.kind == JobKind::kBackwardInput;
    }
  }
  forwardsBefore_.push_back(0);
  backwardsBefore_.push_back(0);
  for (int block = 0; block < table.numBlocks(); ++block) {
    const StageCosts alone = sums_.times(block, 1, 0);
    forwardsBefore_.push_back(forwardsBefore_.back() + alone.forward);
    backwardsBefore_.push_back(backwardsBefore_.back() + leastInput(alone));
  }
}

Nanoseconds PartitionModel::leastBackward(const StageCosts& stage) const {
  const Nanoseconds halves = stage.backwardInput + stage.backwardWeight;
  if (hasWhole_ && hasHalves_) return std::min(stage.backward, halves);
  return hasWhole_ ? stage.backward : hasHalves_ ? halves : 0;
}

Nanoseconds PartitionModel::leastInput(const StageCosts& stage) const {
  if (hasWhole_ && hasHalves_) return std::min(stage.backward, stage.backwardInput);
  return hasWhole_ ? stage.backward : hasHalves_ ? stage.backwardInput : 0;
}

Nanoseconds PartitionModel::work(int stage, int first, int count, int recomputed) const {
  const StageCosts costs = sums_.times(first, count, recomputed);
  const Nanoseconds recompute = plan_->hasRecomputes() ? costs.recompute : 0;
  return microBatches_[static_cast<std::size_t>(stage)] *
         (costs.forward + recompute + leastBackward(costs));
}

Nanoseconds PartitionModel::forwardsBefore(int first) const {
  return forwardsBefore_[static_cast<std::size_t>(first)];
}

Nanoseconds PartitionModel::bound(int stage, int first, int count, int recomputed) const {
  const StageCosts costs = sums_.times(first, count, recomputed);
  const std::int64_t microBatches = microBatches_[static_cast<std::size_t>(stage)];
  const Nanoseconds each = costs.forward + costs.recompute;
  const Nanoseconds after = backwardsBefore_[static_cast<std::size_t>(first)];
  return forwardsBefore(first) + std::max(microBatches * (each + leastBackward(costs)),
                                          microBatches * (each + leastInput(costs)) + after);
}

double PartitionModel::unevenness(const BlockPartition& partition) const {
  double squares = 0;
  int first = 0;
  for (int stage = 0; stage < numStages(); ++stage) {
    const int count = partition.blocks[static_cast<std::size_t>(stage)];
    const auto own = static_cast<double>(work(stage, first, count, partition.recomputedOf(stage)));
    squares += own * own;
    first += count;
  }
  return squares;
}

void PartitionModel::setUp(const BlockPartition& partition) {
  int first = 0;
  for (int stage = 0; stage < numStages(); ++stage) {
    const auto s = static_cast<std::size_t>(stage);
    costs_.stages[s] =
        sums_.stage(stage, first, partition.blocks[s], partition.recomputedOf(stage));
    first += partition.blocks[s];
  }
  costs_.optimizer = sums_.optimizerOf(partition.blocks);
}

/// The length of the candidate that is set up. It is timed as a step so late that nothing of
/// earlier ones is left on links, and their messages are acknowledged.
Nanoseconds PartitionModel::length() {
  if (!timing_ || begin_ > kNsMax / 4) {
    timing_.emplace(plan_, costs_);
    begin_ = 0;
  }
  if (timing_->network().carried().empty()) begin_ = 0;
  std::fill(free_.begin(), free_.end(), begin_ + timing_->lr());
  timing_->run(free_);
  timed_ += timing_->actionCount();
  const Nanoseconds end = *std::max_element(free_.begin(), free_.end());
  const Nanoseconds length = end - begin_ + timing_->optimizerAtEnd();
  begin_ = end + costs_.transfer + 1;
  return length;
}

PartitionCandidate PartitionModel::candidate(std::vector<int> blocks) {
  std::vector<int> firsts{0};
  for (const int count : blocks) firsts.push_back(firsts.back() + count);
  BlockPartition partition{.blocks = std::move(blocks), .recomputed = {}};
  partition.recomputed.assign(partition.blocks.size(), 0);
  std::int64_t excess = 0;
  double excesses = 0;
  for (std::size_t group = 0; group < recomputes_.groups().size(); ++group) {
    const RecomputeChoices& choices = recomputes_.of(group, firsts);
    const std::vector<int>& stages = recomputes_.groups()[group].stages;
    for (std::size_t k = 0; k < stages.size(); ++k) {
      partition.recomputed[static_cast<std::size_t>(stages[k])] = choices.counts.front()[k];
    }
    excess = std::max(excess, choices.excess);
    excesses += static_cast<double>(choices.sumOfExcess);
  }
  if (excess == 0) return candidate(std::move(partition));
  return {.partition = std::move(partition), .score = {.excess = excess, .unevenness = excesses}};
}

PartitionCandidate PartitionModel::candidate(BlockPartition partition) {
  setUp(partition);
  PartitionScore score{.length = length(), .unevenness = unevenness(partition)};
  for (const StageCosts& stage : costs_.stages) score.recompute += stage.recompute;
  return {.partition = std::move(partition), .score = score};
}

}  // namespace pipetrace
