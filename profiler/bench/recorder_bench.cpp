// The costs of recording, for the thread that records and for the thread that writes.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "profiler/clock/host_clock.h"
#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"

namespace pipetrace {
namespace {

constexpr int kJobs = 16'384;  // as many as the ring holds, so that none is dropped

void recordJobs(Recorder& recorder, StreamId stream, int jobs) {
  for (int i = 0; i < jobs; ++i) {
    recorder.begin(stream, {.kind = JobKind::kForward, .microBatch = i, .action = "0F0"});
    recorder.end(stream);
  }
}

void report(benchmark::State& state, const char* what, double count) {
  state.counters[what] =
      benchmark::Counter(count, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void reportJobs(benchmark::State& state, double jobs) { report(state, "job", jobs); }

/// One CPU job: begin() and end(), while the log thread is at work.
void recordCpuJobs(benchmark::State& state) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .ringSlots = kJobs});
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  for (auto _ : state) {
    recordJobs(recorder, compute, kJobs);
    state.PauseTiming();
    recorder.flush();
    state.ResumeTiming();
  }
  reportJobs(state, static_cast<double>(state.iterations()) * kJobs);
}
BENCHMARK(recordCpuJobs)->Iterations(100);

/// The least that a CPU job can cost on this machine at this time: its two readings of the ticks.
void twoReadings(benchmark::State& state) {
  const TickSource source = bestTickSource();
  for (auto _ : state) {
    for (int i = 0; i < 2 * kJobs; ++i) benchmark::DoNotOptimize(ticksNow(source));
  }
  reportJobs(state, static_cast<double>(state.iterations()) * kJobs);
}
BENCHMARK(twoReadings);

/// The same with a recorder that is off, each call of begin() and end(). The loop around them
/// counts as theirs.
void recorderOff(benchmark::State& state) {
  Recorder recorder({.isOn = false});
  benchmark::DoNotOptimize(&recorder);
  for (auto _ : state) {
    for (int i = 0; i < kJobs; ++i) {
      recorder.begin(0, {.kind = JobKind::kForward, .microBatch = i, .action = "0F0"});
      benchmark::ClobberMemory();  // the job
      recorder.end(0);
      benchmark::ClobberMemory();
    }
  }
  report(state, "call", 2 * static_cast<double>(state.iterations()) * kJobs);
}
BENCHMARK(recorderOff);

/// Eight threads, each on a stream of its own.
void recordOnEightThreads(benchmark::State& state) {
  static std::unique_ptr<RecordedLog> log;
  static std::unique_ptr<Recorder> recorder;
  if (state.thread_index() == 0) {
    log = std::make_unique<RecordedLog>();
    recorder = std::make_unique<Recorder>(
        RecorderOptions{.logDirectory = log->folder(), .ringSlots = kJobs});
    for (int i = 0; i < state.threads(); ++i) {
      recorder->addStream(i == 0 ? "compute" : "s" + std::to_string(i),
                          std::make_unique<CpuStream>());
    }
  }
  for (auto _ : state) recordJobs(*recorder, state.thread_index(), kJobs);
  reportJobs(state, static_cast<double>(state.iterations()) * kJobs);
  if (state.thread_index() == 0) {
    recorder.reset();
    log.reset();
  }
}
BENCHMARK(recordOnEightThreads)->Threads(8)->Iterations(1);

/// Processor time of the log thread for a job, from `Profiler End:`.
void logThread(benchmark::State& state) {
  double jobs = 0;
  double nanoseconds = 0;
  for (auto _ : state) {
    RecordedLog log;
    Recorder recorder({.logDirectory = log.folder(), .ringSlots = kJobs});
    const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
    for (int step = 0; step < 64; ++step) {
      recorder.beginStep(step);
      recordJobs(recorder, compute, kJobs / 8);
      recorder.endStep(step);
      recorder.flush();
    }
    recorder.close();
    jobs += static_cast<double>(log.number("Profiler End: ", "written"));
    nanoseconds += static_cast<double>(log.number("Profiler End: ", "log_thread_ns"));
  }
  state.counters["ns_per_job"] = nanoseconds / jobs;
}
BENCHMARK(logThread)->Iterations(10);

}  // namespace
}  // namespace pipetrace

BENCHMARK_MAIN();
