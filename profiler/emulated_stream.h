#pragma once

#include <atomic>

#include "profiler/clock/wall_clock.h"
#include "profiler/device_stream.h"

namespace pipetrace {

/// A device on which a job takes its time by waiting, so that a few cores can show what many
/// devices would do.
///
/// Every job has a deadline, made from deadlines only:
///     max(the lane's previous deadline, the job's arrival deadline) + duration
/// so waking up late shifts no later one. These are the times that are logged: the device works,
/// and hands over what it made, even if no thread of this machine is awake then. How often threads
/// were late is counted.
///
/// All times are CLOCK_MONOTONIC ns, comparable between the processes of one host. One thread at a
/// time calls mark(), run(), its halves and setOrigin().
class EmulatedStream : public DeviceStream {
 public:
  /// The arrival deadline of a job that needs no message.
  static constexpr Nanoseconds kNoArrival = kNsMin;
  /// How late a job may begin before it is counted by lateStarts().
  static constexpr Nanoseconds kTolerance = 200 * kNsPerUs;

  explicit EmulatedStream(WallClock clock = WallClock::read()) : clock_(clock) {}

  bool isAsynchronous() const noexcept override { return false; }
  /// When the last job ended; now, if none ran.
  Mark mark() noexcept override;
  /// When the job begins that was waited for last (awaitStart()), or right after the one before it.
  Mark markStart() noexcept override;
  bool resolve(Mark mark, Nanoseconds& time) noexcept override;
  std::int64_t lateStarts() const noexcept override {
    return lateStarts_.load(std::memory_order_relaxed);
  }

  /// Makes `origin` the lane's previous deadline: ranks with the same one start together. Without
  /// it the first job starts when it is first waited for.
  void setOrigin(Nanoseconds origin) noexcept { deadline_ = origin; }

  /// Waits until a job with this arrival deadline may begin: max(previous deadline, arrival).
  /// Call it before Recorder::begin(), or the wait for the input would be logged as work.
  void awaitStart(Nanoseconds arrivalDeadline) noexcept;

  /// The job itself, between Recorder::begin() and end(): waits until its deadline and returns it.
  /// arrivalDeadline = the deadline that the input message carried + the transfer's time.
  Nanoseconds run(Nanoseconds arrivalDeadline, Nanoseconds duration) noexcept {
    const Nanoseconds deadline = start(arrivalDeadline, duration);
    finish();
    return deadline;
  }
  /// run() in two halves: the job's deadline, at once, and the wait for it.
  Nanoseconds start(Nanoseconds arrivalDeadline, Nanoseconds duration) noexcept;
  void finish() noexcept { waitUntil(deadline_); }

  /// The deadline of the lane's last job.
  Nanoseconds deadline() const noexcept { return deadline_; }

  /// Waits until the clock shows `deadline`: sleeps, and spins through the last tens of
  /// microseconds, which a timer would miss. Returns at once if it has passed.
  static void waitUntil(Nanoseconds deadline) noexcept;

 private:
  Nanoseconds startOf(Nanoseconds arrivalDeadline) noexcept;

  const WallClock clock_;
  Nanoseconds deadline_ = kNsMin;  // kNsMin: nothing ran, and no origin is set
  Nanoseconds begin_ = kNsMin;     // of the job that awaitStart() waited for
  std::atomic<std::int64_t> lateStarts_ = 0;
};

}  // namespace pipetrace
