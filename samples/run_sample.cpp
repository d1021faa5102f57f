#include "samples/run_sample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/run/costs/blocks_file.h"
#include "profiler/nccl/plugin.h"
#include "profiler/switches.h"
#include "runtime/device/rank_device.h"
#include "runtime/engine/auto_partition.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/say.h"
#include "runtime/engine/training_plan.h"
#include "samples/config/dry_run.h"
#include "samples/sample_task.h"
#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

/// Where to record; empty: not at all.
std::string logDirectoryOf(const SampleOptions& options) {
  const Switches switches = Switches::fromEnvironment();
  const bool isWanted = switches.isOn || (!switches.isOn.isDecided() && !options.logDir.empty());
  if (!options.visualizePipeline && !isWanted) return "";
  return options.logDir.empty() ? "logs" : options.logDir;
}

// Refuses a program that pipe-run or torchrun starts once per rank: each would train the whole
// pipeline, and all of them write the same logs.
void requireAlone() {
  const char* const worldSize = std::getenv("WORLD_SIZE");
  if (worldSize == nullptr || std::string_view(worldSize) == "1") return;
  throw Error("WORLD_SIZE is " + std::string(worldSize) +
              ", so a launcher has started this program several times, but --transport in-process "
              "runs all ranks in each of them; leave the option out, or start the program alone");
}

void requireDevicesToShare(const SampleOptions& options) {
  if (!options.shareDevices || options.device == "cuda") return;
  throw Error("--share-devices is for --device cuda; ranks on the CPU share its cores anyway");
}

/// NCCL moves messages between GPUs, and refuses two ranks on one.
void requireNcclOptions(const SampleOptions& options) {
  if (options.transport != SampleTransport::kNccl) {
    if (options.ncclCommunicators == "rank") return;
    throw Error("--nccl-communicators is for --transport nccl");
  }
  if (options.device != "cuda") throw Error("--transport nccl needs --device cuda");
  if (options.shareDevices) {
    throw Error("--transport nccl needs a GPU for each rank, without --share-devices");
  }
}

/// These must be the same on all ranks, as the strategy.
std::vector<std::pair<std::string, std::string>> factsOf(const SampleOptions& options,
                                                         const SampleTask& task) {
  const auto orUsual = [](const std::string& text, const char* usual) {
    return text.empty() ? usual : text;
  };
  return {{"model of", orUsual(task.sizes, "its only sizes")},
          {"number of steps", std::to_string(options.steps)},
          {"optimizer with", orUsual(task.optimizerText, "its usual options")}};
}

Nanoseconds nanoseconds(double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); }

EngineOptions engineOptions(const SampleOptions& options, const SampleTask& task,
                            StopSignal& stop) {
  EngineOptions engine{.seed = options.seed,
                       .learningRate = task.learningRate,
                       .facts = factsOf(options, task),
                       .device = options.device,
                       .sharesDevices = options.shareDevices,
                       .connectTimeout = nanoseconds(options.connectTimeout),
                       .linkTimeout = nanoseconds(options.linkTimeout),
                       .stepTimeout = nanoseconds(options.stepTimeout),
                       .silence = nanoseconds(options.silence),
                       .logDirectory = logDirectoryOf(options),
                       .isLogDirectoryFinal = true,
                       .inspectEvery = options.inspectEvery,
                       .inspectFolder = options.logDir,
                       .checkpoints = options.checkpoints,
                       .stop = &stop};
  if (options.transport != SampleTransport::kInProcess) engine.env = readProcessEnv();
  if (options.transport == SampleTransport::kNccl) {
    engine.nccl =
        options.ncclCommunicators == "lane" ? NcclCommunicators::kLane : NcclCommunicators::kRank;
  }
  return engine;
}

/// Tied parameters change together, which plans without a flush cannot do: each becomes one of its
/// own. Returns a line that says so; else "".
std::string withoutTies(Model& model, const Strategy& strategy) {
  if (model.ties.empty()) return "";
  const CheckedPlan plan = planOf(strategy);
  if (!plan->isAsynchronous()) return "";
  std::vector<std::string> names;
  for (const std::vector<BlockParameter>& tie : model.ties) {
    for (const BlockParameter& one : tie) {
      names.push_back(fmt::format("{} of block {}", one.parameter, one.block));
    }
  }
  model.ties.clear();
  return fmt::format(
      "the plan {} has no flush, in which tied parameters change together: {} are not tied",
      plan->name, fmt::join(names, " and "));
}

void printCost(const EngineCost& cost) {
  sayOnStdout(
      fmt::format("a step would take {:.1f} ms, bubble ratio {:.3f}; measured in one thread",
                  static_cast<double>(cost.step) / 1e6, cost.bubbleRatio));
  for (std::size_t rank = 0; rank < cost.peakBytes.size(); ++rank) {
    const auto bytes = static_cast<double>(cost.peakBytes[rank]);
    const bool isSmall = bytes < 1e6;
    sayOnStdout(fmt::format("rank {} would need {:.1f} {}", rank, bytes / (isSmall ? 1e3 : 1e6),
                            isSmall ? "kB" : "MB"));
  }
}

void printEvaluation(const Evaluation& evaluation) {
  sayOnStdout(fmt::format("loss {:.4f}, the mean over {} rows; {:.2f} s", evaluation.loss,
                          evaluation.rows, evaluation.seconds));
}

struct PreparedRun {
  Strategy strategy;
  SampleTask task;
  std::string note;
};

PreparedRun preparedRun(const SampleOptions& options, const std::function<SampleTask()>& makeTask) {
  requireNcclOptions(options);
  requireDevicesToShare(options);
  if (options.transport == SampleTransport::kInProcess) requireAlone();
  PreparedRun run{.strategy = strategyOf(options), .task = {}, .note = {}};
  // Before LibTorch's generators: they look once for the devices that there are. A plan needs none.
  if (!options.dryRun) openDevices(options.device);
  torch::manual_seed(options.seed);
  run.task = makeTask();
  run.note = withoutTies(run.task.model, run.strategy);
  requireNoInput(options);
  requirePartition(run.strategy, static_cast<int>(run.task.model.blocks.size()));
  if (options.dryRun) printPlan(options, run.strategy, run.task);
  return run;
}

}  // namespace

Strategy strategyOf(const SampleOptions& options) {
  Strategy strategy{
      .plan = options.plan,
      .partitionFile = options.partitionFile,
      .recomputeRatio = options.recomputeRatio,
      .precision = precisionOf(options.precision),
      .clipNorm = options.clipGradNorm,
      .stashUpdate = options.stashUpdate == "oldest" ? StashUpdate::kOldest : StashUpdate::kNewest,
      .overlaps = !options.noSendRecvOverlap};
  takeUsual(strategy.plan);
  if (options.lossScale.empty()) return strategy;
  try {
    strategy.lossScale = lossScaleIn(options.lossScale);
  } catch (const Error& error) {
    throw Error("--loss-scale " + options.lossScale + ": " + error.what());
  }
  return strategy;
}

std::vector<double> runSample(const SampleOptions& options,
                              const std::function<SampleTask()>& makeTask, StopSignal& stop) {
  PreparedRun run = withPlaces(options.places, [&] { return preparedRun(options, makeTask); });
  if (options.dryRun) return {};
  Strategy& strategy = run.strategy;
  SampleTask& task = run.task;
  EngineOptions engineOf = engineOptions(options, task, stop);
  const DataSet data = dataSetOfSteps(std::move(task.batch), options.steps, task.rows,
                                      options.plan.replicas.value_or(1));
  if (!options.autoPartition.empty()) {
    withPlaces(options.places, [&] {
      useBestPartition(task.model, task.optimizer, strategy, engineOf, data,
                       {.memoryLimit = static_cast<std::int64_t>(options.limitGb * 1e9),
                        .file = options.autoPartition,
                        .onMeasured = [&](const BlockTable& blocks) {
                          if (options.blocksOut.empty()) return;
                          writeWholeFile(options.blocksOut, toBlocksFile(blocks));
                        }});
    });
  }
  useStaticNcclPlugin();
  const auto made = withPlaces(options.places, [&] {
    return std::make_unique<Engine>(std::move(task.model), std::move(task.optimizer),
                                    std::vector<Metric>(), std::move(strategy),
                                    std::move(engineOf));
  });
  Engine& engine = *made;
  if (!run.note.empty() && engine.reports()) sayOnStderr("note: " + run.note);
  if (options.cost) {
    if (engine.reports()) printCost(engine.cost(data));
    return {};
  }
  if (options.forwardOnly) {
    const Evaluation evaluation = engine.evaluate(data);
    engine.finish();
    if (engine.reports()) printEvaluation(evaluation);
    return {};
  }
  FitResult result = engine.fit(data, {.logFreq = options.logEvery,
                                       .itemName = task.itemName,
                                       .itemsPerSample = task.itemsPerRow,
                                       .flopsPerSample = task.flopsPerRow,
                                       .peakFlops = options.peakFlops});
  engine.finish();
  if (!engine.reports()) return {};
  if (const std::string means = meansOf(result.losses); !means.empty()) sayOnStdout(means);
  return std::move(result.losses);
}

std::string meansOf(const std::vector<double>& losses) {
  std::vector<double> finite;
  std::copy_if(losses.begin(), losses.end(), std::back_inserter(finite),
               [](double loss) { return std::isfinite(loss); });
  const auto count = std::min<std::ptrdiff_t>(10, static_cast<std::ptrdiff_t>(finite.size() / 2));
  if (count == 0) return "";
  const double first = std::accumulate(finite.begin(), finite.begin() + count, 0.0);
  const double last = std::accumulate(finite.end() - count, finite.end(), 0.0);
  const auto steps = static_cast<double>(count);
  const std::string which = count == 1 ? "step" : fmt::format("{} steps", count);
  const std::string share = first > 0 ? fmt::format(" ({:.2f} of it)", last / first) : "";
  return fmt::format("mean loss of the first {0} {1:.4f}, of the last {0} {2:.4f}{3}", which,
                     first / steps, last / steps, share);
}

}  // namespace pipetrace
