#include "samples/sample_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/executor.h"
#include "runtime/program/rank_program.h"
#include "schedule/backward_parts.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_reader.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

Plan builtPlan(const SampleOptions& options) {
  if (options.stageRanks.empty() && options.stageDepths.empty()) {
    return buildSchedule(options.schedule,
                         PlanSize{options.stages, options.microBatches, options.chunks});
  }
  const StageMap map = stageMapOptions(options.stageRanks, options.stageDepths, options.stages);
  return buildOnStageRanks(options.schedule, map.ranks, options.microBatches, map.depths);
}

}  // namespace

CheckedPlan samplePlan(const SampleOptions& options) {
  Plan plan =
      options.scheduleFile.empty() ? builtPlan(options) : readScheduleFile(options.scheduleFile);
  return CheckedPlan(withReplicas(std::move(plan), options.replicas));
}

int lastBackwardPartsOf(const SampleOptions& options, std::string& note) {
  constexpr const char* kFlag = "FLAGS_1f1b_backward_forward_overlap";
  const char* const flag = std::getenv(kFlag);
  const std::string_view value = flag == nullptr ? "" : flag;
  const bool isSet = value == "1" || value == "true" || value == "True";
  if (!isSet || options.lastBackwardParts > 1) return options.lastBackwardParts;
  const bool isFile = !options.scheduleFile.empty();
  const std::string name =
      isFile ? options.scheduleFile : std::string(scheduleInfo(options.schedule).name);
  if (isFile || name != "1F1B") {
    note = fmt::format(
        "{}=1 has no effect with {}; --last-backward-parts 2 cuts its last backwards", kFlag, name);
    return 1;
  }
  note = fmt::format(
      "{}=1 is --last-backward-parts 2 here: the gradients of a stage's last backward are reduced "
      "under its second part. PaddlePaddle cuts each backward that a forward follows, for the "
      "collectives of tensor parallelism, which is not there",
      kFlag);
  return 2;
}

CheckedPlan withGradientsCut(const CheckedPlan& plan, const SampleOptions& options, int parts,
                             const Partition& partition) {
  Plan cut = *plan;
  if (parts > 1) {
    std::vector<int> ofStage;
    for (const int blocks : partition.blocks) ofStage.push_back(std::clamp(blocks, 1, parts));
    cut = withLastBackwardParts(std::move(cut), ofStage);
  }
  if (options.buckets > 1) cut = withReductions(std::move(cut), options.buckets);
  return CheckedPlan(std::move(cut));
}

Partition samplePartition(const SampleOptions& options, const Model& model, int numStages) {
  const auto blocks = static_cast<int>(model.blocks.size());
  if (options.partitionFile.empty()) return evenPartition(blocks, numStages);
  Partition partition = readPartition(options.partitionFile);
  try {
    requireFits(partition, blocks, numStages);
  } catch (const Error& e) {
    throw Error(options.partitionFile + ": " + e.what());
  }
  return partition;
}

CheckedPlan withRecomputes(CheckedPlan plan, const Partition& partition) {
  if (plan->hasRecomputes() || plan->isForwardOnly()) return plan;
  std::vector<bool> stages;
  for (int stage = 0; stage < partition.numStages(); ++stage) {
    stages.push_back(partition.recomputed(stage) > 0);
  }
  return CheckedPlan(withRecompute(*plan, stages));
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

void requireWorldSize(const Plan& plan, int worldSize) {
  if (worldSize == plan.numRanks()) return;
  if (plan.replicas > 1 || plan.placement.hasSeveralRanks()) {
    throw Error(fmt::format(
        "WORLD_SIZE is {}, but the plan {} is for {} ranks{}; start {} processes", worldSize,
        plan.name, plan.numRanks(),
        plan.replicas > 1 ? fmt::format(" in {} replicas", plan.replicas) : "", plan.numRanks()));
  }
  throw Error(
      fmt::format("WORLD_SIZE is {}, but the plan {} is for {} ranks; start {} "
                  "processes, or say --stages {}",
                  worldSize, plan.name, plan.numRanks(), plan.numRanks(), worldSize));
}

}  // namespace pipetrace
