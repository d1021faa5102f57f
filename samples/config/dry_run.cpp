#include "samples/config/dry_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "runtime/engine/auto_partition.h"
#include "runtime/engine/data_set.h"
#include "runtime/engine/rank_checkpoints.h"
#include "runtime/engine/say.h"
#include "runtime/starting_ranks/process_env.h"
#include "runtime/train/model/model_cut.h"
#include "samples/sample_task.h"
#include "schedule/file/schedule_file.h"
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

constexpr std::size_t kMostOfRow = 160;  // letters
constexpr int kMostRows = 64;

/// "1 step", "2 micro-batches".
std::string counted(std::int64_t number, const std::string& what) {
  if (number == 1) return "1 " + what;
  return fmt::format("{} {}{}", number, what, what.ends_with("ch") ? "es" : "s");
}

std::string ranksText(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

void printStages(const TrainingPlan& training) {
  const Plan& plan = *training.plan;
  int first = 0;
  for (int stage = 0; stage < plan.numStages; ++stage) {
    const int count = training.partition.blocks[static_cast<std::size_t>(stage)];
    const int again = training.partition.recomputed(stage);
    const std::string blocks = count == 1
                                   ? fmt::format("block {}", first)
                                   : fmt::format("blocks {} to {}", first, first + count - 1);
    sayOnStdout(fmt::format("  stage {} on {}: {}{}", stage, ranksText(plan.ranksOf(stage)), blocks,
                            again == 0       ? ""
                            : again == count ? ", recomputed"
                                             : fmt::format(", the last {} recomputed", again)));
    first += count;
  }
}

void printRows(const Plan& plan) {
  std::istringstream rows(rowsText(plan.ranks));
  std::string row;
  for (int rank = 0; rank < kMostRows && std::getline(rows, row); ++rank) {
    if (row.size() > kMostOfRow) row = row.substr(0, row.rfind(',', kMostOfRow) + 1) + "...";
    sayOnStdout(fmt::format("  rank {}: {}", rank, row));
  }
  if (plan.numRanks() > kMostRows) {
    sayOnStdout(fmt::format("  and {} more", plan.numRanks() - kMostRows));
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

void printPlan(const SampleOptions& options, const Strategy& strategy, const SampleTask& task) {
  const bool isInLine =
      options.transport == SampleTransport::kNccl && options.ncclCommunicators == "rank";
  const TrainingPlan training =
      trainingPlanOf(strategy, static_cast<int>(task.model.blocks.size()), isInLine);
  const Plan& plan = *training.plan;
  requireRuns(options, strategy, training, task);
  sayOnStdout(
      fmt::format("plan {}: {}, {} a step, {} of {}", plan.name, counted(plan.numRanks(), "rank"),
                  counted(plan.numMicroBatches, "micro-batch"), counted(options.steps, "step"),
                  counted(task.rows * options.plan.replicas.value_or(1), "row")));
  printStages(training);
  printRows(plan);
  for (const std::string& note : training.notes) sayOnStderr("note: " + note);
  if (!options.autoPartition.empty()) {
    sayOnStderr(
        "note: this partition is the even one; --auto-partition finds another by measuring, when "
        "the run begins");
  }
}

}  // namespace pipetrace
