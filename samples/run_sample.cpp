#include "samples/run_sample.h"

#include <torch/utils.h>

#include <cmath>
#include <cstdlib>
#include <exception>
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
#include "runtime/executor.h"
#include "runtime/record/rank_info_of.h"
#include "runtime/record/rank_recording.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/in_process.h"
#include "samples/loss_report.h"
#include "samples/sample_plan.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

// The state that the ranks of this process share; only read once the first of them has started.
struct Run {
  const SampleOptions& options;
  const CheckedPlan plan;
  const SampleTask task;
  const std::vector<torch::nn::Sequential> stages;
  const StopSignal& stop;
  LossReport& report;  // written by the one rank that has the last stage
  const std::optional<ProcessEnv> env;
  const std::string logDirectory;  // empty: nothing is recorded
  const StepRange steps;
};

/// Where to record; empty: not at all.
std::string logDirectoryOf(const SampleOptions& options, const Switches& switches) {
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

TorchWork makeWork(const Run& run, int rank) {
  std::map<int, torch::nn::Sequential> mine;
  for (const int s : run.plan->stagesOfRank(rank)) {
    mine.emplace(s, run.stages[static_cast<std::size_t>(s)]);
  }
  return TorchWork({.numStages = run.plan->numStages,
                    .numMicroBatches = run.plan->numMicroBatches,
                    .loss = run.task.loss,
                    .optimizer = run.task.optimizer,
                    .learningRate = run.task.learningRate,
                    .reportsLoss = run.plan->rankOfStage.back() == rank},
                   std::move(mine));
}

void requireFinite(double loss, int step, Transport& transport) {
  if (std::isfinite(loss)) return;
  const std::string reason = "the loss of step " + std::to_string(step) +
                             " is no finite number; training has failed, a smaller learning rate "
                             "may help";
  transport.abort(reason);  // so that the rank that reports first knows why
  throw Error(reason);
}

void trainSteps(const Run& run, Transport& transport, RecordedLanes lanes) {
  TorchWork work = makeWork(run, transport.rank());
  Executor executor(run.plan, work, transport, lanes);
  for (int step = 0; step < run.options.steps; ++step) {
    if (run.stop.received() != 0) throw Error("stopped before step " + std::to_string(step));
    work.load(run.task.batch(step));
    executor.runStep(step);
    if (const auto loss = work.loss()) {
      requireFinite(*loss, step, transport);
      run.report.add(step, *loss);
    }
  }
  executor.finish();
}

void trainRank(const Run& run, Transport& transport) {
  // Ranks share the machine's cores; and with one thread the bits do not depend on their number.
  torch::set_num_threads(1);
  if (run.logDirectory.empty()) {
    trainSteps(run, transport, {});
    return;
  }
  RankRecording recording({.logDirectory = run.logDirectory,
                           .info = rankInfoOf(*run.plan, transport.rank()),
                           .steps = run.steps,
                           .env = run.env});
  // When training throws, the destructor closes the log; an error of its own must not replace what
  // went wrong.
  trainSteps(run, transport, recording.lanes());
  recording.close();
}

// While it lives, a signal makes the transports give up.
class StopGuard {
 public:
  StopGuard(StopSignal& stop, std::vector<Transport*> transports) : stop_(stop) {
    stop_.onStop([transports = std::move(transports)](const std::string& reason) {
      for (Transport* transport : transports) transport->abort(reason);
    });
  }
  ~StopGuard() { stop_.onStop({}); }
  StopGuard(const StopGuard&) = delete;
  StopGuard& operator=(const StopGuard&) = delete;

 private:
  StopSignal& stop_;
};

void trainInThreads(const Run& run, StopSignal& stop) {
  const int ranks = run.plan->numRanks();
  InProcessHub hub(ranks);
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<Transport*> pointers;
  for (int rank = 0; rank < ranks; ++rank) {
    pointers.push_back(transports.emplace_back(hub.connect(rank)).get());
  }
  const StopGuard guard(stop, pointers);
  // The first to fail is the one to report; the others fail because of it.
  std::mutex mutex;
  std::exception_ptr firstError;
  std::vector<std::thread> threads;
  for (Transport* transport : pointers) {
    threads.emplace_back([&, transport] {
      try {
        trainRank(run, *transport);
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
  const auto transport = connectGloo({.env = env, .overlaps = !run.options.noSendRecvOverlap});
  const StopGuard guard(stop, {transport.get()});
  trainRank(run, *transport);
}

}  // namespace

std::vector<double> runSample(const SampleOptions& options,
                              const std::function<SampleTask()>& makeTask, StopSignal& stop) {
  std::optional<ProcessEnv> env;
  if (options.transport == SampleTransport::kGloo) {
    env = readProcessEnv();
  } else {
    requireAlone();
  }
  CheckedPlan plan = samplePlan(options);
  if (env) requireWorldSize(*plan, env->worldSize);
  torch::manual_seed(options.seed);
  SampleTask task = makeTask();
  auto stages = cutIntoStages(task.layers, plan->numStages);
  LossReport report;
  const Switches switches = Switches::fromEnvironment();
  const Run run{options,
                std::move(plan),
                std::move(task),
                std::move(stages),
                stop,
                report,
                env,
                logDirectoryOf(options, switches),
                switches.steps};
  useStaticNcclPlugin();
  if (env) {
    trainOverGloo(run, *env, stop);
  } else {
    trainInThreads(run, stop);
  }
  report.close();
  return report.losses();
}

}  // namespace pipetrace
