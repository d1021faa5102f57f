#include "samples/run_sample.h"

#include <fmt/format.h>
#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/nccl/plugin.h"
#include "profiler/switches.h"
#include "runtime/device/open_device.h"
#include "runtime/engine/say.h"
#include "runtime/engine/training_plan.h"
#include "runtime/session/session.h"
#include "runtime/train/empty_halves.h"
#include "runtime/train/torch_work.h"
#include "samples/inspected_training.h"
#include "samples/loss_report.h"
#include "samples/sample_strategy.h"
#include "samples/sample_task.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

/// The ranks of this process share it. It is only read once the first of them has started.
struct Run {
  const SampleOptions& options;
  const Strategy strategy;
  const CheckedPlan plan;
  const SampleTask task;
  const Partition partition;
  const StopSignal& stop;
  LossReport& report;  // written by the one rank that has the last stage
};

/// Where to record; empty: not at all.
std::string logDirectoryOf(const SampleOptions& options, const Switches& switches) {
  const bool isWanted = switches.isOn || (!switches.isOn.isDecided() && !options.logDir.empty());
  if (!options.visualizePipeline && !isWanted) return "";
  return options.folderOfLogs();
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

std::unique_ptr<TorchWork> makeWork(const Run& run, int rank, RankDevice* device) {
  return std::make_unique<TorchWork>(
      TorchWorkOptions{.model = run.task.model,
                       .partition = run.partition,
                       .numMicroBatches = run.plan->microBatchesOfReplica(),
                       .replica = run.plan->replicaOf(rank),
                       .seed = run.options.seed,
                       .optimizer = run.task.optimizer,
                       .learningRate = run.task.learningRate,
                       .precision = run.strategy.precision,
                       .lossScale = lossScaleOf(run.strategy),
                       .clipNorm = run.strategy.clipNorm,
                       .stashUpdate = run.strategy.stashUpdate,
                       .reportsLoss = run.plan->lastRankOf(0) == rank,
                       .batch = run.task.batch,
                       .device = device,
                       .steps = run.options.steps},
      run.plan->stagesOfRank(rank));
}

/// A step that was left out may have any loss.
void requireFinite(double loss, int step, const StepAgreement& agreement) {
  if (std::isfinite(loss) || agreement.leftOutStep()) return;
  throw Error("the loss of step " + std::to_string(step) +
              " is no finite number; training has failed, a smaller learning rate may help");
}

/// For the line of a step; "" where the optimizer took it.
std::string textOfOverflow(const StepAgreement& agreement) {
  if (!agreement.leftOutStep()) return "";
  const LossScale& scale = agreement.lossScale();
  return fmt::format(", left out: a gradient is no finite number; the loss scale is {}{:g}",
                     scale.isDynamic() ? "now " : "", scale.value());
}

void note(const std::string& text) {
  if (!text.empty()) sayOnStderr("note: " + text);
}

void trainRank(const Run& run, SessionRank& rank) {
  TorchWork& work = rank.keep(makeWork(run, rank.rank(), rank.device()));
  InspectedTraining& inspected = rank.keep(
      std::make_unique<InspectedTraining>(run.options, work, rank.rank(), run.plan->numRanks()));
  const int program = rank.add(run.plan, inspected.work());
  for (int step = 0; step < run.options.steps; ++step) {
    if (run.stop.received() != 0) throw Error("stopped before step " + std::to_string(step));
    const auto begin = std::chrono::steady_clock::now();
    rank.runStep(program, step);
    inspected.stepEnded();
    if (step == 0) note(noteOfEmptyHalves(run.plan, work.emptyHalves()));
    if (const auto loss = work.loss()) {
      requireFinite(*loss, step, work.agreement());
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      run.report.add(step, *loss, seconds.count(), textOfOverflow(work.agreement()));
    }
  }
}

/// These must be the same on all ranks.
RunFacts factsOf(const Run& run) {
  RunFacts facts = factsOf({run.plan, run.partition, {}}, run.strategy, run.options.seed);
  const auto orUsual = [](const std::string& text, const char* usual) {
    return text.empty() ? usual : text;
  };
  facts.emplace_back("model of", orUsual(run.task.sizes, "its only sizes"));
  facts.emplace_back("number of steps", std::to_string(run.options.steps));
  facts.emplace_back("optimizer with", orUsual(run.task.optimizerText, "its usual options"));
  return facts;
}

Nanoseconds nanoseconds(double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); }

SessionOptions sessionOptions(const Run& run, const std::optional<ProcessEnv>& env,
                              c10::DeviceType device) {
  const SampleOptions& options = run.options;
  const Switches switches = Switches::fromEnvironment();
  SessionOptions session{.plan = run.plan,
                         .env = env,
                         .facts = factsOf(run),
                         .connectTimeout = nanoseconds(options.connectTimeout),
                         .linkTimeout = nanoseconds(options.linkTimeout),
                         .stepTimeout = nanoseconds(options.stepTimeout),
                         .silence = nanoseconds(options.silence),
                         .overlaps = run.strategy.overlaps,
                         .device = device,
                         .sharesDevices = options.shareDevices,
                         .logDirectory = logDirectoryOf(options, switches),
                         .recordedSteps = switches.steps,
                         .say = sayOnStderr};
  if (options.transport == SampleTransport::kNccl) {
    session.nccl =
        options.ncclCommunicators == "lane" ? NcclCommunicators::kLane : NcclCommunicators::kRank;
  }
  return session;
}

}  // namespace

std::vector<double> runSample(const SampleOptions& options,
                              const std::function<SampleTask()>& makeTask, StopSignal& stop) {
  requireNcclOptions(options);
  requireDevicesToShare(options);
  // Before LibTorch's generators: they look once for the devices that there are.
  const c10::DeviceType device = openDevices(options.device);
  std::optional<ProcessEnv> env;
  if (options.transport == SampleTransport::kInProcess) {
    requireAlone();
  } else {
    env = readProcessEnv();
  }
  Strategy strategy = strategyOf(options);
  const CheckedPlan whole = planOf(strategy);
  if (env) requireWorldSize(*whole, env->worldSize);
  requireFits(strategy, *whole);
  torch::manual_seed(options.seed);
  SampleTask task = makeTask();
  const bool isInLine =
      options.transport == SampleTransport::kNccl && options.ncclCommunicators == "rank";
  TrainingPlan training =
      trainingPlanOf(strategy, static_cast<int>(task.model.blocks.size()), isInLine);
  if (!env || env->rank == 0) {
    for (const std::string& each : training.notes) note(each);
  }
  LossReport report(task.itemsPerStep * whole->replicas, task.itemName);
  const Run run{.options = options,
                .strategy = std::move(strategy),
                .plan = std::move(training.plan),
                .task = std::move(task),
                .partition = std::move(training.partition),
                .stop = stop,
                .report = report};
  useStaticNcclPlugin();
  Session session(sessionOptions(run, env, device));
  const StopCallback onStop(
      &stop, [&](const std::string& why) { session.stop(why); }, StopCallback::Later::kNothing);
  session.run([&](SessionRank& rank) { trainRank(run, rank); });
  session.finish();
  report.close();
  return report.losses();
}

}  // namespace pipetrace
