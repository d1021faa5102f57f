#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "analysis/advice/plan_advice.h"
#include "schedule/partition/best_partition.h"
#include "schedule/partition/even_blocks.h"
#include "schedule/partition/partition_file.h"
#include "schedule/partition/partition_text.h"
#include "trace/error.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// Jobs of a plan for which partitions are searched.
constexpr std::int64_t kMostCutJobs = 20'000;
/// Jobs that are timed in that search, and simulated to improve what it found.
constexpr std::int64_t kSearchBudget = 20'000'000;
constexpr std::int64_t kSimulatedJobs = 1'000'000;
constexpr std::int64_t kMostMoves = 1'000;

std::int64_t jobsOf(const Plan& plan) {
  std::int64_t jobs = 0;
  for (const auto& actions : plan.ranks) jobs += static_cast<std::int64_t>(actions.size());
  return std::max<std::int64_t>(jobs, 1);
}

}  // namespace

/// The search knows neither launches nor single links, so what it finds is a place to begin from.
BlockPartition PlanAdvisor::searchedPartition(double limit) const {
  const RunBlocks& blocks = *model_.blocks();
  const Plan& plan = model_.plainPlan();
  std::vector<std::vector<int>> begins = {blocks.partition.blocks};
  try {
    begins.push_back(evenBlocks(blocks.table.numBlocks(), plan.numStages));
    const PartitionSearchOptions options{
        .memoryLimit = model_.memoryOf(limit), .budget = kSearchBudget, .recomputes = false};
    const BestPartition found = bestPartition(CheckedPlan(plan), model_.measuredTable(), options);
    begins.push_back(found.best.partition.blocks);
  } catch (const Error&) {
    // Plans of too many stages, or of jobs that no search has: the others are left.
  }
  const auto tried = [&](const std::vector<int>& counts) {
    return simulated({.partition = BlockPartition{.blocks = counts, .recomputed = {}}});
  };
  std::vector<int> best;
  Simulated shortest;
  const auto take = [&](const std::vector<int>& counts, const Simulated& plan) {
    const bool isBetter = isWithin(plan, limit) && (best.empty() || plan.step < shortest.step);
    if (!isBetter) return false;
    best = counts;
    shortest = plan;
    return true;
  };
  for (const std::vector<int>& begin : begins) take(begin, tried(begin));
  std::int64_t left = std::clamp<std::int64_t>(kSimulatedJobs / jobsOf(plan), 0, kMostMoves);
  while (!best.empty()) {
    std::vector<std::vector<int>> next;
    for (std::size_t from = 0; from < best.size(); ++from) {
      for (std::size_t to = 0; to < best.size(); ++to) {
        if (from == to || best[from] < 2) continue;
        next.push_back(best);
        --next.back()[from];
        ++next.back()[to];
      }
    }
    left -= static_cast<std::int64_t>(next.size());
    if (left < 0) break;
    std::vector<Simulated> plans(next.size());
    inParallel(threads_, next.size(), [&](std::size_t i) { plans[i] = tried(next[i]); });
    bool isShorter = false;
    for (std::size_t i = 0; i < next.size(); ++i) isShorter = take(next[i], plans[i]) || isShorter;
    if (!isShorter) break;
  }
  return {.blocks = std::move(best), .recomputed = {}};
}

std::vector<PlanAdvisor::Try> PlanAdvisor::partitions(double limit) const {
  const int stages = model_.plan().numStages;
  if (!model_.blocks() || stages < 2 || jobsOf(model_.plainPlan()) > kMostCutJobs) return {};
  const RunBlocks& blocks = *model_.blocks();
  const std::vector<int>& run = blocks.partition.blocks;
  BlockPartition found = searchedPartition(limit);
  if (found.blocks.empty() || found.blocks == run) {
    found = searchedPartition(std::numeric_limits<double>::max());  // that is over the limit
  }
  if (found.blocks.empty() || found.blocks == run) return {};
  const std::string counts = blockCountsText(found.blocks);
  Try one;
  one.changes.partition = found;
  one.advice = {.of = Advice::Of::kPartition,
                .what = "cut the model into stages of " + counts + " blocks in place of " +
                        blockCountsText(run),
                .command = "--partition " + counts,
                .options = optionsOfPartition(found.blocks)};
  one.advice.notes.push_back("trainings on PipeTrace's engine take it with --partition " + counts);
  if (!blocks.isMeasured) {
    one.advice.notes.emplace_back(
        "the blocks of a stage are taken to take equally long; --blocks FILE says what they cost");
  }
  return {std::move(one)};
}

}  // namespace pipetrace
