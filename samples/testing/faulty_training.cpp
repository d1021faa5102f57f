// Trains as sample-gpipe-mlp does, and goes wrong as PIPETRACE_FAULT says: "KIND RANK STEP".
//
//   block-batch: the function that makes a batch never returns.
//
//   block-and-die: the same, and all other ranks die while they make the batch before.
//
//   limit-memory: the process gets no more memory, and messages get long.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#include "samples/gpipe_mlp/mlp_task.h"
#include "samples/run_sample.h"
#include "samples/sample_command_line.h"
#include "samples/sample_main.h"
#include "samples/sample_task.h"

namespace pipetrace {
namespace {

struct PlannedFault {
  std::string kind;
  int rank = -1;
  int step = -1;
};

PlannedFault plannedFault() {
  PlannedFault fault;
  if (const char* const text = std::getenv("PIPETRACE_FAULT")) {
    std::istringstream(text) >> fault.kind >> fault.rank >> fault.step;
  }
  return fault;
}

bool isOfThisProcess(const PlannedFault& fault) {
  const char* const rank = std::getenv("RANK");
  return fault.rank == (rank == nullptr ? 0 : std::atoi(rank));
}

/// From now on the system gives this process no more memory.
void limitMemory() {
  const rlimit limit{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};  // it has more
  setrlimit(RLIMIT_AS, &limit);
}

/// A batch of that many equal rows, which takes the memory of one.
Batch longBatch(std::int64_t rows) {
  return {{"inputs", at::ones({1, 10}).expand({rows, 10})},
          {"targets", at::zeros({1}, at::kLong).expand({rows})}};
}

Batch faultyBatch(const PlannedFault& fault, const Batch& usual, int step) {
  const bool isHere = isOfThisProcess(fault);
  if (fault.kind.starts_with("block-") && isHere && step == fault.step) {
    for (;;) pause();
  }
  if (fault.kind == "block-and-die" && !isHere && step == fault.step - 1) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    raise(SIGKILL);
  }
  if (fault.kind == "limit-memory" && step >= fault.step) {
    if (isHere && step == fault.step) limitMemory();
    return longBatch(5 << 20);  // 79 MB a message: more than an arena of malloc has in reserve
  }
  return usual;
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  pipetrace::SampleOptions options{.schedule = "GPipe", .steps = 200};
  CLI::App app("The GPipe exercise, which goes wrong");
  pipetrace::addPipelineOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const auto makeTask = [] {
    pipetrace::SampleTask task = pipetrace::makeMlpTask();
    task.batch = [fault = pipetrace::plannedFault(), usual = task.batch(0)](int step) {
      return pipetrace::faultyBatch(fault, usual, step);
    };
    return task;
  };
  return pipetrace::sampleMain(
      [&](pipetrace::StopSignal& stop) { pipetrace::runSample(options, makeTask, stop); });
}
