#pragma once

#include "profiler/emulated_stream.h"
#include "runtime/stage_work.h"
#include "schedule/costs.h"

namespace pipetrace {

/// Jobs that take the time that `costs` says by waiting on an emulated device, and messages that
/// take costs.transferBetween() two ranks. The costs' faults change single jobs and links. Tensors
/// are passed on undefined. A message carries the deadline of the job that made it, so lateness of
/// this machine is not handed on. It is sent as soon as the job begins, so that the peer waits for
/// the clock and not for a thread of this rank to wake up.
class EmulatedWork : public StageWork {
 public:
  /// `device` is the stream of the rank's compute lane; it must outlive the work. `costs` must have
  /// every stage of the rank.
  EmulatedWork(Costs costs, int rank, EmulatedStream& device);

  void lr(int step) override;
  Message forward(int stage, int microBatch, Message input) override;
  Message backward(int stage, int microBatch, Message gradient) override;
  void optimizerStep() override;
  bool runsBehind() const override { return true; }
  void awaitJob() override;
  void launching(const Action& action, Message& input) override;
  void received(Message& message, int sender) override;
  void sending(const Message& message) override;
  void sent(const Message& message, int receiver) override;

 private:
  Nanoseconds durationOf(JobKind kind, int stage, int microBatch) const;

  const Costs costs_;
  const int rank_;
  EmulatedStream& device_;
  int step_ = 0;
};

}  // namespace pipetrace
