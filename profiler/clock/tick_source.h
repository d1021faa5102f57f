#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A counter of the host that is cheap to read and the same on all its cores.
enum class TickSource : std::uint8_t {
  kTsc,           ///< the processor's time stamp counter, where it is invariant
  kMonotonicRaw,  ///< CLOCK_MONOTONIC_RAW, ns
};

/// CLOCK_MONOTONIC_RAW, ns.
std::uint64_t monotonicRawNow() noexcept;

inline std::uint64_t ticksNow(TickSource source) noexcept {
#if defined(__x86_64__)
  if (source == TickSource::kTsc) [[likely]]
    return __rdtsc();
#else
  static_cast<void>(source);
#endif
  return monotonicRawNow();
}

/// kTsc if the kernel says that it runs at one rate (constant_tsc) and never stops (nonstop_tsc).
TickSource bestTickSource();
/// The same from the text of /proc/cpuinfo.
TickSource tickSourceOf(const char* cpuInfo);

/// "tsc", "monotonic_raw": `clock` in `Profiler Meta:`.
const char* nameOf(TickSource source);

}  // namespace pipetrace
