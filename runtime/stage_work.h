#pragma once

#include <optional>

#include "runtime/transport/message.h"
#include "schedule/action.h"

namespace pipetrace {

/// The work behind a rank's jobs: real training (TorchWork) or waiting in its place (rehearsals).
/// The executor calls it in the order lr, forward and backward as the plan says, optimizerStep.
///
/// Threads: the compute thread, except sent() and received().
class StageWork {
 public:
  virtual ~StageWork() = default;

  /// Opens a step.
  virtual void lr(int step) = 0;

  /// Runs a forward. `input` has an undefined tensor for stage 0, which takes its data from
  /// elsewhere. The result goes to stage + 1; the last stage's is dropped.
  virtual Message forward(int stage, int microBatch, Message input) = 0;

  /// Runs a backward. `gradient` is that of the stage's output; its tensor is undefined for the
  /// last stage, which starts from its loss. The result, the gradient of the stage's input, goes to
  /// stage - 1; stage 0's is dropped.
  virtual Message backward(int stage, int microBatch, Message gradient) = 0;

  /// Closes a step.
  virtual void optimizerStep() = 0;

  /// The loss of the step, once all its forwards have run, on the rank that has the last stage.
  virtual std::optional<double> loss() const { return std::nullopt; }

  /// Called on the compute thread before a forward or backward is recorded as begun. Emulated
  /// devices wait here where a job is to be launched late.
  virtual void launching(const Action& /*action*/, Message& /*input*/) {}

  /// Whether forward() and backward() return while the device still works. Their results are then
  /// handed to the transport at once, and their sends are recorded as beginning at the messages'
  /// deadlines. The job is recorded as ending when awaitJob() returns.
  virtual bool runsBehind() const { return false; }
  virtual void awaitJob() {}

  /// Called on the receive lane's thread when `message` of rank `sender` is there; its receive is
  /// recorded as ending when this returns. Emulated devices wait here until it may arrive (deadline
  /// + transfer time) and set its deadline to that. Messages that stay on a rank do not pass here.
  virtual void received(Message& /*message*/, int /*sender*/) {}

  /// Called on the send lane's thread before the send of `message` (without its tensor) is
  /// recorded. Emulated devices wait here until the job that made it has ended.
  virtual void sending(const Message& /*message*/) {}

  /// Called on the send lane's thread when the transport is done with `message` to rank `receiver`
  /// (its tensor is gone by then). Its send is recorded as ending when this returns.
  virtual void sent(const Message& /*message*/, int /*receiver*/) {}
};

}  // namespace pipetrace
