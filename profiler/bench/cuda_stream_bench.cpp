// The costs of recording a CUDA job, without its event records: the CUDA of this program does
// nothing.
#include <benchmark/benchmark.h>

#include <array>

#include "profiler/clock/host_clock.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/cuda/stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"

namespace pipetrace {
namespace {

/// Records cost nothing and are done at once.
class FreeCuda final : public CudaApi {
 public:
  Nanoseconds hostNow() noexcept override { return monotonicNow(); }
  int deviceCount() noexcept override { return 1; }
  bool setDevice(int) noexcept override { return true; }
  int currentDevice() noexcept override { return 0; }
  Event createEvent() noexcept override { return &dummy_; }
  void destroyEvent(Event) noexcept override {}
  Stream createStream() noexcept override { return &dummy_; }
  void destroyStream(Stream) noexcept override {}
  // A call that is not inlined, as one of a runtime in another library.
  [[gnu::noinline]] Status record(Event, Stream) noexcept override { return Status::kOk; }
  Status query(Event) noexcept override { return Status::kOk; }
  Status elapsed(Event, Event, float& milliseconds) noexcept override {
    milliseconds = 0;
    return Status::kOk;
  }
  bool exchangeRelaxedCapture(bool relaxed) noexcept override { return relaxed; }
  std::string lastError() override { return "none"; }

 private:
  int dummy_ = 0;
};

constexpr int kJobs = 4'096;  // as many as the rings hold, so that none is dropped

void recordCudaJobs(benchmark::State& state, Nanoseconds shareWithin) {
  RecordedLog log;
  Recorder recorder({.logDirectory = log.folder(), .ringSlots = 4 * kJobs});
  const auto device = std::make_shared<CudaDevice>(std::make_shared<FreeCuda>(), 0);
  auto owned = std::make_unique<CudaStream>(
      device, nullptr, CudaStreamOptions{.events = 4 * kJobs, .shareWithin = shareWithin});
  const CudaStream& stream = *owned;
  const StreamId compute = recorder.addStream("compute", std::move(owned));
  for (auto _ : state) {
    for (int i = 0; i < kJobs; ++i) {
      recorder.begin(compute, {.kind = JobKind::kForward, .microBatch = i, .action = "0F0"});
      recorder.end(compute);
    }
    state.PauseTiming();
    recorder.flush();
    state.ResumeTiming();
  }
  const auto jobs = static_cast<double>(state.iterations()) * kJobs;
  state.counters["job"] =
      benchmark::Counter(jobs, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["records"] = static_cast<double>(stream.counts().records) / jobs;
  state.counters["lost"] = static_cast<double>(stream.counts().exhausted);
  recorder.close();
  state.counters["log_thread_ns"] =
      static_cast<double>(log.number("Profiler End: ", "log_thread_ns")) / jobs;
}
BENCHMARK_CAPTURE(recordCudaJobs, backToBack, 400)->Iterations(100);
BENCHMARK_CAPTURE(recordCudaJobs, twoRecordsEach, 0)->Iterations(100);
// Jobs could share an event, but none follows another closely enough.
BENCHMARK_CAPTURE(recordCudaJobs, neverInTime, 1)->Iterations(100);

/// The two calls that stand for the event records; the costs above include them.
void twoEventRecords(benchmark::State& state) {
  const std::unique_ptr<CudaApi> cuda = std::make_unique<FreeCuda>();
  CudaApi* api = cuda.get();
  benchmark::DoNotOptimize(api);
  for (auto _ : state) {
    for (int i = 0; i < kJobs; ++i) {
      benchmark::DoNotOptimize(api->record(nullptr, nullptr));
      benchmark::DoNotOptimize(api->record(nullptr, nullptr));
    }
  }
  const auto jobs = static_cast<double>(state.iterations()) * kJobs;
  state.counters["job"] =
      benchmark::Counter(jobs, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(twoEventRecords);

/// The two readings of the ticks that make a job's marks; the costs above include them.
void twoReadings(benchmark::State& state) {
  const TickSource source = bestTickSource();
  for (auto _ : state) {
    for (int i = 0; i < 2 * kJobs; ++i) benchmark::DoNotOptimize(ticksNow(source));
  }
  const auto jobs = static_cast<double>(state.iterations()) * kJobs;
  state.counters["job"] =
      benchmark::Counter(jobs, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(twoReadings);

}  // namespace
}  // namespace pipetrace

BENCHMARK_MAIN();
