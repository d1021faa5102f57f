#include "schedule/partition/best_partition.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "schedule/build_schedule.h"
#include "schedule/partition/even_blocks.h"
#include "schedule/partition/every_partition.h"
#include "schedule/partition/partition_walk.h"
#include "schedule/simulate/dry_run.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Goes down from random partitions near the best.
void walkOn(PartitionModel& model, PartitionCandidate& best, std::int64_t budget) {
  std::mt19937 random(1);
  PartitionCandidate here = best;
  constexpr int kTries = 200;  // without anything better
  for (int tries = 0; tries < kTries && model.timed() < budget; ++tries) {
    PartitionCandidate next =
        walkDown(model, model.candidate(shaken(here.partition.blocks, random)), budget);
    if (next.score < here.score) here = std::move(next);
    if (!(here.score < best.score)) continue;
    best = here;
    tries = 0;
  }
}

FoundPartition simulated(const CheckedPlan& plan, const BlockTable& table,
                         PartitionCandidate from) {
  FoundPartition result{.partition = std::move(from.partition), .excess = from.score.excess};
  const DryRun run = dryRun(CheckedPlan(withRecompute(*plan, result.partition)),
                            costsOf(table, *plan, result.partition));
  result.step = run.length;
  for (const DryRun::Rank& rank : run.ranks) result.peakMemory.push_back(rank.peakMemory);
  return result;
}

}  // namespace

void requireSearchable(std::string_view schedule) {
  if (schedule.empty() || !scheduleInfo(schedule).dependsOnCosts) return;
  throw Error(std::string(scheduleInfo(schedule).name) +
              " is made for the costs of its stages, so it has no partition before it is planned; "
              "take another schedule");
}

void requireSearchable(const CheckedPlan& plan) {
  if (!plan->hasRecomputes()) return;
  throw Error("the plan " + plan->name +
              " says itself what runs again; a partition is searched for plans without "
              "recomputes");
}

BestPartition bestPartition(const CheckedPlan& plan, const BlockTable& table,
                            const PartitionSearchOptions& options) {
  requireSearchable(plan);
  if (options.memoryLimit > 0 && !table.hasMemory()) {
    throw Error("a limit needs to know what the blocks take: no block has activation_bytes");
  }
  const std::vector<int> even = evenBlocks(table.numBlocks(), plan->numStages);
  PartitionModel model(plan, table, options.memoryLimit, options.recomputes);
  const std::int64_t budget = options.budget;
  const PartitionCandidate evenly = model.candidate(even);
  PartitionCandidate best = walkDown(model, evenly, budget / 4);
  PartitionCandidate bounded =
      walkDown(model, model.candidate(leastBoundPartition(model)), budget / 2);
  if (bounded.score < best.score) best = std::move(bounded);
  BestPartition result;
  result.isProven = tryEveryPartition(model, best, budget * 3 / 4);
  if (!result.isProven) walkOn(model, best, budget);
  result.best = simulated(plan, table, std::move(best));
  result.even = simulated(plan, table, evenly);
  return result;
}

}  // namespace pipetrace
