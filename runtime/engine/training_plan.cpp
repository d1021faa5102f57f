#include "runtime/engine/training_plan.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include "runtime/executor.h"
#include "runtime/program/rank_program.h"
#include "schedule/backward_parts.h"
#include "schedule/build_schedule.h"
#include "schedule/builders/schedules.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/fingerprint.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The plan with a recompute before the backwards of stages that recompute some of their blocks. A
/// forward-only plan, and one that has recomputes itself, stay as they are.
CheckedPlan withRecomputes(CheckedPlan plan, const Partition& partition) {
  if (plan->hasRecomputes() || plan->isForwardOnly()) return plan;
  std::vector<bool> stages;
  for (int stage = 0; stage < partition.numStages(); ++stage) {
    stages.push_back(partition.recomputed(stage) > 0);
  }
  return CheckedPlan(withRecompute(*plan, stages));
}

template <typename Number>
std::string listOf(const std::vector<Number>& numbers) {
  std::ostringstream text;
  for (std::size_t i = 0; i < numbers.size(); ++i) text << (i == 0 ? "" : ", ") << numbers[i];
  return text.str();
}

std::string partitionText(const Partition& partition) {
  const std::string text = listOf(partition.blocks) + " blocks";
  if (partition.recomputeRatio.empty()) return text;
  return text + ", recomputed " + listOf(partition.recomputeRatio);
}

}  // namespace

CheckedPlan planOf(const Strategy& strategy) {
  const ScheduleOptions& options = strategy.plan;
  Plan plan =
      options.scheduleFile.empty() ? options.build() : readScheduleFile(options.scheduleFile);
  options.change(plan);
  return CheckedPlan(std::move(plan));
}

void requireFits(const Strategy& strategy, const Plan& plan) {
  if (strategy.stashUpdate == StashUpdate::kOldest && !plan.isAsynchronous()) {
    throw Error(
        "--stash-update oldest is for plans that change weights without a flush, as PipeDream "
        "does; " +
        plan.name + " has one version of them");
  }
  requireFits(lossScaleOf(strategy), plan);
  if (strategy.clipNorm > 0) requireAgrees(plan, "--clip-grad-norm");
}

void requireWorldSize(const Plan& plan, int worldSize) {
  const int ranks = plan.numRanks();
  if (worldSize == ranks) return;
  std::string text = "WORLD_SIZE is " + std::to_string(worldSize) + ", but the plan " + plan.name +
                     " is for " + std::to_string(ranks) + " ranks";
  if (plan.replicas > 1) text += " in " + std::to_string(plan.replicas) + " replicas";
  text += "; start " + std::to_string(ranks) + " processes";
  const bool isPlain = plan.replicas == 1 && !plan.placement.hasSeveralRanks();
  throw Error(text + (isPlain ? ", or say --stages " + std::to_string(worldSize) : ""));
}

Partition partitionOf(const Strategy& strategy, int blocks, int numStages) {
  const std::string& file = strategy.partitionFile;
  Partition partition = file.empty() ? strategy.partition : partitionOption(file);
  const bool isEven = partition.blocks.empty();
  if (isEven) partition.blocks = evenPartition(blocks, numStages).blocks;
  if (strategy.recomputeRatio > 0 && partition.recomputeRatio.empty()) {
    partition.recomputeRatio.assign(partition.blocks.size(), strategy.recomputeRatio);
  }
  if (isEven) return partition;
  try {
    requireFits(partition, blocks, numStages);
  } catch (const Error& e) {
    throw Error((file.empty() || isPartitionText(file) ? "" : file + ": ") + e.what());
  }
  return partition;
}

int lastBackwardPartsOf(const Strategy& strategy, std::string& note) {
  constexpr const char* kFlag = "FLAGS_1f1b_backward_forward_overlap";
  const char* const flag = std::getenv(kFlag);
  const std::string_view value = flag == nullptr ? "" : flag;
  const bool isSet = value == "1" || value == "true" || value == "True";
  const ScheduleOptions& options = strategy.plan;
  const int parts = options.lastBackwardParts.value_or(1);
  if (!isSet || parts > 1) return parts;
  const bool isFile = !options.scheduleFile.empty();
  const std::string name =
      isFile ? options.scheduleFile : std::string(scheduleInfo(options.scheduleName()).name);
  if (isFile || name != schedules::kOneFOneB.name) {
    note = std::string(kFlag) + "=1 has no effect with " + name +
           "; --last-backward-parts 2 cuts its last backwards";
    return 1;
  }
  note = std::string(kFlag) +
         "=1 is --last-backward-parts 2 here: the gradients of a stage's last backward are reduced "
         "under its second part. PaddlePaddle cuts each backward that a forward follows, for the "
         "collectives of tensor parallelism, which is not there";
  return 2;
}

CheckedPlan withGradientsCut(const CheckedPlan& plan, const Strategy& strategy, int parts,
                             const Partition& partition) {
  Plan cut = *plan;
  if (parts > 1) {
    std::vector<int> ofStage;
    for (const int blocks : partition.blocks) ofStage.push_back(std::clamp(blocks, 1, parts));
    cut = withLastBackwardParts(std::move(cut), ofStage);
  }
  const int buckets = strategy.plan.buckets.value_or(1);
  if (buckets > 1) cut = withReductions(std::move(cut), buckets);
  return CheckedPlan(std::move(cut));
}

CheckedPlan withMessagesInLine(CheckedPlan plan, std::string& note) {
  const CheckedPlan full = fullPlan(plan, ExecutorOptions{}.ahead);
  if (checkLimits(full, {.commStreams = CommStreams::kRank}).empty()) return plan;
  constexpr Nanoseconds kUnit = 1000;
  Costs costs = Costs::equal(plan->numStages, {.forward = kUnit,
                                               .backward = 2 * kUnit,
                                               .backwardInput = kUnit,
                                               .backwardWeight = kUnit,
                                               .recompute = kUnit});
  costs.transfer = kUnit / 10;
  note =
      "the messages of " + plan->name +
      " would deadlock where they run one after the other, as NCCL's do; they run in the order of "
      "their times, with all stages alike";
  return CheckedPlan(withMessagesInTime(plan, costs));
}

TrainingPlan trainingPlanOf(const Strategy& strategy, int blocks, bool inLine) {
  CheckedPlan plan = planOf(strategy);
  TrainingPlan training{
      .plan = plan, .partition = partitionOf(strategy, blocks, plan->numStages), .notes = {}};
  std::string note;
  const int parts = lastBackwardPartsOf(strategy, note);
  const auto keepNote = [&] {
    if (!note.empty()) training.notes.push_back(std::exchange(note, ""));
  };
  keepNote();
  plan = withGradientsCut(plan, strategy, parts, training.partition);
  plan = withRecomputes(std::move(plan), training.partition);
  if (inLine) plan = withMessagesInLine(std::move(plan), note);
  keepNote();
  if (strategy.plan.buckets.value_or(1) > 1 && plan->replicas == 1 &&
      !plan->placement.hasSeveralRanks()) {
    training.notes.push_back("no stage is on several ranks, so --buckets changes nothing");
  }
  training.plan = std::move(plan);
  return training;
}

std::vector<std::pair<std::string, std::string>> factsOf(const TrainingPlan& training,
                                                         const Strategy& strategy,
                                                         std::uint64_t seed) {
  const Plan& plan = *training.plan;
  const LossScale scale = lossScaleOf(strategy);
  const bool isOldest = strategy.stashUpdate == StashUpdate::kOldest;
  return {{"plan", plan.name + " of " + std::to_string(plan.numRanks()) + " ranks and " +
                       std::to_string(plan.numMicroBatches) + " micro-batches, fingerprint " +
                       fingerprintText(fingerprint(plan))},
          {"partition of the model into", partitionText(training.partition)},
          {"seed", std::to_string(seed)},
          {"--buckets", std::to_string(strategy.plan.buckets.value_or(1))},
          {"--precision", nameOf(strategy.precision)},
          {"--loss-scale", scale.isDynamic() ? "dynamic" : listOf<double>({scale.value()})},
          {"--clip-grad-norm", listOf<double>({strategy.clipNorm})},
          {"--stash-update", isOldest ? "oldest" : "newest"}};
}

CheckedPlan forwardsOf(const CheckedPlan& plan, int microBatches) {
  Plan part = forwardPart(*plan);
  const int before = part.microBatchesOfReplica();
  if (microBatches < 1 || microBatches > before) {
    throw Error("the plan " + plan->name + " has " + std::to_string(before) +
                " micro-batches in a replica, so " + std::to_string(microBatches) +
                " of them cannot be evaluated");
  }
  for (std::vector<Action>& actions : part.ranks) {
    std::erase_if(actions, [&](const Action& action) {
      return action.microBatch >= 0 && action.microBatch % before >= microBatches;
    });
    for (Action& action : actions) {
      if (action.microBatch < 0) continue;
      action.microBatch = action.microBatch / before * microBatches + action.microBatch % before;
    }
  }
  part.numMicroBatches = microBatches * part.replicas;
  return CheckedPlan(std::move(part));
}

}  // namespace pipetrace
