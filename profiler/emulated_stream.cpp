#include "profiler/emulated_stream.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace pipetrace {
namespace {

// The kernel may fire a sleeper's timer 50 us late (its default slack), and waking takes some time
// more.
constexpr Nanoseconds kSpin = 60 * kNsPerUs;

}  // namespace

DeviceStream::Mark EmulatedStream::mark() noexcept {
  const auto now = static_cast<Mark>(monotonicNow());
  if (deadline_ == kNsMin) return now;
  return std::min(now, static_cast<Mark>(deadline_));
}

DeviceStream::Mark EmulatedStream::markStart() noexcept {
  return deadline_ == kNsMin ? mark() : static_cast<Mark>(std::max(deadline_, begin_));
}

bool EmulatedStream::resolve(Mark mark, Nanoseconds& time) noexcept {
  time = clock_.at(static_cast<Nanoseconds>(mark));
  return true;
}

void EmulatedStream::waitUntil(Nanoseconds deadline) noexcept {
  const Nanoseconds wake = deadline - kSpin;
  if (monotonicNow() < wake) {
    const timespec until{.tv_sec = wake / kNsPerSecond, .tv_nsec = wake % kNsPerSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }
  // No yield: on a busy machine that can cost a whole time slice.
  while (monotonicNow() < deadline) {
  }
}

Nanoseconds EmulatedStream::startOf(Nanoseconds arrivalDeadline) noexcept {
  if (deadline_ == kNsMin) deadline_ = monotonicNow();
  return std::max(deadline_, arrivalDeadline);
}

void EmulatedStream::awaitStart(Nanoseconds arrivalDeadline) noexcept {
  begin_ = startOf(arrivalDeadline);
  waitUntil(begin_);
}

Nanoseconds EmulatedStream::start(Nanoseconds arrivalDeadline, Nanoseconds duration) noexcept {
  const Nanoseconds begin = startOf(arrivalDeadline);
  if (monotonicNow() > begin + kTolerance) {
    lateStarts_.store(lateStarts_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  deadline_ = begin + duration;
  return deadline_;
}

}  // namespace pipetrace
