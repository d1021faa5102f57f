#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/control/verdict/action_progress.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Looks at a rank's progress again and again, and knows for how long it has ended no action, and
/// how long its jobs are.
class IdleWatch {
 public:
  using Bytes = std::function<std::uint64_t()>;

  explicit IdleWatch(Nanoseconds now) : changed_(now), works_(now), asked_(now), stands_(now) {}

  /// Once the rank has ended no action for `patience`, it counts as idle only since the last byte
  /// of a message: what it waits for is under way.
  void countBytes(Bytes bytes, Nanoseconds patience) {
    bytes_ = std::move(bytes);
    patience_ = patience;
  }

  /// The status with `idle` and `sequence`.
  ActionStatus look(const ActionProgress& progress, Nanoseconds now) {
    ActionStatus status = progress.look();
    if (status.ended != ended_) {
      longest_ = std::max(longest_, worked_);
      changed_ = now;
    }
    if (status.ended != ended_ || !status.inside || status.isWaiting()) works_ = now;
    worked_ = now - works_;
    if (moves(status, now)) changed_ = now;
    ended_ = status.ended;
    status.idle = now - changed_;
    status.sequence = ++looks_;
    return status;
  }

  /// The process was stopped for so long, until `now`: it could end no action.
  void slept(Nanoseconds time, Nanoseconds now) {
    changed_ = std::min(changed_ + time, now);
    works_ = std::min(works_ + time, now);
    stands_ = std::min(stands_ + time, now);
  }

  /// The longest time of an action that has ended, without what it waited for messages. An action
  /// is seen from one look to another, so it may be longer by the time between three looks.
  Nanoseconds longestJob() const { return longest_; }

 private:
  static constexpr Nanoseconds kBetweenQuestions = 50 * kNsPerMs;

  bool moves(const ActionStatus& status, Nanoseconds now) {
    if (status.ended != ended_) {
      stands_ = now;
      seen_.reset();
    }
    if (!bytes_ || now - stands_ < patience_ || now - asked_ < kBetweenQuestions) return false;
    asked_ = now;
    const std::uint64_t bytes = bytes_();
    const bool areMore = seen_ && bytes > *seen_;
    seen_ = bytes;
    return areMore;
  }

  Nanoseconds changed_;
  Nanoseconds works_;  // since then the action has been going on, and waiting for nobody
  Bytes bytes_;
  Nanoseconds patience_ = 0;
  Nanoseconds asked_;   // when bytes were looked up last
  Nanoseconds stands_;  // since then it has ended no action
  std::optional<std::uint64_t> seen_;
  Nanoseconds worked_ = 0;
  Nanoseconds longest_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace pipetrace
