#pragma once

#include "profiler/clock/host_clock.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/device_stream.h"

namespace pipetrace {

/// The CPU as a device: a job runs on the thread that marks, so "now" is a reading of the host's
/// tick counter. The times of marks are known once the recorder's clock has an anchor after them.
/// Use it through a recorder only, as it needs the recorder's clock.
class CpuStream : public DeviceStream {
 public:
  explicit CpuStream(WallClock clock = WallClock::read()) : wall_(clock) {}

  bool marksTicks() const noexcept final { return true; }
  bool isAsynchronous() const noexcept final { return false; }
  void useClock(const HostClock& clock) noexcept final { clock_ = &clock; }

  Mark mark() noexcept final { return clock_ == nullptr ? 0 : clock_->ticks(); }

  bool resolve(Mark mark, Nanoseconds& time) noexcept final {
    Nanoseconds monotonic = 0;
    if (clock_ == nullptr || !clock_->monotonicAt(mark, monotonic)) return false;
    time = wall_.at(monotonic);
    return true;
  }

 private:
  const WallClock wall_;
  const HostClock* clock_ = nullptr;
};

}  // namespace pipetrace
