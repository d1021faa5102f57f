#include "samples/run_sample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/utils.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "profiler/nccl/plugin.h"
#include "profiler/switches.h"
#include "runtime/device/open_device.h"
#include "runtime/device/rank_device.h"
#include "runtime/executor.h"
#include "runtime/program/plan_words.h"
#include "runtime/record/rank_info_of.h"
#include "runtime/record/rank_recording.h"
#include "runtime/report_failure.h"
#include "runtime/train/empty_halves.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/in_process.h"
#include "samples/inspected_training.h"
#include "samples/log_losses.h"
#include "samples/loss_report.h"
#include "samples/open_logs.h"
#include "samples/over_nccl.h"
#include "samples/sample_plan.h"
#include "samples/sample_precision.h"
#include "samples/sample_task.h"
#include "samples/say.h"
#include "schedule/fingerprint.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

/// Has the first signal end the run for all ranks, while this lives. From then on it changes
/// nothing: the run has ended, and its ranks have yet to close what they opened and to say why.
class StopsRun {
 public:
  StopsRun(StopSignal& stop, std::function<void(const std::string& why)> callback) : stop_(stop) {
    stop_.onStop(std::move(callback));
  }
  ~StopsRun() {
    stop_.onStop([](const std::string&) {});
  }
  StopsRun(const StopsRun&) = delete;
  StopsRun& operator=(const StopsRun&) = delete;

 private:
  StopSignal& stop_;
};

// The state that the ranks of this process share; only read once the first of them has started.
struct Run {
  const SampleOptions& options;
  const CheckedPlan plan;
  const SampleTask task;
  const Partition partition;
  const LossScale lossScale;
  const StopSignal& stop;
  LossReport& report;  // written by the one rank that has the last stage
  const std::optional<ProcessEnv> env;
  const c10::DeviceType device;
  const std::string logDirectory;  // empty: nothing is recorded
  const StepRange steps;
  OpenLogs& logs;
  LogLosses& losses;
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

TorchWork makeWork(const Run& run, int rank, RankDevice* device) {
  return TorchWork({.model = run.task.model,
                    .partition = run.partition,
                    .numMicroBatches = run.plan->microBatchesOfReplica(),
                    .replica = run.plan->replicaOf(rank),
                    .seed = run.options.seed,
                    .optimizer = run.task.optimizer,
                    .learningRate = run.task.learningRate,
                    .precision = precisionOf(run.options.precision),
                    .lossScale = run.lossScale,
                    .clipNorm = run.options.clipGradNorm,
                    .stashUpdate = run.options.stashUpdate == "oldest" ? StashUpdate::kOldest
                                                                       : StashUpdate::kNewest,
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

void trainSteps(const Run& run, Transport& transport, ControlChannel& control,
                RecordedStreams streams, RankDevice* device) {
  TorchWork work = makeWork(run, transport.rank(), device);
  InspectedTraining inspected(run.options, work, transport.rank(), transport.worldSize());
  Executor executor(run.plan, inspected.work(), transport, streams, {.control = &control});
  for (int step = 0; step < run.options.steps; ++step) {
    if (run.stop.received() != 0) throw Error("stopped before step " + std::to_string(step));
    const auto begin = std::chrono::steady_clock::now();
    executor.runStep(step);
    inspected.stepEnded();
    if (step == 0) note(noteOfEmptyHalves(run.plan, work.emptyHalves()));
    if (const auto loss = work.loss()) {
      requireFinite(*loss, step, work.agreement());
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      run.report.add(step, *loss, seconds.count(), textOfOverflow(work.agreement()));
    }
  }
  executor.finish();
}

/// `nccl`: null, if messages go through `host` alone.
void recordAndTrain(const Run& run, Transport& host, ControlChannel& control,
                    std::optional<RunClock> clock, const NcclRank* nccl) {
  // Ranks share the machine's cores; and with one thread the bits do not depend on their number.
  torch::set_num_threads(1);
  std::optional<RankDevice> ownDevice;
  if (run.device != c10::kCPU) {
    ownDevice.emplace(deviceOfRank(run.device, run.env ? run.env->localRank : host.rank(),
                                   run.options.shareDevices),
                      usualJobsAhead(*run.plan));
  }
  RankDevice* const device = ownDevice ? &*ownDevice : nullptr;
  std::optional<RankOverNccl> line;
  if (nccl != nullptr) line.emplace(*nccl, *device, *run.plan);
  Transport& transport = line ? line->transport() : host;
  if (run.logDirectory.empty()) {
    trainSteps(run, transport, control, {}, device);
    return;
  }
  RankRecording recording({.logDirectory = run.logDirectory,
                           .info = rankInfoOf(*run.plan, transport.rank()),
                           .steps = run.steps,
                           .isProcess = run.env.has_value(),
                           .device = device,
                           .hasLine = transport.commStreams() == CommStreams::kRank,
                           .clock = std::move(clock)});
  // When training throws, the destructor closes the log; an error of its own must not replace what
  // went wrong.
  {
    const OpenLog open(run.logs, *recording.streams().recorder);
    trainSteps(run, transport, control, recording.streams(), device);
  }
  try {
    recording.close();
  } catch (const LogLost& lost) {
    run.losses.add(lost.loss());
  }
}

/// Throws Error with what ended the run, on whichever rank that was.
void trainRank(const Run& run, Transport& transport, ControlChannel& control,
               std::optional<RunClock> clock = std::nullopt, const NcclRank* nccl = nullptr) {
  try {
    recordAndTrain(run, transport, control, std::move(clock), nccl);
  } catch (...) {
    reportFailure(control);
  }
}

ControlOptions controlOptions(const Run& run) {
  ControlOptions options;
  options.limits.stall.stepTimeout = static_cast<Nanoseconds>(run.options.stepTimeout * 1e9);
  if (run.options.silence > 0) {
    options.limits.silence = static_cast<Nanoseconds>(run.options.silence * 1e9);
  }
  if (run.options.stepTimeout == 0) options.limits.silence = 0;  // somebody debugs a rank
  options.words = wordsOf(run.plan, ExecutorOptions{}.ahead,
                          workFlowOf(cutModel(run.task.model, run.partition, run.plan->numStages)));
  options.beforeExit = [&logs = run.logs](const std::string& text) {
    sayOnStderr("error: " + text);
    logs.flush();
  };
  return options;
}

std::string partitionText(const Partition& partition) {
  std::string text = fmt::format("{} blocks", fmt::join(partition.blocks, ", "));
  if (partition.recomputeRatio.empty()) return text;
  return text + fmt::format(", recomputed {}", fmt::join(partition.recomputeRatio, ", "));
}

/// These must be the same on all ranks.
RunFacts factsOf(const Run& run) {
  return {{"plan", fmt::format("{} of {} ranks and {} micro-batches, fingerprint {}",
                               run.plan->name, run.plan->numRanks(), run.plan->numMicroBatches,
                               fingerprintText(fingerprint(*run.plan)))},
          {"partition of the model into", partitionText(run.partition)},
          {"model of", run.task.sizes.empty() ? "its only sizes" : run.task.sizes},
          {"seed", std::to_string(run.options.seed)},
          {"number of steps", std::to_string(run.options.steps)},
          {"optimizer with",
           run.task.optimizerText.empty() ? "its usual options" : run.task.optimizerText},
          {"--buckets", std::to_string(run.options.buckets)},
          {"--precision", run.options.precision},
          {"--loss-scale", run.options.lossScale},
          {"--clip-grad-norm", fmt::format("{}", run.options.clipGradNorm)},
          {"--stash-update", run.options.stashUpdate}};
}

void trainInThreads(const Run& run, StopSignal& stop) {
  const int ranks = run.plan->numRanks();
  InProcessHub hub(ranks);
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<Transport*> pointers;
  for (int rank = 0; rank < ranks; ++rank) {
    pointers.push_back(transports.emplace_back(hub.connect(rank)).get());
  }
  const auto controls = controlInProcess(controlOptions(run), pointers);
  const StopsRun onStop(stop, [&](const std::string& why) { controls[0]->stop(why); });
  // The first to fail is the one to report; the others fail because of it.
  std::mutex mutex;
  std::exception_ptr firstError;
  std::vector<std::thread> threads;
  for (Transport* transport : pointers) {
    threads.emplace_back([&, transport] {
      try {
        trainRank(run, *transport, *controls[static_cast<std::size_t>(transport->rank())]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!firstError) firstError = std::current_exception();
        transport->abort("it ended early");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (firstError) std::rethrow_exception(firstError);
}

void trainOverGloo(const Run& run, const ProcessEnv& env, StopSignal& stop) {
  const auto nanoseconds = [](double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); };
  NcclPlace line;
  ControlOptions control = controlOptions(run);
  control.onFailure = [&line](const FailureCause&, const std::string& text) { line.abort(text); };
  GlooRun connected = connectGlooRun({.env = env,
                                      .connectTimeout = nanoseconds(run.options.connectTimeout),
                                      .linkTimeout = nanoseconds(run.options.linkTimeout),
                                      .overlaps = !run.options.noSendRecvOverlap},
                                     std::move(control), factsOf(run));
  const StopsRun onStop(stop, [&](const std::string& why) { connected.control->stop(why); });
  const NcclRank nccl{.run = connected,
                      .env = env,
                      .place = line,
                      .communicators = run.options.ncclCommunicators == "lane"
                                           ? NcclCommunicators::kLane
                                           : NcclCommunicators::kRank,
                      .connectTimeout = nanoseconds(run.options.connectTimeout)};
  trainRank(run, *connected.transport, *connected.control, std::move(connected.clock),
            run.options.transport == SampleTransport::kNccl ? &nccl : nullptr);
}

}  // namespace

std::vector<double> runSample(const SampleOptions& options,
                              const std::function<SampleTask()>& makeTask, StopSignal& stop) {
  const bool isNccl = options.transport == SampleTransport::kNccl;
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
  CheckedPlan plan = samplePlan(options);
  if (env) requireWorldSize(*plan, env->worldSize);
  if (options.stashUpdate != "newest" && !plan->isAsynchronous()) {
    throw Error("--stash-update " + options.stashUpdate +
                " is for plans that change weights without a flush, as PipeDream does; " +
                plan->name + " has one version of them");
  }
  const LossScale lossScale = sampleLossScale(options);
  requireFits(lossScale, *plan);
  if (options.clipGradNorm > 0) requireAgrees(*plan, "--clip-grad-norm");
  torch::manual_seed(options.seed);
  SampleTask task = makeTask();
  Partition partition = samplePartition(options, task.model, plan->numStages);
  std::string flagNote;
  const int parts = lastBackwardPartsOf(options, flagNote);
  if (!env || env->rank == 0) note(flagNote);
  plan = withGradientsCut(plan, options, parts, partition);
  plan = withRecomputes(std::move(plan), partition);
  std::string order;
  const bool isInLine = isNccl && options.ncclCommunicators == "rank";
  if (isInLine) plan = withMessagesInLine(std::move(plan), order);
  if (isInLine && env->rank == 0) note(order);
  if (options.buckets > 1 && plan->replicas == 1 && !plan->placement.hasSeveralRanks()) {
    if (!env || env->rank == 0) note("no stage is on several ranks, so --buckets changes nothing");
  }
  LossReport report(task.itemsPerStep * plan->replicas, task.itemName);
  OpenLogs logs;
  LogLosses losses;
  const Switches switches = Switches::fromEnvironment();
  const Run run{options,         std::move(plan),
                std::move(task), std::move(partition),
                lossScale,       stop,
                report,          env,
                device,          logDirectoryOf(options, switches),
                switches.steps,  logs,
                losses};
  useStaticNcclPlugin();
  if (env) {
    trainOverGloo(run, *env, stop);
  } else {
    trainInThreads(run, stop);
  }
  report.close();
  note(losses.text());
  return report.losses();
}

}  // namespace pipetrace
