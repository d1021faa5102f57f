// The cost of a sample of a GPU's figures, with a made-up NVML. The real one's calls cost more.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "profiler/nvml/gpu_counters.h"

namespace pipetrace {
namespace {

/// All figures once, from NVML to the ring.
void sample(benchmark::State& state) {
  std::vector<CounterRing::Slot> slots(16);
  std::uint64_t freed = 0;
  std::uint64_t dropped = 0;
  CounterRing ring(slots.data(), slots.size(), freed, dropped);
  GpuCounters counters;
  counters.watch("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  Nanoseconds now = 0;
  std::int64_t samples = 0;
  for (auto _ : state) {
    counters.sample(ring, now += GpuCounters::kInterval, true, false);
    for (; ring.take() != nullptr; ++samples) ring.free(1);
  }
  if (dropped > 0 || samples < state.iterations()) state.SkipWithError("there are no figures");
}
BENCHMARK(sample);

}  // namespace
}  // namespace pipetrace

BENCHMARK_MAIN();
