#include "samples/sample_plan.h"

#include <fmt/format.h>

#include <vector>

#include "schedule/build_schedule.h"
#include "schedule/file/schedule_reader.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {

CheckedPlan samplePlan(const SampleOptions& options) {
  if (!options.scheduleFile.empty()) return readScheduleFile(options.scheduleFile);
  return buildSchedule(options.schedule,
                       PlanSize{options.stages, options.microBatches, options.chunks});
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

void requireWorldSize(const Plan& plan, int worldSize) {
  if (worldSize == plan.numRanks()) return;
  throw Error(
      fmt::format("WORLD_SIZE is {}, but the plan {} is for {} ranks; start {} "
                  "processes, or say --stages {}",
                  worldSize, plan.name, plan.numRanks(), plan.numRanks(), worldSize));
}

}  // namespace pipetrace
