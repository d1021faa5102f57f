#include "schedule/partition/block_sums.h"

#include <algorithm>
#include <utility>

#include "schedule/check/weight_versions.h"
#include "schedule/with_recompute.h"

namespace pipetrace {

namespace {

std::vector<std::int64_t> sumsOf(const BlockTable& table, std::int64_t BlockCosts::*cost) {
  std::vector<std::int64_t> sums{0};
  for (const BlockCosts& block : table.blocks) sums.push_back(sums.back() + block.*cost);
  return sums;
}

std::vector<int> versionsOf(const Plan& plan) {
  if (!plan.isAsynchronous()) return std::vector<int>(static_cast<std::size_t>(plan.numStages), 1);
  std::vector<int> versions;
  for (const WeightVersions::Stage& stage : weightVersions(plan).stages) {
    versions.push_back(std::max(stage.held, 1));
  }
  return versions;
}

}  // namespace

BlockSums::BlockSums(const BlockTable& table, const Plan& plan)
    : BlockSums(table, plan.stagesByRank(), plan.isAsynchronous(), versionsOf(plan)) {}

BlockSums::BlockSums(const BlockTable& table, int numStages)
    : BlockSums(table, {}, false, std::vector<int>(static_cast<std::size_t>(numStages), 1)) {}

BlockSums::BlockSums(const BlockTable& table, std::vector<std::vector<int>> stagesByRank,
                     bool isAsynchronous, std::vector<int> versions)
    : table_(table),
      stagesByRank_(std::move(stagesByRank)),
      isAsynchronous_(isAsynchronous),
      versions_(std::move(versions)),
      forward_(sumsOf(table, &BlockCosts::forward)),
      backward_(sumsOf(table, &BlockCosts::backward)),
      backwardInput_(sumsOf(table, &BlockCosts::backwardInput)),
      backwardWeight_(sumsOf(table, &BlockCosts::backwardWeight)),
      optimizer_(sumsOf(table, &BlockCosts::optimizer)),
      activation_(sumsOf(table, &BlockCosts::activation)),
      freedByInput_(sumsOf(table, &BlockCosts::freedByInput)),
      shared_(sumsOf(table, &BlockCosts::shared)),
      parameters_(sumsOf(table, &BlockCosts::parameters)),
      updating_(sumsOf(table, &BlockCosts::updating)) {}

StageCosts BlockSums::times(int first, int count, int recomputed) const {
  return {.forward = sum(forward_, first, count),
          .backward = sum(backward_, first, count),
          .backwardInput = sum(backwardInput_, first, count),
          .backwardWeight = sum(backwardWeight_, first, count),
          .recompute = sum(forward_, first + count - recomputed, recomputed)};
}

StageCosts BlockSums::stage(int stage, int first, int count, int recomputed) const {
  const int end = first + count;
  const std::int64_t versions = versions_[static_cast<std::size_t>(stage)];
  StageCosts costs = times(first, count, recomputed);
  costs.activation = sum(activation_, first, count) - shared(first, count);
  costs.freedByInput = sum(freedByInput_, first, count) - shared(first, count);
  const auto before = static_cast<std::size_t>(end - recomputed);
  if (recomputed > 0) {
    const std::int64_t kept = before == 0 ? 0 : table_.blocks[before - 1].message;
    costs.recomputed = std::max<std::int64_t>(0, sum(activation_, end - recomputed, recomputed) -
                                                     shared(end - recomputed, recomputed) - kept);
  }
  for (int block = first; block < end; ++block) {
    costs.working = std::max(costs.working, table_.blocks[static_cast<std::size_t>(block)].working);
  }
  // StageCosts::weights counts once for each version.
  costs.weights =
      sum(parameters_, first, count) + (sum(updating_, first, count) + versions - 1) / versions;
  costs.message = table_.blocks[static_cast<std::size_t>(end - 1)].message;
  costs.blocks = count;
  return costs;
}

Nanoseconds BlockSums::optimizer(int first, int count) const {
  return sum(optimizer_, first, count);
}

Nanoseconds BlockSums::optimizerOf(const std::vector<int>& blocks) const {
  std::vector<Nanoseconds> ofStage;
  int first = 0;
  for (const int count : blocks) {
    ofStage.push_back(optimizer(first, count));
    first += count;
  }
  Nanoseconds most = 0;
  for (const std::vector<int>& stages : stagesByRank_) {
    Nanoseconds ofRank = 0;
    for (const int stage : stages) {
      const Nanoseconds one = ofStage[static_cast<std::size_t>(stage)];
      ofRank = isAsynchronous_ ? std::max(ofRank, one) : ofRank + one;
    }
    most = std::max(most, ofRank);
  }
  return most;
}

Costs costsOf(const BlockTable& table, const Plan& plan, const BlockPartition& partition) {
  const BlockSums sums(table, plan);
  Costs costs{.transfer = table.transfer, .lr = table.lr, .bandwidth = table.bandwidth};
  int first = 0;
  for (int stage = 0; stage < plan.numStages; ++stage) {
    const int count = partition.blocks[static_cast<std::size_t>(stage)];
    costs.stages.push_back(sums.stage(stage, first, count, partition.recomputedOf(stage)));
    first += count;
  }
  costs.optimizer = sums.optimizerOf(partition.blocks);
  return costs;
}

Plan withRecompute(const Plan& plan, const BlockPartition& partition) {
  std::vector<bool> stages;
  for (const int count : partition.recomputed) stages.push_back(count > 0);
  return withRecompute(plan, stages);
}

}  // namespace pipetrace
