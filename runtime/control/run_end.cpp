#include "runtime/control/run_end.h"

#include <unistd.h>

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
  if (options_.onFailure) options_.onFailure(cause, text);
}

void RunEnd::finish() {
  {
    const std::lock_guard lock(mutex_);
    isFinished_ = true;
  }
  changed_.notify_all();
}

std::string RunEnd::awaitFailure() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || isFinished_; });
  isKnown_ = true;
  return failure_ ? *failure_ : std::string("all ranks have finished");
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

void RunEnd::exitIfStuck(Nanoseconds now) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_ || isStop_ || isKnown_ || now - failed_ < options_.exitDelay) return;
    text = *failure_;
  }
  if (options_.beforeExit) options_.beforeExit(text);
  _exit(kStuckExitCode);
}

}  // namespace pipetrace
