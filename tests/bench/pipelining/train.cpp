#include "tests/bench/pipelining/train.h"

#include <sys/resource.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/executor.h"
#include "runtime/program/plan_words.h"
#include "runtime/record/rank_recording.h"
#include "runtime/train/torch_work.h"
#include "runtime/transport/gloo.h"
#include "schedule/build_schedule.h"
#include "schedule/fingerprint.h"
#include "tests/bench/pipelining/barrier.h"
#include "tests/bench/pipelining/models.h"
#include "trace/error.h"

namespace pipetrace::bench {

namespace {

ModelSize sizeOf(const TrainingOptions& options) {
  ModelSize size = modelSize(options.model);
  if (options.width > 0) size.width = options.width;
  if (options.rows > 0) size.rows = options.rows;
  if (options.tokens > 0) size.tokens = options.tokens;
  if (size.isTransformer && size.width % size.heads != 0) {
    throw Error("a width of " + std::to_string(size.width) + " has no " +
                std::to_string(size.heads) + " equal heads");
  }
  return size;
}

TorchWork makeWork(const Plan& plan, const ModelSize& size, int rank) {
  return TorchWork({.model = makeModel(size),
                    .partition = evenPartition(size.layers, plan.numStages),
                    .numMicroBatches = plan.numMicroBatches,
                    .optimizer = makeSgd},
                   plan.stagesOfRank(rank));
}

double cpuMs() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

TrainingResult trainSteps(const TrainingOptions& options, const Batch& batch, TorchWork& work,
                          Executor& executor, Barrier& barrier) {
  using Clock = std::chrono::steady_clock;
  TrainingResult result;
  double cpuBefore = 0;
  for (int step = 0; step < options.warm + options.steps; ++step) {
    if (step == options.warm) cpuBefore = cpuMs();
    barrier.wait();
    const auto begin = Clock::now();
    work.load(batch);
    executor.runStep(step);
    barrier.wait();
    const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
    if (step >= options.warm) result.stepMs.push_back(took.count());
    if (const auto loss = work.loss()) result.losses.push_back(*loss);
  }
  result.cpuMsPerStep = (cpuMs() - cpuBefore) / options.steps;
  return result;
}

}  // namespace

TrainingResult train(const TrainingOptions& options, const ProcessEnv& env) {
  torch::set_num_threads(1);
  const ModelSize size = sizeOf(options);
  const CheckedPlan plan = buildSchedule(
      options.schedule, PlanSize{env.worldSize, options.microBatches, options.chunks});
  TorchWork work = makeWork(*plan, size, env.rank);
  const Batch batch = makeBatch(size, options.microBatches);
  std::optional<RankRecording> recording;
  if (!options.logDirectory.empty()) {
    recording.emplace(RankRecordingOptions{.logDirectory = options.logDirectory,
                                           .info = rankInfoOf(*plan, env.rank),
                                           .steps = {},
                                           .isProcess = true});
  }
  Barrier barrier(env, options.barrierPort);
  ControlOptions control;
  control.words = wordsOf(plan, ExecutorOptions{}.ahead);
  const GlooRun connected =
      connectGlooRun({.env = env}, control, {{"plan", fingerprintText(fingerprint(*plan))}});
  TrainingResult result;
  {
    Executor executor(plan, work, *connected.transport,
                      recording ? recording->streams() : RecordedStreams{},
                      {.control = connected.control.get()});
    result = trainSteps(options, batch, work, executor, barrier);
    executor.finish();
  }
  if (recording) recording->close();
  return result;
}

std::string torchVersion() { return TORCH_VERSION; }

}  // namespace pipetrace::bench
