#include "samples/config/print_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <string>

#include "runtime/engine/say.h"
#include "runtime/engine/training_plan.h"
#include "samples/sample_task.h"
#include "schedule/file/schedule_writer.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostOfRow = 160;  // letters
constexpr int kMostRows = 64;

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

void requirePartition(const SampleOptions& options, const Strategy& strategy, int blocks) {
  if (strategy.partitionFile.empty()) return;
  const int stages = planOf(strategy)->numStages;
  try {
    partitionOf(strategy, blocks, stages);
  } catch (const Error& error) {
    if (options.partitionPlace.empty()) throw;
    throw Error(options.partitionPlace + ": partition: " + error.what());
  }
}

void printPlan(const SampleOptions& options, const Strategy& strategy, const SampleTask& task) {
  const bool isInLine =
      options.transport == SampleTransport::kNccl && options.ncclCommunicators == "rank";
  const TrainingPlan training =
      trainingPlanOf(strategy, static_cast<int>(task.model.blocks.size()), isInLine);
  const Plan& plan = *training.plan;
  requireFits(strategy, plan);
  const char* const rows = task.rows == 1 ? "row" : "rows";
  sayOnStdout(fmt::format("plan {}: {} ranks, {} micro-batches a step, {} steps of {} {}",
                          plan.name, plan.numRanks(), plan.numMicroBatches, options.steps,
                          task.rows * options.replicas, rows));
  printStages(training);
  printRows(plan);
  for (const std::string& note : training.notes) sayOnStderr("note: " + note);
}

}  // namespace pipetrace
