#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "analysis/advice/plan_advice.h"
#include "schedule/build_schedule.h"
#include "schedule/partition/best_partition.h"
#include "schedule/partition/measured_blocks.h"
#include "schedule/partition/partition_file.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
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

/// The names of the model's blocks; empty: there is no table that has them.
std::vector<std::string> namesOf(const RunBlocks& blocks) {
  std::vector<std::string> names;
  if (!blocks.isMeasured) return names;
  for (const BlockCosts& block : blocks.table.blocks) names.push_back(block.name);
  return names;
}

}  // namespace

/// `begins` are partitions. From the best of them, blocks are moved one at a time as long as the
/// step becomes shorter. The result has no blocks where none of them is within the limit.
PlanAdvisor::Partitioned PlanAdvisor::improved(const std::vector<std::vector<int>>& begins,
                                               const PlanChanges& changes, double limit) const {
  const auto tried = [&](const std::vector<int>& counts) {
    PlanChanges with = changes;
    with.partition = BlockPartition{.blocks = counts, .recomputed = {}};
    return simulated(with);
  };
  Partitioned best;
  const auto take = [&](const std::vector<int>& counts, const Simulated& plan) {
    const bool isBetter =
        isWithin(plan, limit) && (best.blocks.empty() || plan.step < best.plan.step);
    if (isBetter) best = {counts, plan};
    return isBetter;
  };
  for (const std::vector<int>& begin : begins) take(begin, tried(begin));
  if (best.blocks.empty()) return best;
  const std::int64_t jobs =
      changes.changesJobs() ? jobsOf(model_.run(changes).order) : jobsOf(model_.plainPlan());
  std::int64_t left = std::clamp<std::int64_t>(kSimulatedJobs / jobs, 0, kMostMoves);
  for (bool isShorter = true; isShorter;) {
    std::vector<std::vector<int>> next;
    for (std::size_t from = 0; from < best.blocks.size(); ++from) {
      for (std::size_t to = 0; to < best.blocks.size(); ++to) {
        if (from == to || best.blocks[from] < 2) continue;
        next.push_back(best.blocks);
        --next.back()[from];
        ++next.back()[to];
      }
    }
    left -= static_cast<std::int64_t>(next.size());
    if (left < 0) break;
    std::vector<Simulated> plans(next.size());
    inParallel(threads_, next.size(), [&](std::size_t i) { plans[i] = tried(next[i]); });
    isShorter = false;
    for (std::size_t i = 0; i < next.size(); ++i) isShorter = take(next[i], plans[i]) || isShorter;
  }
  return best;
}

/// The search knows neither launches nor single links, so what it finds is a place to begin from.
std::vector<int> PlanAdvisor::searchedPartition(double limit) const {
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
  return improved(begins, {}, limit).blocks;
}

std::vector<PlanAdvisor::Try> PlanAdvisor::partitions(double limit) const {
  const int stages = model_.plan().numStages;
  if (!model_.blocks() || stages < 2 || jobsOf(model_.plainPlan()) > kMostCutJobs) return {};
  const RunBlocks& blocks = *model_.blocks();
  const std::vector<int>& run = blocks.partition.blocks;
  std::vector<Try> tries;
  const auto add = [&](const std::vector<int>& found) {
    if (found.empty() || found == run) return;
    const std::string counts = blockCountsText(found);
    Try one;
    one.changes.partition = BlockPartition{.blocks = found, .recomputed = {}};
    one.advice = {.of = Advice::Of::kPartition,
                  .what = "cut the model into stages of " + counts + " blocks in place of " +
                          blockCountsText(run),
                  .command = "--partition " + counts,
                  .options = optionsOfPartition(found, namesOf(blocks))};
    one.advice.notes.push_back("trainings on PipeTrace's engine take it with --partition " +
                               counts);
    if (!blocks.isMeasured) {
      one.advice.notes.emplace_back(
          "the blocks of a stage are taken to take equally long; --blocks FILE says what they "
          "cost");
    }
    tries.push_back(std::move(one));
  };
  const std::vector<int> best = searchedPartition(std::numeric_limits<double>::max());
  add(best);
  const PlanChanges ofBest{.partition = BlockPartition{.blocks = best, .recomputed = {}}};
  if (!isWithin(simulated(ofBest), limit)) add(searchedPartition(limit));
  return tries;
}

/// The schedule `auto` makes another plan for each partition, which takes too long.
void PlanAdvisor::addPartitionOfBest(double limit, std::vector<Try>& tries) const {
  if (!model_.blocks()) return;
  Try* shown = nullptr;  // the shortest
  Try* best = nullptr;   // the shortest but auto
  const auto take = [](Try& one, Try*& to) {
    if (to == nullptr || one.simulated.step < to->simulated.step) to = &one;
  };
  for (Try& one : tries) {
    if (one.advice.of != Advice::Of::kSchedule || !isWithin(one.simulated, limit)) continue;
    take(one, shown);
    if (!scheduleInfo(one.changes.schedule).dependsOnCosts) take(one, best);
  }
  if (best == nullptr || shown->simulated.step >= own_.step) return;
  const Plan plan = model_.run(best->changes).order;
  if (jobsOf(plan) > kMostCutJobs || plan.numStages < 2) return;
  const RunBlocks& blocks = *model_.blocks();
  const Partitioned found = improved({cutBlocks(blocks.partition, plan.numStages).blocks,
                                      evenBlocks(blocks.table.numBlocks(), plan.numStages)},
                                     best->changes, limit);
  if (found.blocks.empty()) return;
  const double gain =
      1 - static_cast<double>(found.plan.step) / static_cast<double>(shown->simulated.step);
  if (gain <= AdviceList::kLeastGain) return;
  const std::string counts = blockCountsText(found.blocks);
  shown->advice.notes.push_back((shown == best ? "" : best->changes.schedule + " ") +
                                "with stages of " + counts + " blocks as well: the step takes " +
                                formatDuration(predicted(found.plan)) + ", " +
                                fixedText(100 * gainOf(found.plan), 1) + " % less (" +
                                best->advice.command + " --partition " + counts + ")");
}

}  // namespace pipetrace
