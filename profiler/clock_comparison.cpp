#include "profiler/clock_comparison.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "trace/error.h"

namespace pipetrace {

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
  do {
    lock.unlock();
    compare();
    lock.lock();
  } while (!wake_.wait_for(lock, std::chrono::nanoseconds(every_), [&] { return stop_; }));
  lock.unlock();
  if (exchange_ != nullptr) saidSo_ = true;  // the server may have ended first
  compare();  // jobs after the last comparison are placed by one on each side, too
}

void ClockComparison::compare() {
  try {
    if (exchange_ == nullptr) exchange_ = std::make_unique<ClockExchange>(address_, port_, now_);
    const ClockReading reading = exchange_->compare();
    std::string line;
    writer_.setNow(reading.when);
    writer_.append(line, reading);
    log_.append(line);
  } catch (const Error& error) {
    exchange_.reset();
    if (!std::exchange(saidSo_, true)) std::fprintf(stderr, "pipetrace: %s\n", error.what());
  }
}

}  // namespace pipetrace
