// What recording costs the thread that records.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"

namespace pipetrace {
namespace {

constexpr int kJobs = 16'384;  // as many as the ring holds, so that none is dropped

/// One CPU job: begin() and end(), while the log thread is at work.
void recordCpuJobs(benchmark::State& state) {
  const std::string folder = (std::filesystem::temp_directory_path() / "pipetrace-bench").string();
  Recorder recorder({.logDirectory = folder, .ringSlots = kJobs});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  for (auto _ : state) {
    for (int i = 0; i < kJobs; ++i) {
      recorder.begin(compute, {.kind = JobKind::kForward, .microBatch = i, .action = "0F0"});
      recorder.end(compute);
    }
    state.PauseTiming();
    recorder.flush();
    state.ResumeTiming();
  }
  state.counters["job"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kJobs,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  recorder.close();
  std::filesystem::remove_all(folder);
}
BENCHMARK(recordCpuJobs)->Iterations(100);

}  // namespace
}  // namespace pipetrace

BENCHMARK_MAIN();
