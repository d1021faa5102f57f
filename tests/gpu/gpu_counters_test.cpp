// The figures of a GPU that its own NVML gives, and what they cost.
#include "profiler/nvml/gpu_counters.h"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "profiler/cuda/stream.h"
#include "tests/gpu/gpu_fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Gt;
using testing::Lt;

TEST_F(GpuTest, TheDriverGivesTheFiguresOfTheDeviceByItsUuid) {
  CudaStream recorded(std::make_shared<CudaDevice>(cuda, 0), stream);
  ASSERT_THAT(recorded.gpuUuid(), testing::MatchesRegex("GPU(-[0-9a-f]+)+"));
  nvml::Library library{};
  if (!library.load()) GTEST_SKIP() << "no libnvidia-ml.so.1";
  std::vector<CounterRing::Slot> slots(64);
  std::uint64_t freed = 0;
  std::uint64_t dropped = 0;
  CounterRing ring(slots.data(), slots.size(), freed, dropped);
  GpuCounters counters;
  counters.watch(recorded.gpuUuid());
  std::map<std::string, double> figures;
  std::vector<Nanoseconds> took;
  for (int i = 0; i < 12; ++i) {
    const Nanoseconds begin = monotonicNow();
    counters.sample(ring, begin + i * GpuCounters::kInterval, true, i == 11);
    took.push_back(monotonicNow() - begin);
    for (; const CounterRing::Slot* const slot = ring.take(); ring.free(1)) {
      figures[reinterpret_cast<const char*>(slot->name)] = slot->value;
    }
  }
  std::string names;
  for (const auto& [name, value] : figures) names += " " + name;
  std::printf("  a sample of NVML's figures: the first %.1f ms, others %.3f ms each;%s\n",
              static_cast<double>(took[0]) / 1e6, static_cast<double>(took[5]) / 1e6,
              names.c_str());
  EXPECT_THAT(figures["gpu_sm_clock"], AllOf(Gt(100), Lt(5000)));
  EXPECT_THAT(figures["gpu_power"], AllOf(Gt(5), Lt(2000)));
  EXPECT_THAT(figures["gpu_temperature"], AllOf(Gt(5), Lt(120)));
}

}  // namespace
}  // namespace pipetrace
