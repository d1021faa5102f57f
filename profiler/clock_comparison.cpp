#include "profiler/clock_comparison.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kFirstPause = kNsPerSecond / 50;
constexpr Nanoseconds kPatience = 2 * kNsPerSecond;

}  // namespace

ClockComparison::ClockComparison(std::string logPath, std::string address, int port,
                                 ClockFunction now, Nanoseconds every)
    : address_(std::move(address)),
      port_(port),
      now_(std::move(now)),
      every_(every),
      log_(std::move(logPath)),
      thread_([this] { run(); }) {}

ClockComparison::~ClockComparison() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wake_.notify_one();
  }
  thread_.join();
}

void ClockComparison::run() {
  std::unique_lock lock(mutex_);
  // Rank 0 may start later than this rank: asked often at first, then ever more seldom.
  Nanoseconds pause = kFirstPause;
  do {
    lock.unlock();
    if (compare(pause > kPatience)) pause = every_;
    lock.lock();
    const auto wait = std::chrono::nanoseconds(std::min(pause, every_));
    if (wake_.wait_for(lock, wait, [&] { return stop_; })) break;
    pause = std::min(2 * pause, every_);
  } while (true);
  lock.unlock();
  const bool hasAnswered = exchange_ != nullptr;  // the server may have ended first
  compare(!hasAnswered);  // jobs after the last comparison are placed by one on each side, too
}

bool ClockComparison::compare(bool tellsFailure) {
  try {
    if (exchange_ == nullptr) exchange_ = std::make_unique<ClockExchange>(address_, port_, now_);
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
