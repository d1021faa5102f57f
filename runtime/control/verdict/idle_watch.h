#pragma once

#include "runtime/control/verdict/action_progress.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Looks at a rank's progress again and again, and knows for how long it has ended no action.
class IdleWatch {
 public:
  explicit IdleWatch(Nanoseconds now) : changed_(now) {}

  /// The status with `idle` and `sequence`.
  ActionStatus look(const ActionProgress& progress, Nanoseconds now) {
    ActionStatus status = progress.look();
    if (status.ended != ended_) changed_ = now;
    ended_ = status.ended;
    status.idle = now - changed_;
    status.sequence = ++looks_;
    return status;
  }

 private:
  Nanoseconds changed_;
  std::uint64_t ended_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace pipetrace
