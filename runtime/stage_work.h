#pragma once

#include <array>
#include <optional>

#include "runtime/lanes/message_key.h"
#include "runtime/transport/message.h"
#include "schedule/plan.h"

namespace pipetrace {

/// For work on emulated devices: says when transfers begin and end, in place of the clock. Times
/// are CLOCK_MONOTONIC, in ns.
///
/// Threads: the compute thread.
class PlannedTransfers {
 public:
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::int64_t bytes = 0;
  };

  virtual ~PlannedTransfers() = default;

  /// When the device is through with all that it was given: when a rank comes to a receive, and
  /// acknowledges a message.
  virtual Nanoseconds now() = 0;
  /// The rank waits for an acknowledgement of `receiver`, which was given at `given`.
  virtual void awaitCredit(int receiver, Nanoseconds given) = 0;
  /// The rank comes to the send of `message`; sets its deadline to when it leaves.
  virtual Span send(const MessageKey& key, Message& message, int receiver) = 0;
  /// `message` was taken, whose receive was posted at `posted`. `waitsForPost`: it moves no earlier
  /// than that. Sets its deadline to when it arrives. Messages that stay on a rank do not pass
  /// here.
  virtual Span receive(const MessageKey& key, Message& message, int sender, Nanoseconds posted,
                       bool waitsForPost) = 0;
};

/// The work behind a rank's jobs: real training (TorchWork) or waiting in its place (rehearsals).
/// The executor calls it in the order beginStep, lr, the plan's actions, optimizerStep.
///
/// Threads: the compute thread.
class StageWork {
 public:
  virtual ~StageWork() = default;

  /// Called once, before all else. Throws Error for a plan that this work cannot do.
  virtual void accept(const Plan& /*plan*/) {}

  /// Opens a step.
  virtual void beginStep(int /*step*/) {}
  /// The first job of a step, but for plans that only run forward.
  virtual void lr(int step) = 0;

  /// Runs a forward. `input` has an undefined tensor for stage 0, which takes its data from
  /// elsewhere. The result goes to stage + 1; the last stage's is dropped.
  virtual Message forward(int stage, int microBatch, Message input) = 0;

  /// Runs a backward. `gradient` is that of the stage's output; its tensor is undefined for the
  /// last stage, which starts from its loss. The result, the gradient of the stage's input, goes to
  /// stage - 1; stage 0's is dropped.
  virtual Message backward(int stage, int microBatch, Message gradient) = 0;

  /// The halves of a backward, where a plan splits it: the gradient of the input (I), and later
  /// those of the weights (W). As they stand, I does all of it and W nothing.
  virtual Message backwardInput(int stage, int microBatch, Message gradient) {
    return backward(stage, microBatch, std::move(gradient));
  }
  virtual void backwardWeight(int /*stage*/, int /*microBatch*/) {}

  /// A forward and a backward fused into one action. Inputs and results: those of the forward, then
  /// those of the backward. As it stands, one runs after the other.
  virtual std::array<Message, 2> forwardBackward(const Action& pair,
                                                 std::array<Message, 2> inputs) {
    std::array<Message, 2> results;
    results[0] = forward(pair.stage, pair.microBatch, std::move(inputs[0]));
    results[1] = backward(pair.backwardStage, pair.backwardMicroBatch, std::move(inputs[1]));
    return results;
  }

  /// Changes the weights: of all stages at the end of a step, or, in a plan without a flush, of one
  /// stage within it.
  virtual void optimizerStep() = 0;
  virtual void update(int /*stage*/) { optimizerStep(); }

  /// Stages that stand on two ranks: the sums of this copy's gradients, to send to the other; and
  /// its sums, to add. Called before optimizerStep(), unless hasSums() says that there are none.
  virtual bool hasSums() const { return false; }
  virtual Message sumsOf(int /*stage*/) { return {}; }
  virtual void addSums(int /*stage*/, const Message& /*sums*/) {}

  /// The loss of the step, once all its forwards have run, on the rank that has the last stage.
  virtual std::optional<double> loss() const { return std::nullopt; }

  /// Called before a compute action is recorded as begun. `arrival`: the latest deadline of its
  /// inputs. Emulated devices wait here until the job may begin.
  virtual void launching(const Action& /*action*/, Nanoseconds /*arrival*/) {}

  /// Whether jobs return while the device still works. The sends that follow are then issued at
  /// once, and the job is recorded as ending when awaitJob() returns.
  virtual bool runsBehind() const { return false; }
  virtual void awaitJob() {}

  /// Not null on emulated devices.
  virtual PlannedTransfers* plannedTransfers() { return nullptr; }
};

}  // namespace pipetrace
