#include "runtime/control/run_end.h"

#include <unistd.h>

#include <algorithm>

#include "trace/error.h"

namespace pipetrace {

void RunEnd::fail(const FailureCause& cause, const ActionStatus& own, Nanoseconds now) {
  const std::string text = verdictText(cause, options_.words, options_.rank, own);
  {
    const std::lock_guard lock(mutex_);
    if (failure_ || isFinished_) return;
    failure_ = text;
    failed_ = now;
    isStop_ = cause.kind == CauseKind::kStopped;
  }
  changed_.notify_all();
  try {
    if (options_.onFailure) options_.onFailure(cause, text);
  } catch (...) {
    // The failure is the one to report. A thread that was not woken is ended with the process.
  }
}

void RunEnd::finish() {
  {
    const std::lock_guard lock(mutex_);
    isFinished_ = true;
  }
  changed_.notify_all();
}

std::string RunEnd::awaitFailure(const std::string& own) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || isFinished_; });
  isKnown_ = true;
  return failure_ ? *failure_ : own;
}

void RunEnd::awaitFinish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || isFinished_; });
  isKnown_ = true;
  if (failure_) throw Error(*failure_);
}

void RunEnd::acknowledge() {
  const std::lock_guard lock(mutex_);
  isKnown_ = true;
}

bool RunEnd::hasFailed() const {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void RunEnd::whileEnding(Nanoseconds now, const std::function<void()>& body) {
  {
    const std::lock_guard lock(mutex_);
    isKnown_ = false;
    failed_ = now;
  }
  try {
    body();
  } catch (...) {
    acknowledge();
    throw;
  }
  acknowledge();
}

void RunEnd::exitIfStuck(Nanoseconds now, Nanoseconds longestJob) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_ || isStop_ || isKnown_) return;
    if (now - failed_ < exitDelayAfter(longestJob, options_.exitDelay)) return;
    text = *failure_;
  }
  try {
    if (options_.beforeExit) options_.beforeExit(text);
  } catch (...) {
    // It was the last that could be done.
  }
  _exit(kStuckExitCode);
}

Nanoseconds exitDelayAfter(Nanoseconds longestJob, Nanoseconds least) {
  constexpr Nanoseconds kMost = 60 * kNsPerSecond;
  return std::max(least, std::min(longestJob + longestJob / 2, kMost));
}

}  // namespace pipetrace
