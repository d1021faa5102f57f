#include "profiler/nvml/gpu_counters.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace pipetrace {
namespace {

using nvml::worked;

// Each says whether the driver gave the value.

bool smClock(const NvmlGpu& gpu, double& value) noexcept {
  unsigned megahertz = 0;
  if (!worked(gpu.library.clock, gpu.device, nvml::kSmClock, &megahertz)) return false;
  value = megahertz;
  return true;
}

bool power(const NvmlGpu& gpu, double& value) noexcept {
  unsigned milliwatts = 0;
  if (!worked(gpu.library.power, gpu.device, &milliwatts)) return false;
  value = milliwatts / 1000.0;
  return true;
}

bool powerLimit(const NvmlGpu& gpu, double& value) noexcept {
  unsigned milliwatts = 0;
  if (!worked(gpu.library.powerLimit, gpu.device, &milliwatts)) return false;
  value = milliwatts / 1000.0;
  return true;
}

bool temperature(const NvmlGpu& gpu, double& value) noexcept {
  unsigned celsius = 0;
  if (!worked(gpu.library.temperature, gpu.device, nvml::kDieTemperature, &celsius)) return false;
  value = celsius;
  return true;
}

bool clockEventReasons(const NvmlGpu& gpu, double& value) noexcept {
  unsigned long long mask = 0;
  if (!worked(gpu.library.clockEventReasons, gpu.device, &mask)) return false;
  value = static_cast<double>(mask);
  return true;
}

template <int kPolicy>
bool violation(const NvmlGpu& gpu, double& value) noexcept {
  nvml::Violation violation{};
  if (!worked(gpu.library.violation, gpu.device, kPolicy, &violation)) return false;
  value = static_cast<double>(violation.violationTime);
  return true;
}

bool linkErrors(const NvmlGpu& gpu, double& value) noexcept {
  unsigned long long sum = 0;
  for (std::size_t i = 0; i < gpu.linkCount; ++i) {
    const auto [link, kind] = gpu.links[i];
    unsigned long long count = 0;
    if (!worked(gpu.library.linkErrors, gpu.device, link, kind, &count)) return false;
    sum += count;
  }
  value = static_cast<double>(sum);
  return gpu.linkCount > 0;
}

bool memoryOfOthers(const NvmlGpu& gpu, double& value) noexcept {
  nvml::Memory memory{};
  memory.version = nvml::kMemoryVersion;
  std::array<nvml::Process, 128> processes{};
  auto count = static_cast<unsigned>(processes.size());
  if (!worked(gpu.library.memory, gpu.device, &memory) ||
      !worked(gpu.library.processes, gpu.device, &count, processes.data())) {
    return false;
  }
  // Where the driver knows this process by another number, as in some containers, it is not there.
  bool isThere = false;
  unsigned long long own = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (processes[i].pid != static_cast<unsigned>(getpid())) continue;
    if (processes[i].usedMemory == nvml::kNotAvailable) return false;
    isThere = true;
    own += processes[i].usedMemory;
  }
  const unsigned long long used = memory.total - memory.reserved - memory.free;
  value = static_cast<double>(used - std::min(used, own));
  return isThere;
}

struct Counter {
  const char* name;
  const char* unit;  // null: none
  bool (*read)(const NvmlGpu& gpu, double& value) noexcept;
};

constexpr Counter kCounters[] = {
    {"gpu_sm_clock", "MHz", smClock},
    {"gpu_power", "W", power},
    {"gpu_power_limit", "W", powerLimit},
    {"gpu_temperature", "C", temperature},
    {"gpu_clock_event_reasons", nullptr, clockEventReasons},
    {"gpu_power_violation", "ns", violation<nvml::kPowerPolicy>},
    {"gpu_thermal_violation", "ns", violation<nvml::kThermalPolicy>},
    {"gpu_board_limit_violation", "ns", violation<nvml::kBoardLimitPolicy>},
    {"gpu_reliability_violation", "ns", violation<nvml::kReliabilityPolicy>},
    {"gpu_nvlink_errors", nullptr, linkErrors},
    {"gpu_memory_of_others", "bytes", memoryOfOthers},
};

void findLinks(NvmlGpu& gpu) noexcept {
  for (unsigned link = 0; link < nvml::kMostLinks; ++link) {
    int state = 0;
    if (!worked(gpu.library.linkState, gpu.device, link, &state)) continue;
    if (state != nvml::kLinkIsUp) continue;
    for (int kind = 0; kind < nvml::kLinkErrors; ++kind) {
      unsigned long long count = 0;
      if (!worked(gpu.library.linkErrors, gpu.device, link, kind, &count)) continue;
      gpu.links[gpu.linkCount++] = {.link = link, .kind = kind};
    }
  }
}

}  // namespace

void GpuCounters::watch(std::string uuid) noexcept {
  if (uuid.empty()) return;
  uuid_ = std::move(uuid);
  isWatching_.store(true, std::memory_order_release);
}

void GpuCounters::open() noexcept {
  state_ = State::kNone;
  if (!gpu_.library.load() || !worked(gpu_.library.init)) return;
  if (worked(gpu_.library.deviceByUuid, uuid_.c_str(), &gpu_.device)) {
    findLinks(gpu_);
    state_ = State::kOpen;
  } else {
    worked(gpu_.library.shutdown);
  }
}

void GpuCounters::sample(CounterRing& ring, Nanoseconds now, bool isWanted, bool isLast) noexcept {
  if (!isWatching_.load(std::memory_order_acquire)) return;
  if (state_ == State::kNotTried) open();
  if (state_ == State::kNone || (now < next_ && !isLast)) return;
  next_ = next_ > now - kInterval ? next_ + kInterval : now + kInterval;
  for (const Counter& counter : kCounters) {
    double value = 0;
    if (!isWanted || !counter.read(gpu_, value)) continue;
    ring.push({.name = reinterpret_cast<std::uintptr_t>(counter.name),
               .unit = reinterpret_cast<std::uintptr_t>(counter.unit),
               .monotonic = now,
               .value = value});
  }
  if (isLast) {
    worked(gpu_.library.shutdown);
    state_ = State::kNone;
  }
}

}  // namespace pipetrace
