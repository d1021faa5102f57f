#include "schedule/partition/partition_model.h"

#include <algorithm>
#include <utility>

#include "schedule/with_recompute.h"

namespace pipetrace {
namespace {

CheckedPlan withAllRecomputes(const CheckedPlan& plan) {
  return withRecompute(*plan, std::vector<bool>(static_cast<std::size_t>(plan->numStages), true));
}

}  // namespace

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
