// Trains as sample-gpipe-mlp does, and goes wrong as PIPETRACE_FAULT says: "KIND RANK STEP".
//
//   block-batch       the function that makes a batch never returns
//   limit-memory      the process may have little more memory, and messages get long
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

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

void limitMemory(rlim_t more) {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  setrlimit(RLIMIT_AS, &limit);
}

Batch batchOf(std::int64_t rows) {
  return {{"inputs", at::randn({rows, 10})}, {"targets", at::randint(5, {rows}, at::kLong)}};
}

Batch faultyBatch(const PlannedFault& fault, const Batch& usual, int step) {
  const bool isHere = isOfThisProcess(fault);
  if (step < fault.step) return usual;
  if (fault.kind == "block-batch" && isHere && step == fault.step) {
    for (;;) pause();
  }
  if (fault.kind == "limit-memory") {
    Batch longer = batchOf(1 << 22);  // 40 to 63 MB a message
    if (isHere && step == fault.step) limitMemory(16 << 20);
    return longer;
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
