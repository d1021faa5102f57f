#pragma once

#include <memory>

#include "runtime/record/recorded_lanes.h"
#include "runtime/stage_work.h"
#include "runtime/transport/transport.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// Walks one rank's actions of a plan, step after step.
///
/// A step is: lr, the rank's forward and backward actions in the plan's order, optimizer. Messages
/// between ranks follow from the plan. A result is sent as soon as its job has ended, and the
/// receive that the next action needs is posted when the action before it begins. Sends never hold
/// up compute, so every checked plan runs to its end.
///
/// If `lanes` has a recorder, each job is recorded on the compute lane. Each message is recorded on
/// the send and receive lanes of the ranks at its ends, with the id of the compute job that made or
/// needs it. A send lasts from when the transport gets it until the transport is done with it, so
/// sends may overlap. A receive lasts from when it is posted and the lane is free until the message
/// is there. The loss becomes counter "loss".
///
/// Threads: one thread constructs it, runs all steps and destroys it; it has one thread of its own
/// for each of the two lanes.
class Executor {
 public:
  /// `work`, `transport` and the recorder must outlive the executor. Throws Error if the plan
  /// does not fit the transport's rank and world size, or if it has actions other than forward and
  /// backward.
  Executor(CheckedPlan plan, StageWork& work, Transport& transport, RecordedLanes lanes = {});

  /// Waits for its lanes' threads, after abort() if a step or finish() has failed, and writes out
  /// what the recorder still holds.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs one step. `step` must differ from that of the step before, and be the same on all ranks.
  /// Returns when the optimizer job has ended; sends may still be under way. Throws the errors of
  /// the work and the transport, after it has aborted the transport so that the peers stop; the
  /// executor is of no use then.
  void runStep(int step);

  /// Waits until all sent messages have arrived and all ranks are here. Call it after the last
  /// step.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrace
