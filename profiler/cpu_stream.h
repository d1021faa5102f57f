#pragma once

#include "profiler/device_stream.h"
#include "profiler/wall_clock.h"

namespace pipetrace {

/// The CPU as a device: a job runs on the thread that marks, so "now" is the clock's reading
/// (CLOCK_MONOTONIC). Marks are known at once.
class CpuStream : public DeviceStream {
 public:
  explicit CpuStream(WallClock clock = WallClock::read()) : clock_(clock) {}

  Mark mark() noexcept override { return static_cast<Mark>(monotonicNow()); }

  bool resolve(Mark mark, Nanoseconds& time) noexcept override {
    time = clock_.at(static_cast<Nanoseconds>(mark));
    return true;
  }

 private:
  const WallClock clock_;
};

}  // namespace pipetrace
