#pragma once

#include <memory>

#include "runtime/control/control_channel.h"
#include "runtime/record/recorded_streams.h"
#include "runtime/stage_work.h"
#include "runtime/transport/transport.h"
#include "schedule/check/checked_plan.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct ExecutorOptions {
  /// Receives of a channel that are posted ahead of their use, for plans that leave that open
  /// (addTransfers()); in plans with credits no fewer than these.
  int ahead = 2;
  /// Hears where the rank is, and ends the run with the others when one dies, fails or stalls. It
  /// has wordsOf() that plan, and must outlive the executor. Null: there is none.
  ControlChannel* control = nullptr;
};

/// The most jobs by which a rank's host should be ahead of its device (RankDevice). No stage waits
/// for the host then, and memory does not grow with the micro-batches.
inline int usualJobsAhead(const Plan& plan) { return 2 * plan.numStages + ExecutorOptions{}.ahead; }

/// Walks one rank's actions of a plan, step after step.
///
/// A step is: lr, the rank's actions in the plan's order, optimizer; in forward-only plans the
/// actions alone. Sends and receives are those
/// of the plan; addTransfers() adds them to a plan without. A send hands the message to the
/// transport and goes on, a receive is posted and goes on, and an action waits for its messages.
/// In a plan without a flush each update is an optimizer job where the plan has it, and there is
/// none at the end. Where a plan has credits, a rank acknowledges activations when the action that
/// needs them has ended, and waits at a send until it has a credit. Stages on two ranks add up
/// their gradients before the optimizer.
///
/// A message is given up as soon as it was handed to the work or to the transport.
///
/// If `streams` has a recorder, each job is recorded on the compute lane. Both ends of a message
/// are recorded on the lane of its direction, or on its line (RankMessages). They have the id of
/// the compute job that made or needs it. The loss becomes counter "loss".
///
/// Threads: one thread constructs it, runs all steps and destroys it. It starts none.
class Executor {
 public:
  /// `work`, `transport` and the recorder must outlive the executor. Throws Error if the plan
  /// does not fit the transport's rank and world size. Throws the same for a plan that the work or
  /// the transport cannot run, such as one that deadlocks on its lines.
  Executor(CheckedPlan plan, StageWork& work, Transport& transport, RecordedStreams streams = {},
           ExecutorOptions options = {});

  /// Calls abort() of the transport unless finish() or end() was called, and writes out what the
  /// recorder still holds.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs one step. `step` must differ from that of the step before, and be the same on all ranks.
  /// Returns when the optimizer job has ended; sends may still be under way. Throws the errors of
  /// the work and the transport, after it has aborted the transport so that the peers stop; the
  /// executor is of no use then. With a control channel the error says what ended the run, on
  /// whichever rank that was.
  void runStep(int step) { runStep(step, step); }
  /// The same, where several plans run in turn: `number` is the step's in the log and in errors,
  /// and counts over all of them.
  void runStep(int step, int number);

  /// How long the plan's actions have computed so far: forwards, backwards and their parts, without
  /// data, lr and optimizer. Counted where jobs have ended when they return: on a device it stays
  /// 0.
  Nanoseconds computed() const;

  /// Call it after a step before ranks go on with another plan's executor. Waits until the sends
  /// are done and recorded, and the device has ended its jobs.
  void pause();
  /// Call it after the last step if other executors use the transport, in place of finish(). Waits
  /// until all sent messages have arrived.
  void end();

  /// Waits until all sent messages have arrived and all ranks are here. Call it after the last
  /// step.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrace
