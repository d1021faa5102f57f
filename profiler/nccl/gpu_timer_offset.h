#pragma once

#include <atomic>
#include <cstdint>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// The offset from a device's global timer to CLOCK_MONOTONIC, learned from stamps that arrive here
/// some time after they were made. The one that arrived soonest gives the best offset. Any thread.
///
/// It is off by the smallest delay in half a second: NCCL looks at its channels every few
/// microseconds. It is also off by the drift of the two clocks in that time (18 ppm: 9 us).
class GpuTimerOffset {
 public:
  static constexpr Nanoseconds kWindow = kNsPerSecond / 2;

  /// A stamp of the device that became known at `now`. Returns its time on CLOCK_MONOTONIC.
  Nanoseconds place(std::uint64_t gpuTime, Nanoseconds now) noexcept {
    const Nanoseconds offset = now - static_cast<Nanoseconds>(gpuTime);
    Nanoseconds since = since_.load(std::memory_order_relaxed);
    if ((since == kNsMin || now - since > kWindow) &&
        since_.compare_exchange_strong(since, now, std::memory_order_relaxed)) {
      const bool isRecent = since != kNsMin && now - since <= 2 * kWindow;
      const Nanoseconds last = current_.exchange(offset, std::memory_order_relaxed);
      before_.store(isRecent ? last : kNsMax, std::memory_order_relaxed);
    }
    Nanoseconds least = current_.load(std::memory_order_relaxed);
    while (offset < least &&
           !current_.compare_exchange_weak(least, offset, std::memory_order_relaxed)) {
    }
    least = offset < least ? offset : least;
    const Nanoseconds before = before_.load(std::memory_order_relaxed);
    return static_cast<Nanoseconds>(gpuTime) + (before < least ? before : least);
  }

 private:
  std::atomic<Nanoseconds> since_ = kNsMin;  // the current window's start
  std::atomic<Nanoseconds> current_ = kNsMax;
  std::atomic<Nanoseconds> before_ = kNsMax;  // of the window before it
};

}  // namespace pipetrace
