#include "profiler/clock/clock_comparison.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "profiler/clock/wall_clock.h"
#include "profiler/process/log_file.h"
#include "trace/error.h"
#include "trace/log/log_writer.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kShortestPause = 20 * kNsPerMs;

// Rank 0 may start later than this rank, and the first step begin as soon as it has. So the first
// answer comes at most 2 % later than it could.
Nanoseconds pauseAfter(Nanoseconds waited) { return std::max(kShortestPause, waited / 50); }

// Where a packet is lost, the system tries again to connect after a second: a new attempt is sooner
// there. One to a host far away may take long.
Nanoseconds patienceAfter(Nanoseconds waited) {
  return std::clamp(waited, 200 * kNsPerMs, ClockComparison::kPatience);
}

}  // namespace

class ClockComparison::Impl {
 public:
  Impl(std::string logPath, ClockPlace place, ClockFunction now, Nanoseconds every)
      : place_(std::move(place)),
        now_(std::move(now)),
        every_(every),
        log_(std::move(logPath)),
        thread_([this] { run(); }) {}
  ~Impl();
  void abandon() noexcept;
  bool awaitFirst(Nanoseconds atMost);

 private:
  void run();
  /// Whether there was an answer.
  bool compare(bool tellsFailure, Nanoseconds patience);

  const ClockPlace place_;
  const ClockFunction now_;
  const Nanoseconds every_;
  LogFile log_;
  LogWriter writer_;
  std::unique_ptr<ClockExchange> exchange_;
  bool saidSo_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool hasCompared_ = false;
  std::thread thread_;
};

ClockComparison::ClockComparison(std::string logPath, ClockPlace place, ClockFunction now,
                                 Nanoseconds every)
    : impl_(std::in_place, std::move(logPath), std::move(place), std::move(now), every) {}

ClockComparison::~ClockComparison() = default;

bool ClockComparison::awaitFirst(Nanoseconds atMost) {
  Impl* const here = impl_.get();
  return here != nullptr && here->awaitFirst(atMost);
}

bool ClockComparison::Impl::awaitFirst(Nanoseconds atMost) {
  std::unique_lock lock(mutex_);
  return wake_.wait_for(lock, std::chrono::nanoseconds(atMost), [&] { return hasCompared_; });
}

ClockComparison::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_all();
  }
  thread_.join();
}

void ClockComparison::Impl::abandon() noexcept {
  log_.abandon();
  if (exchange_ != nullptr) exchange_->abandon();
}

void ClockComparison::Impl::run() {
  std::unique_lock lock(mutex_);
  const Nanoseconds started = monotonicNow();
  do {
    lock.unlock();
    const Nanoseconds waited = monotonicNow() - started;
    const bool hasAnswered = compare(waited >= kPatience, patienceAfter(waited));
    lock.lock();
    if (hasAnswered) {
      hasCompared_ = true;
      wake_.notify_all();
    }
    const Nanoseconds pause = hasCompared_ ? every_ : std::min(pauseAfter(waited), every_);
    if (wake_.wait_for(lock, std::chrono::nanoseconds(pause), [&] { return stop_; })) break;
  } while (true);
  lock.unlock();
  const bool hasAnswered = exchange_ != nullptr;  // the server may have ended first
  // Jobs after the last comparison are placed by one on each side, too.
  compare(!hasAnswered, kPatience / 2);
}

bool ClockComparison::Impl::compare(bool tellsFailure, Nanoseconds patience) {
  try {
    if (exchange_ == nullptr) exchange_ = std::make_unique<ClockExchange>(place_, now_, patience);
    const ClockReading reading = exchange_->compare();
    std::string line;
    writer_.setNow(reading.when);
    writer_.append(line, reading);
    log_.append(line);
    return true;
  } catch (const Error& error) {
    exchange_.reset();
    if (tellsFailure && !std::exchange(saidSo_, true)) {
      std::fprintf(stderr, "pipetrace: %s\n", error.what());
    }
    return false;
  }
}

}  // namespace pipetrace
