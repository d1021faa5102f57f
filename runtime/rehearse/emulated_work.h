#pragma once

#include "profiler/emulated_stream.h"
#include "runtime/stage_work.h"
#include "schedule/costs.h"

namespace pipetrace {

/// Jobs that take the time that `costs` says by waiting on an emulated device, and messages that
/// take costs.transfer between two ranks. Tensors are passed on undefined. A message carries the
/// deadline of the job that made it, so lateness of this machine is not handed on. It is sent as
/// soon as the job begins, so that the peer waits for the clock and not for a thread of this rank
/// to wake up.
class EmulatedWork : public StageWork {
 public:
  /// `device` is the stream of the rank's compute lane; it must outlive the work. `costs` must have
  /// every stage of the rank.
  EmulatedWork(Costs costs, EmulatedStream& device);

  void lr(int step) override;
  Message forward(int stage, int microBatch, Message input) override;
  Message backward(int stage, int microBatch, Message gradient) override;
  void optimizerStep() override;
  bool runsBehind() const override { return true; }
  void awaitJob() override;
  void received(Message& message) override;
  void sending(const Message& message) override;
  void sent(const Message& message) override;

 private:
  const Costs costs_;
  EmulatedStream& device_;
};

}  // namespace pipetrace
