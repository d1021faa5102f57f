#pragma once

#include <algorithm>

#include "runtime/control/verdict/action_progress.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Looks at a rank's progress again and again, and knows for how long it has ended no action, and
/// how long its jobs are.
class IdleWatch {
 public:
  explicit IdleWatch(Nanoseconds now) : changed_(now), works_(now) {}

  /// The status with `idle` and `sequence`.
  ActionStatus look(const ActionProgress& progress, Nanoseconds now) {
    ActionStatus status = progress.look();
    if (status.ended != ended_) {
      longest_ = std::max(longest_, worked_);
      changed_ = now;
    }
    if (status.ended != ended_ || !status.inside || status.isWaiting()) works_ = now;
    worked_ = now - works_;
    ended_ = status.ended;
    status.idle = now - changed_;
    status.sequence = ++looks_;
    return status;
  }

  /// The process was stopped for so long, until `now`: it could end no action.
  void slept(Nanoseconds time, Nanoseconds now) {
    changed_ = std::min(changed_ + time, now);
    works_ = std::min(works_ + time, now);
  }

  /// The longest time of an action that has ended, without what it waited for messages. An action
  /// is seen from one look to another, so it may be longer by the time between three looks.
  Nanoseconds longestJob() const { return longest_; }

 private:
  Nanoseconds changed_;
  Nanoseconds works_;  // since then the action has been going on, and waiting for nobody
  Nanoseconds worked_ = 0;
  Nanoseconds longest_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace pipetrace
