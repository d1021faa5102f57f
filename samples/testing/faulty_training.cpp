// Trains a small model, and goes wrong as PIPETRACE_FAULT says: "KIND RANK STEP [SECONDS [CALL]]".
// Where PIPETRACE_FAULT_MARK names a file, the file appears when it does.
//
//   block-batch: the function that makes a batch never returns.
//
//   block-and-die: the same, and all other ranks die while they make the batch before.
//
//   limit-memory: the process gets no more memory, and messages of the MLP get long.
//
// The others happen in a stage's own code, when the rank's blocks have run CALL times in the step.
// Each ends with -forward or -backward:
//
//   sleep: a block takes SECONDS longer.
//
//   throw: a block throws.
//
//   allocate: the process gets no more memory, and a block needs some.
//
//   close: the process closes its stdout and stderr.
//
//   kill: the process dies of SIGKILL.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/engine/engine_main.h"
#include "runtime/engine/training_plan.h"
#include "samples/char_transformer/char_task.h"
#include "samples/config/config_command_line.h"
#include "samples/gpipe_mlp/mlp_task.h"
#include "samples/run_sample.h"
#include "samples/sample_command_line.h"
#include "samples/sample_task.h"
#include "samples/testing/faulty_batch.h"
#include "samples/testing/faulty_blocks.h"
#include "samples/testing/layers_task.h"
#include "samples/testing/planned_fault.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

struct FaultyOptions {
  SampleOptions sample{.plan = {.schedule = "GPipe"}, .steps = 200};
  std::string model = "mlp";
  LayersOptions layers;
  double paceMs = 0;
  std::string losses;  // a file
};

SampleTask makeUsualTask(const FaultyOptions& options) {
  if (options.model == "mlp") return makeMlpTask();
  if (options.model == "layers") return makeLayersTask(options.layers);
  constexpr std::int64_t kContext = 16;
  CharTaskOptions task;
  task.model = {.context = kContext,
                .width = options.layers.width,
                .heads = 2,
                .layers = options.layers.layers};
  task.rows = options.layers.rows;
  task.seed = options.layers.seed;
  return makeCharTask(task);
}

/// The blocks of the model that are on a rank.
std::vector<int> blocksOfRank(const SampleOptions& options, const Model& model, int rank) {
  const Strategy strategy = strategyOf(options);
  const CheckedPlan plan = planOf(strategy);
  if (rank < 0 || rank >= plan->numRanks()) {
    throw Error("PIPETRACE_FAULT names rank " + std::to_string(rank) + " of " +
                std::to_string(plan->numRanks()));
  }
  const Partition partition =
      partitionOf(strategy, static_cast<int>(model.blocks.size()), plan->numStages);
  const std::vector<int> own = plan->stagesOfRank(rank);
  std::vector<int> blocks;
  int block = 0;
  for (int stage = 0; stage < plan->numStages; ++stage) {
    const bool isOwn = std::find(own.begin(), own.end(), stage) != own.end();
    for (int i = 0; i < partition.blocks[static_cast<std::size_t>(stage)]; ++i, ++block) {
      if (isOwn) blocks.push_back(block);
    }
  }
  return blocks;
}

SampleTask makeFaultyTask(const FaultyOptions& options) {
  const PlannedFault fault = plannedFault();
  SampleTask task = makeUsualTask(options);
  task.batch = faultyBatches(fault, task.batch, options.paceMs / 1e3);
  if (!fault.kind.empty()) {
    plantFault(task, fault, blocksOfRank(options.sample, task.model, fault.rank));
  }
  return task;
}

/// All bits of the losses, one a line.
void writeLosses(const std::string& path, const std::vector<double>& losses) {
  if (path.empty() || losses.empty()) return;
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw Error("cannot write " + path);
  for (const double loss : losses) std::fprintf(file, "%a\n", loss);
  std::fclose(file);
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::FaultyOptions options;
  CLI::App app("Trains a small model, and goes wrong as PIPETRACE_FAULT says");
  pipetrace::addPipelineOptions(app, options.sample);
  app.add_option("--model", options.model, "mlp is the GPipe exercise")
      ->check(CLI::IsMember({"mlp", "layers", "transformer"}));
  app.add_option("--layers", options.layers.layers, "of the other models");
  app.add_option("--width", options.layers.width, "of their layers");
  app.add_option("--rows", options.layers.rows, "of their batches");
  app.add_option("--pace-ms", options.paceMs, "a batch takes that much longer to make");
  app.add_option("--losses", options.losses, "write the losses into this file at the end");
  if (const auto code = pipetrace::parseWithConfig(app, argc, argv, options.sample)) return *code;
  options.layers.seed = options.sample.seed;
  return pipetrace::engineMain([&](pipetrace::StopSignal& stop) {
    const auto losses = pipetrace::runSample(
        options.sample, [&] { return pipetrace::makeFaultyTask(options); }, stop);
    pipetrace::writeLosses(options.losses, losses);
  });
}
