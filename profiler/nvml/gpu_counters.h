#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "profiler/nvml/library.h"
#include "profiler/ring/counter_ring.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// A GPU, and what NVML is asked about it with.
struct NvmlGpu {
  struct LinkErrors {
    unsigned link;
    int kind;
  };

  nvml::Library library{};
  nvml::Device device = nullptr;
  /// Those that the driver counted at the start, so that their sum is always of the same ones.
  std::array<LinkErrors, std::size_t{nvml::kMostLinks} * nvml::kLinkErrors> links{};
  std::size_t linkCount = 0;
};

/// What the driver says of a rank's GPU, once a second: clock, power, temperature, what keeps the
/// clock down, errors of its links, memory of other processes. docs/log-format.md lists the
/// counters. A figure that the driver does not give has no sample, and without NVML there is none
/// at all.
///
/// Threads: watch() on the one that adds streams, sample() on the log thread. Neither locks, and
/// NVML is called by sample() alone.
class GpuCounters {
 public:
  static constexpr Nanoseconds kInterval = kNsPerSecond;

  bool isWatching() const noexcept { return isWatching_.load(std::memory_order_relaxed); }
  /// The GPU of that UUID ("GPU-..."), from now on. Call it once; an empty text is no GPU.
  void watch(std::string uuid) noexcept;

  /// Pushes a sample of each figure into `ring` if they are due; `now` is CLOCK_MONOTONIC. Missed
  /// samples are not made up for. `isWanted`: if not, due ones are left out. `isLast`: they are due
  /// in any case, and NVML is left; later calls do nothing.
  void sample(CounterRing& ring, Nanoseconds now, bool isWanted, bool isLast) noexcept;

 private:
  enum class State { kNotTried, kOpen, kNone };

  void open() noexcept;

  std::string uuid_;
  std::atomic<bool> isWatching_ = false;

  // The log thread's.
  State state_ = State::kNotTried;
  Nanoseconds next_ = kNsMin;
  NvmlGpu gpu_;
};

}  // namespace pipetrace
