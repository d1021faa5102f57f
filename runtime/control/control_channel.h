#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "runtime/control/verdict/action_progress.h"
#include "runtime/control/verdict/failure_agreement.h"
#include "runtime/control/verdict/verdict.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The status with which a process ends itself when a run has failed and its compute thread does
/// not come back: as timeout(1) does.
inline constexpr int kStuckExitCode = 124;

struct ControlOptions {
  int rank = 0;
  int worldSize = 1;  ///< at most 65534
  /// Times after which ranks are given up, in a small run. `stall.stepTimeout` is the user's step
  /// timeout.
  FailureLimits limits;
  PlanWords words;
  /// Called once, with the text of the error, when the run has failed: it wakes what the compute
  /// thread may wait in (aborts the transport). Runs on the control thread and must not block.
  std::function<void(const FailureCause& cause, const std::string& text)> onFailure;
  /// How many bytes of messages have gone from this rank and come to it so far: while there are
  /// more and more, it does not stand still. Empty: nobody knows. Runs on the control thread, on
  /// each beat of an action that has taken a quarter of the step timeout.
  std::function<std::uint64_t()> bytesMoved;
  /// How long the compute thread has, after that, to learn of it: from check(), fail(), lostPeer(),
  /// finish() or by destroying the channel. A rank with longer jobs has 1.5 times its longest so
  /// far, at most a minute (exitDelayAfter()).
  Nanoseconds exitDelay = 2 * kNsPerSecond;
  /// Runs on the control thread before it ends the process with kStuckExitCode: writes out logs.
  std::function<void(const std::string& text)> beforeExit;
};

/// A rank's line to all others, beside the data. Each rank says in which action it is and what it
/// waits for; when one dies, fails, stalls or waits in vain, every rank gets the same first cause.
///
/// Destroyed before finish() and without a failure, the rank counts as failed.
///
/// Threads: begin(), waitingFor(), waited() and ended() from the compute thread; they cost some
/// stores. The rest from any thread. Destroyed when no call is under way.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  /// The actions from now on are of that plan, among those that the ranks run in turn. On a device
  /// all actions of the plan before must have ended.
  void enter(int program) noexcept { progress_.enter(program); }
  /// The rank begins an action, an index of its plan.
  void begin(std::int64_t action) noexcept { progress_.begin(action); }
  /// The action goes on when message `number` (below 2^48) of rank `peer` is there.
  void waitingFor(int peer, std::uint64_t number) noexcept { progress_.waitingFor(peer, number); }
  /// That message has come.
  void waited() noexcept { progress_.waited(); }
  /// The action has ended.
  void ended() noexcept { progress_.ended(); }

  /// The rank's actions run on a device: `queued` says which it has not ended (ActionProgress).
  /// Called on the control thread; empty: from now on by nobody.
  void followDevice(std::function<QueuedActions()> queued) { progress_.follow(std::move(queued)); }

  /// Throws Error with the text of the failure, if the run has failed. Costs one load.
  void check() {
    if (hasFailed_.load(std::memory_order_acquire)) raise();
  }

  /// This rank's work has failed. Tells the others, waits until all agree on what came first, and
  /// returns the text of that, for this rank's error. The wait is well under a second, in runs of
  /// hundreds of ranks under three. After finish() the text is `reason`.
  virtual std::string fail(const std::string& reason) = 0;

  /// Runs `body` when the run has failed: code of the user's that may never return. If it takes too
  /// long, the process is ended as if the compute thread had not learned of the failure. Throws
  /// what `body` throws.
  virtual void whileEnding(const std::function<void()>& body) = 0;

  /// The connection for data to another rank is broken. Waits until the reason is known, and
  /// returns the text for this rank's error. If nothing else comes to light within
  /// FailureLimits::lostPeer, this is the reason.
  virtual std::string lostPeer(const std::string& reason) = 0;

  /// This rank is asked to stop, for `reason` ("stopped by SIGTERM"). The run ends for all ranks,
  /// as if it had failed; if something else comes to light, that is the reason. Does not wait.
  virtual void stop(const std::string& reason) = 0;

  /// This rank has ended all its actions. Waits until all have. Throws Error with the text of the
  /// failure, if one fails before.
  virtual void finish() = 0;

 protected:
  ControlChannel() = default;
  /// Throws Error with the text of the failure.
  [[noreturn]] virtual void raise() = 0;

  ActionProgress progress_;
  std::atomic<bool> hasFailed_{false};
};

}  // namespace pipetrace
