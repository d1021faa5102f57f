// The part of RunModel that makes another plan of a run's jobs, and cuts the model into its stages.
#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/what_if/run_model.h"
#include "analysis/what_if/stage_changes.h"
#include "schedule/build_schedule.h"
#include "schedule/compare/split_costs.h"
#include "schedule/partition/measured_blocks.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"
#include "trace/text/fixed_text.h"

namespace pipetrace {
namespace {

// Five steps of as many take some seconds and 2 GB.
constexpr std::int64_t kMostJobsOfPlan = 1'000'000;

void requireSimulable(const std::string& schedule, const PlanSize& size) {
  const PlanSize settled = settledSize(schedule, size);
  const std::int64_t jobs = std::int64_t{3} * settled.ranks * settled.chunks * settled.microBatches;
  if (jobs <= kMostJobsOfPlan) return;
  throw Error("a step of " + std::to_string(settled.microBatches) + " micro-batches on " +
              std::to_string(settled.ranks) + " ranks has about " + std::to_string(jobs) +
              " jobs; a simulation has at most " + std::to_string(kMostJobsOfPlan));
}

}  // namespace

void RunModel::addBlocks(const RunBlocks& blocks) {
  try {
    const MeasuredBlocks measured(blocks.table, blocks.partition, costs_.stages);
    activationBytes_ = measured.bytesOfUnit() * kActivation;
    costs_.stages = blocks.stages(costs_.stages, plan_.numStages, {});
  } catch (const Error& error) {
    throw Error(std::string("--blocks: ") + error.what());
  }
  blocks_ = blocks;
  assumptions_.emplace_back(
      blocks.isMeasured ? "the blocks of a stage share its measured times as the table has them"
                        : "the blocks of a stage are taken to take equally long");
  if (!blocks.table.hasMemory()) {
    assumptions_.emplace_back(
        "all blocks are taken to hold equally much, as nothing says their activation_bytes");
  }
  if (!blocks.isMeasured) return;
  const auto hasSize = [](const BlockCosts& block) { return block.message > 0; };
  if (std::none_of(blocks.table.blocks.begin(), blocks.table.blocks.end(), hasSize)) {
    assumptions_.emplace_back(
        "the table has no message_bytes: a message takes as long as it did, wherever a stage ends");
  }
}

std::int64_t RunModel::memoryOf(double activations) const {
  constexpr double kMost = 1e9;  // so that it stays a number of units
  return std::llround((std::min(activations, kMost) + kLimitRounding) * kActivation);
}

BlockTable RunModel::measuredTable() const {
  Costs costs = costs_;
  takeSlownessFrom(costs);
  BlockTable table = MeasuredBlocks(blocks_->table, blocks_->partition, costs.stages).table();
  table.transfer = costs_.transfer;
  return table;
}

std::string RunModel::scheduleOf(const PlanChanges& changes) const {
  if (!changes.schedule.empty()) return changes.schedule;
  if (schedule_.empty()) {
    throw Error(
        "no schedule is known that has the order of the run; --schedule names the one to "
        "take");
  }
  // With several stages a rank, 1F1B has a name of its own.
  const ScheduleInfo& info = scheduleInfo(schedule_);
  if (info.becomesChunkedKin && changes.chunks > 1) return std::string(info.chunkedKin->name);
  return schedule_;
}

Plan RunModel::changedPlan(const PlanChanges& changes, const Costs& costs) const {
  const std::string name = scheduleOf(changes);
  const ScheduleInfo& info = scheduleInfo(name);
  if (info.isAsynchronous || info.isForwardOnly) {
    throw Error("--schedule " + name + ": " +
                (info.isAsynchronous ? "it is asynchronous, so none of its steps has an end of its "
                                       "own to compare with"
                                     : "it trains nothing"));
  }
  if (plan_.placement.hasSeveralRanks() && !plan_.isBidirectional()) {
    throw Error("stages of the run stand on several ranks; no other plan of these is simulated");
  }
  PlanSize size{plan_.numRanks(), plan_.numMicroBatches, changes.chunks};
  if (changes.microBatches > 0) size.microBatches = changes.microBatches;
  const bool isOwn = changes.schedule.empty();
  if (size.chunks == 0 && isOwn) size.chunks = chunks();
  requireSimulable(name, size);
  if (!changes.depths.empty()) {
    const StageMap map = stageMapOptions("", "", plan_.numRanks());
    return buildOnStageRanks(name, map.ranks, size.microBatches, changes.depths);
  }
  AutoInput input;
  if (info.dependsOnCosts) {
    const PlanSize settled = settledSize(name, size);
    input.costs = costs;
    input.costs.stages = stagesOf(costs.stages, settled.ranks * settled.chunks, changes);
    input.costs = withRecomputeInBackwards(input.costs);
    if (changes.activationLimit > 0) input.memoryLimit = memoryOf(changes.activationLimit);
  }
  try {
    return buildSchedule(name, size, input);
  } catch (const Error&) {
    const bool isTooLittle = changes.activationLimit > 0 && changes.activationLimit < 1;
    if (!isTooLittle) throw;
    throw Error("--limit-activations " + fixedText(changes.activationLimit, 2) + ": " + name +
                " needs room for 1, which is what a micro-batch takes on all stages of a rank");
  }
}

bool RunModel::splitsBackward(const PlanChanges& changes) const {
  const std::string& name = changes.schedule.empty() ? schedule_ : changes.schedule;
  return !name.empty() && scheduleInfo(name).splitsBackward;
}

/// Refuses what would change nothing.
void RunModel::requireEffect(const PlanChanges& changes) const {
  const bool hasLines = changes.lines.value_or(lines_) != CommStreams::kAsReached;
  if (!changes.transfers.empty() && !hasLines) {
    throw Error("--transfers " + changes.transfers +
                ": the messages of the run wait for no others, so their order changes nothing; "
                "--comm-streams puts them on lines");
  }
  if (changes.split && !splitsBackward(changes)) {
    throw Error("--split: " + scheduleOf(changes) + " does not split backwards");
  }
}

std::vector<std::string> RunModel::groundsOf(const PlanChanges& changes, const Plan& plan) const {
  std::vector<std::string> grounds;
  if (!changes.changesJobs()) return grounds;
  const bool hasHalves = std::any_of(
      costs_.stages.begin(), costs_.stages.end(),
      [](const auto& each) { return each.backwardInput > 0 || each.backwardWeight > 0; });
  if (splitsBackward(changes) && !hasHalves && !changes.split) {
    grounds.emplace_back(
        blocks_ && blocks_->isMeasured
            ? "the halves of a backward are as long as the table has them; --split says otherwise"
            : "both halves of a backward are taken to be equally long; --split says otherwise");
  }
  if (plan.numStages > static_cast<int>(costs_.stages.size()) && !blocks_) {
    grounds.emplace_back("stages are cut evenly into virtual stages");
  } else if (plan.numStages < static_cast<int>(costs_.stages.size())) {
    grounds.emplace_back("virtual stages that become one take as long as all of them together");
  }
  return grounds;
}

int RunModel::chunks() const { return std::max(1, plan_.chunksOfDirection()); }

std::vector<StageCosts> RunModel::stagesOf(const std::vector<StageCosts>& stages, int count,
                                           const PlanChanges& changes) const {
  if (!blocks_) {
    if (changes.partition) throw Error("--partition needs the blocks of the model, --blocks");
    return cutStages(stages, count);
  }
  try {
    return blocks_->stages(stages, count, changes.partition);
  } catch (const Error& error) {
    throw Error((changes.partition ? "--partition: " : "--blocks: ") + std::string(error.what()));
  }
}

void RunModel::splitBackwards(const PlanChanges& changes, Costs& costs) const {
  if (!changes.split && !changes.changesJobs()) return;
  for (std::size_t stage = 0; stage < costs.stages.size(); ++stage) {
    double share = blocks_ ? blocks_->inputShareOf(static_cast<int>(stage)) : 0.5;
    if (changes.split) {
      const auto input = static_cast<double>(changes.split->first);
      share = input / (input + static_cast<double>(changes.split->second));
    }
    splitBackward(costs.stages[stage], share, changes.split.has_value());
  }
}

/// The changed plan with its recomputes, and the costs of its stages in place of the run's.
Plan RunModel::plannedWith(const PlanChanges& changes, Costs& costs) const {
  if (!changes.changesJobs() && !changes.partition) return plan_;
  Plan plan = changes.changesJobs() ? changedPlan(changes, costs) : plain_;
  const std::vector<StageCosts> runs = costs.stages;
  costs.stages = stagesOf(runs, plan.numStages, changes);
  if (blocks_) scaleMessages(plan_, runs, plan, blocks_->table.bandwidth, costs);
  if (changes.keepsBatch) {
    const double size = static_cast<double>(plan_.numMicroBatches) / plan.numMicroBatches;
    for (StageCosts& stage : costs.stages) scaleMicroBatch(stage, size);
  }
  std::vector<bool> recomputes;
  for (const StageCosts& stage : costs.stages) recomputes.push_back(stage.recompute > 0);
  return withRecompute(plan, recomputes);
}

}  // namespace pipetrace
