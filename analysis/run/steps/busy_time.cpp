#include "analysis/run/steps/busy_time.h"

#include <algorithm>

namespace pipetrace {

BusyTime::BusyTime(const Timeline& timeline, int rank) : jobs_(timeline, rank, isCompute) {
  ahead_ = nextJob();
  advance();
}

const Event* BusyTime::nextJob() {
  const Event* job = jobs_.next();
  while (job != nullptr && job->duration() <= 0) job = jobs_.next();
  return job;
}

void BusyTime::advance() {
  isBusy_ = ahead_ != nullptr;
  if (!isBusy_) return;
  busy_ = {ahead_->begin, ahead_->end};
  while ((ahead_ = nextJob()) != nullptr && ahead_->begin <= busy_.end) {
    busy_.end = std::max(busy_.end, ahead_->end);
  }
}

Nanoseconds BusyTime::in(Interval window) {
  Nanoseconds sum = 0;
  visitBusy(window, [&](const Interval& busy) {
    sum += std::min(busy.end, window.end) - std::max(busy.begin, window.begin);
  });
  return sum;
}

}  // namespace pipetrace
