#pragma once

#include <cstdint>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A queue of a device on which jobs run one after another, as far as the recorder is concerned:
/// something that can mark "now" in its order of work, and can tell later when that was.
/// One thread at a time marks; the recorder's log thread resolves.
class DeviceStream {
 public:
  /// An opaque stamp: clock ticks on a CPU, the index of an event on a GPU.
  using Mark = std::uint64_t;

  virtual ~DeviceStream() = default;

  /// Stamps the current end of the stream's work. Never blocks, allocates or locks.
  virtual Mark mark() noexcept = 0;

  /// Log thread: when `mark` was, in ns since the Unix epoch. False: not known yet, ask again.
  virtual bool resolve(Mark mark, Nanoseconds& time) noexcept = 0;

  /// Jobs that began later than they were planned to (emulated streams).
  virtual std::int64_t lateStarts() const noexcept { return 0; }
};

}  // namespace pipetrace
