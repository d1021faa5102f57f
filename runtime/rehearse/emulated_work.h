#pragma once

#include <optional>
#include <vector>

#include "profiler/emulated_stream.h"
#include "runtime/program/version_count.h"
#include "runtime/rehearse/chain_work.h"
#include "runtime/rehearse/message_lines.h"
#include "schedule/costs.h"

namespace pipetrace {

/// Jobs that take the time that `costs` says by waiting on an emulated device, and messages that
/// take costs.transferBetween() two ranks, and their turn on a link with a bandwidth. The costs'
/// faults change single jobs and links. Tensors are passed on undefined.
///
/// A message carries the time at which it was planned to leave, so lateness of this machine is not
/// handed on. It is sent as soon as the job that makes it begins. So the peer waits for the clock
/// and not for a thread of this rank to wake up.
///
/// Messages take their turns on a link in the order of their sends, before their receives are
/// posted. A plan that posts receives late and has a bandwidth may differ from simulate() there.
/// On lines, MessageLines says when messages move.
class EmulatedWork : public ChainWork, private PlannedTransfers {
 public:
  /// `device` is the stream of the rank's compute lane; it must outlive the work. `costs` must have
  /// every stage of the rank. `lines` must outlive it too; null: messages are not on lines.
  EmulatedWork(Costs costs, int rank, EmulatedStream& device, MessageLines* lines = nullptr);

  void accept(const Plan& plan, int rank) override;
  void beginStep(int step) override;
  void lr(int step) override;
  Message forward(int stage, int microBatch, Message input) override;
  Message backward(int stage, int microBatch, Message gradient) override;
  Message backwardInput(int stage, int microBatch, Message gradient) override;
  void backwardWeight(int stage, int microBatch) override;
  Message backwardPart(const Action& part, Message gradient) override;
  void recompute(int stage, int microBatch) override;
  std::array<Message, 2> forwardBackward(const Action& pair,
                                         std::array<Message, 2> inputs) override;
  void optimizerStep() override;
  void update(int stage) override;
  std::int32_t versionOf(const Action& action) const override { return versions_->of(action); }
  bool agrees() const override { return agrees_; }
  bool runsBehind() const override { return true; }
  void awaitJob() override;
  void launching(const Action& action, Nanoseconds arrival) override;
  PlannedTransfers* plannedTransfers() override { return this; }

 private:
  Message start(const Action& action);
  Nanoseconds now() override;
  void awaitCredit(int receiver, Nanoseconds given) override;
  std::optional<Span> send(const MessageKey& key, Message& message, int receiver) override;
  std::optional<Span> sent(const MessageKey& key) override;
  void awaitTimes(const MessageKey& key, const OnWait& onWait) override;
  Span receive(const MessageKey& key, Message& message, int sender, Nanoseconds posted,
               bool waitsForPost) override;
  Nanoseconds reductionTime(int stage) override;
  Nanoseconds scalarAllReduceTime() override { return costs_.scalarAllReduce; }
  void awaitReduction(Nanoseconds end) override;
  std::int64_t bytesOf(const MessageKey& key) const;

  const Costs costs_;
  const int rank_;
  EmulatedStream& device_;
  MessageLines* const lines_;
  bool opensWithLr_ = true;
  bool agrees_ = false;
  int step_ = 0;
  std::optional<VersionCount> versions_;
  Nanoseconds begin_ = EmulatedStream::kNoArrival;  // of the job that was launched
  std::vector<Nanoseconds> linkFree_;               // by receiver; only with a bandwidth
};

}  // namespace pipetrace
