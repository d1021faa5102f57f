#include "profiler/lane.h"

#include "profiler/wall_clock.h"

namespace pipetrace {
namespace {

constexpr std::int64_t kTimedEvery = 64;
// Not the first call, which meets cold caches and would stand for 63 warm ones.
constexpr std::int64_t kTimedAt = 32;

}  // namespace

/// Counts one recording call, and times it if it is its turn.
class Lane::Stopwatch {
 public:
  explicit Stopwatch(Lane& lane) noexcept : lane_(lane) {
    const std::int64_t call = lane.calls_.load(std::memory_order_relaxed);
    lane.calls_.store(call + 1, std::memory_order_relaxed);
    if (call % kTimedEvery == kTimedAt) start_ = monotonicNow();
  }
  ~Stopwatch() {
    if (start_ < 0) return;
    add(lane_.timedNs_, monotonicNow() - start_);
    add(lane_.timedCalls_, 1);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Lane& lane_;
  Nanoseconds start_ = -1;
};

void Lane::begin(const Job& job) noexcept {
  const Stopwatch stopwatch(*this);
  // An exception may have skipped the end of the job before: that one is lost, this one counts.
  if (isOpen_.load(std::memory_order_relaxed)) add(misuses_, 1);
  open_.job = job;
  isOpen_.store(true, std::memory_order_relaxed);
  open_.begin = stream_->markStart();
}

void Lane::end(std::int64_t bytes) noexcept {
  const Stopwatch stopwatch(*this);
  if (!isOpen_.load(std::memory_order_relaxed)) {
    add(misuses_, 1);
    return;
  }
  open_.end = stream_->mark();
  isOpen_.store(false, std::memory_order_relaxed);
  if (bytes != kNotGiven) open_.job.bytes = bytes;
  if (!ring_.push(open_)) add(dropped_, 1);
}

std::int64_t Lane::misuses() const {
  return misuses_.load(std::memory_order_relaxed) +
         (isOpen_.load(std::memory_order_relaxed) ? 1 : 0);
}

Nanoseconds Lane::ownCost() const {
  const std::int64_t timed = timedCalls_.load(std::memory_order_relaxed);
  if (timed == 0) return 0;
  const std::int64_t calls = calls_.load(std::memory_order_relaxed);
  const std::int64_t ns = timedNs_.load(std::memory_order_relaxed);
  return ns / timed * calls + ns % timed * calls / timed;  // ns * calls could overflow
}

}  // namespace pipetrace
