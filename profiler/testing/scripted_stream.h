#pragma once

#include <atomic>

#include "profiler/device_stream.h"

namespace pipetrace {

/// Tests: a stream whose clock is set by hand, and which answers only for marks up to `known`.
class ScriptedStream : public DeviceStream {
 public:
  Mark mark() noexcept override { return static_cast<Mark>(now.load()); }
  bool resolve(Mark mark, Nanoseconds& time) noexcept override {
    time = static_cast<Nanoseconds>(mark);
    return time <= known.load();
  }
  std::int64_t lateStarts() const noexcept override { return 7; }

  std::atomic<Nanoseconds> now = 0;
  std::atomic<Nanoseconds> known = kNsMax;
};

}  // namespace pipetrace
