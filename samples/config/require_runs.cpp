#include "samples/config/require_runs.h"

#include <cstdlib>

#include "runtime/engine/best_partition.h"
#include "runtime/engine/data_set.h"
#include "runtime/engine/rank_checkpoints.h"
#include "runtime/starting_ranks/process_env.h"
#include "runtime/train/model/model_cut.h"
#include "samples/sample_task.h"
#include "trace/files/output_file.h"
#include "trace/files/output_names.h"

namespace pipetrace {
namespace {

void requireRows(const SampleOptions& options, const Plan& plan, const SampleTask& task) {
  const DataSet data =
      dataSetOfSteps(task.batch, options.steps, task.rows, options.plan.replicas.value_or(1));
  if (options.forwardOnly) {
    DataSteps::ofEvaluation(data, plan.replicas);
  } else {
    DataSteps::ofTraining(data, plan.replicas, plan.microBatchesOfReplica());
  }
}

}  // namespace

void requirePartition(const Strategy& strategy, int blocks) {
  if (strategy.partitionFile.empty()) return;
  const int stages = planOf(strategy)->numStages;
  aboutOption({"--partition"}, [&] { return partitionOf(strategy, blocks, stages); });
}

void requireNoInput(const SampleOptions& options) {
  if (options.blocksOut.empty()) return;
  aboutOption({"--blocks-out"}, [&] {
    refuseInput(options.blocksOut, {options.configFile, options.plan.scheduleFile,
                                    options.partitionFile, options.autoPartition});
  });
}

void requireRuns(const SampleOptions& options, const Strategy& strategy,
                 const TrainingPlan& training, const SampleTask& task) {
  const Plan& plan = *training.plan;
  cutModel(task.model, training.partition, plan.numStages);
  requireFits(strategy, plan);
  if (std::getenv("WORLD_SIZE") != nullptr && options.transport != SampleTransport::kInProcess) {
    requireWorldSize(plan, readProcessEnv().worldSize);
  }
  if (!options.autoPartition.empty()) {
    aboutOption({"--auto-partition"}, [&] {
      requireMeasurable(strategy, options.device, static_cast<int>(task.model.blocks.size()),
                        {.file = options.autoPartition});
    });
  }
  if (!options.blocksOut.empty()) {
    aboutOption({"--blocks-out"}, [&] {
      const OutputFile tried(options.blocksOut);  // throws where it cannot be made; makes none
    });
  }
  aboutOption({"--batch", "--micro-batches"}, [&] { requireRows(options, plan, task); });
  // With `gathers` the folder may be on another host.
  if (options.cost || options.checkpoints.gathers) return;
  aboutOption({"--resume", "--checkpoint"},
              [&] { requireFirstCheckpoint(options.checkpoints, task.model); });
}

}  // namespace pipetrace
