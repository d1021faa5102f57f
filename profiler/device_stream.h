#pragma once

#include <cstdint>
#include <string>

#include "trace/nanoseconds.h"

namespace pipetrace {

class HostClock;

/// A queue of a device on which jobs run one after another. For the recorder it is something that
/// can mark "now" in its order of work, and can say later when that was. One thread at a time
/// marks; the recorder's log thread resolves.
class DeviceStream {
 public:
  /// A stamp, which grows from mark to mark of a stream. Streams whose work runs later than it is
  /// queued use the host clock's reading at the call. So a job whose times never became known has
  /// its time of queueing. For an end they may use the start's mark.
  using Mark = std::uint64_t;

  /// The answer of resolve() for a mark whose time will never be known.
  static constexpr Nanoseconds kLost = kNsMin;

  virtual ~DeviceStream() = default;

  /// Whether marks are readings of the host's tick counter. If not, they are CLOCK_MONOTONIC, ns.
  /// If so, and the stream is not asynchronous, the recorder makes the marks itself, without a call
  /// of mark() or markStart().
  virtual bool marksTicks() const noexcept { return false; }
  /// Whether work runs later than it is queued. If not, jobs run on the thread that marks them.
  virtual bool isAsynchronous() const noexcept { return true; }
  /// The GPU that the stream is on, as NVML names it: "GPU-" and its UUID. Empty: it is on none, or
  /// that is not known.
  virtual std::string gpuUuid() { return {}; }
  /// The recorder that takes the stream over gives it its clock, which outlives the stream.
  virtual void useClock([[maybe_unused]] const HostClock& clock) noexcept {}

  /// Stamps the current end of the stream's work. Never blocks, allocates or locks.
  virtual Mark mark() noexcept = 0;

  /// mark() for the start of a job. It may share the mark of the end before it, if nothing was
  /// queued on the stream in between.
  virtual Mark markStart() noexcept { return mark(); }

  /// Log thread, each time it comes round (1 to 100 ms), before it resolves: a turn to ask the
  /// device what it has finished. `hurry`: somebody waits for the log, so finished jobs should
  /// become known now, not at the stream's own pace.
  virtual void poll([[maybe_unused]] bool hurry) noexcept {}

  /// Log thread: when `mark` was, in ns since the Unix epoch, or kLost. False: not known yet, ask
  /// again. Marks are asked for in the order in which they were made, each any number of times;
  /// those of dropped jobs are never asked for.
  virtual bool resolve(Mark mark, Nanoseconds& time) noexcept = 0;

  /// Jobs that began later than they were planned to (emulated streams).
  virtual std::int64_t lateStarts() const noexcept { return 0; }
};

}  // namespace pipetrace
