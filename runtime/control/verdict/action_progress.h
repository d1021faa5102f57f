#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A message of another rank, for which a rank waits.
struct AwaitedMessage {
  int peer = -1;             ///< the rank that sends it; -1: the rank waits for nobody
  std::uint64_t number = 0;  ///< which message, below 2^48; PlanWords turns it into text, with the
                             ///< action in which the rank waits

  bool operator==(const AwaitedMessage&) const = default;
};

/// Where a rank is in its plan, as it was when somebody looked.
struct ActionStatus {
  std::int64_t action = -1;  ///< the action begun last, an index of the rank's plan; -1: none yet
  int program = 0;           ///< the number of that plan among those that the ranks run in turn
  bool inside = false;       ///< that action has not ended
  bool finishing = false;    ///< the rank has ended all its actions and waits in finish()
  AwaitedMessage awaited;
  std::uint64_t ended = 0;     ///< actions that it has ended, over all steps
  Nanoseconds idle = 0;        ///< for how long it had ended none, and no message had moved
  std::uint64_t sequence = 0;  ///< a later look has a higher number

  bool isWaiting() const { return awaited.peer >= 0; }
  bool operator==(const ActionStatus&) const = default;
};

/// Actions that a rank's compute thread has queued on a device and gone on from, and that the
/// device has not ended.
struct QueuedActions {
  std::int64_t oldest = -1;  ///< an index of the rank's plan
  std::uint64_t count = 0;   ///< 0: the device has ended all
};

/// The compute thread of a rank says here where it is. Costs some relaxed stores, takes no lock,
/// allocates nothing and reads no clock.
///
/// Threads: begin(), waitingFor(), waited() and ended() from the one compute thread; look() and
/// follow() from any.
class ActionProgress {
 public:
  /// The actions from now on are of that plan. Below 2^31.
  void enter(int program) noexcept { program_.store(program, std::memory_order_relaxed); }
  /// The rank begins an action, an index of its plan from 0.
  void begin(std::int64_t action) noexcept {
    awaited_.store(0, std::memory_order_relaxed);
    action_.store(2 * action + 1, std::memory_order_relaxed);
  }
  /// The rank waits for a message from now on, until the next call of any of these functions.
  /// `number` is below 2^48, `peer` below 2^16 - 1.
  void waitingFor(int peer, std::uint64_t number) noexcept {
    const auto sender = static_cast<std::uint64_t>(peer + 1);
    awaited_.store(sender << 48 | (number & kNumberMask), std::memory_order_relaxed);
  }
  /// The wait is over, the action goes on.
  void waited() noexcept { awaited_.store(0, std::memory_order_relaxed); }
  /// The rank has ended its action.
  void ended() noexcept {
    awaited_.store(0, std::memory_order_relaxed);
    action_.store(action_.load(std::memory_order_relaxed) & ~std::int64_t{1},
                  std::memory_order_relaxed);
    ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Where the device is counts from now on, as long as it has actions to end: the rank is in the
  /// oldest of them. `queued` is called by look(). Empty: the rank has no such device. When
  /// follow() returns, nobody calls the function before any more.
  void follow(std::function<QueuedActions()> queued) {
    const std::lock_guard lock(mutex_);
    queued_ = std::move(queued);
  }

  /// A status without `idle`, `finishing` and `sequence`. The words of a rank that runs on may be
  /// of different moments; those of one that stands still are exact.
  ActionStatus look() const {
    ActionStatus status;
    const std::int64_t action = action_.load(std::memory_order_relaxed);
    const std::uint64_t awaited = awaited_.load(std::memory_order_relaxed);
    status.action = action >> 1;
    status.program = program_.load(std::memory_order_relaxed);
    status.inside = action >= 0 && (action & 1) != 0;
    status.awaited = {.peer = static_cast<int>(awaited >> 48) - 1, .number = awaited & kNumberMask};
    status.ended = ended_.load(std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    const QueuedActions queued = queued_ ? queued_() : QueuedActions();
    if (queued.count == 0) return status;
    status.action = queued.oldest;
    status.inside = true;
    status.awaited = {};
    status.ended -= std::min(status.ended, queued.count);
    return status;
  }

 private:
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << 48) - 1;

  alignas(64) std::atomic<std::int64_t> action_{-2};  // twice its index, plus 1 inside
  std::atomic<int> program_{0};
  std::atomic<std::uint64_t> awaited_{0};  // peer + 1 in the upper 16 bits
  std::atomic<std::uint64_t> ended_{0};
  mutable std::mutex mutex_;
  std::function<QueuedActions()> queued_;
};

}  // namespace pipetrace
