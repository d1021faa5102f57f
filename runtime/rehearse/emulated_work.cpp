#include "runtime/rehearse/emulated_work.h"

#include <algorithm>
#include <utility>

namespace pipetrace {

EmulatedWork::EmulatedWork(Costs costs, int rank, EmulatedStream& device, MessageLines* lines)
    : costs_(std::move(costs)), rank_(rank), device_(device), lines_(lines) {}

void EmulatedWork::accept(const Plan& plan, int rank) {
  versions_.emplace(plan, rank);
  opensWithLr_ = !plan.isForwardOnly();
  agrees_ = costs_.scalarAllReduce > 0 && plan.hasAny(isScalarAllReduce);
}

void EmulatedWork::beginStep(int step) {
  step_ = step;
  versions_->beginStep();
  if (lines_ != nullptr) {
    lines_->beginStep(rank_, device_.deadline() + (opensWithLr_ ? costs_.lr : 0));
  }
}

void EmulatedWork::lr(int /*step*/) { device_.run(EmulatedStream::kNoArrival, costs_.lr); }

void EmulatedWork::launching(const Action& action, Nanoseconds arrival) {
  begin_ = std::max(arrival, device_.deadline()) + costs_.faults.of(action, step_).late;
  device_.awaitStart(begin_);
}

Message EmulatedWork::start(const Action& action) {
  const Nanoseconds duration = costs_.timeOf(action) + costs_.faults.of(action, step_).longer;
  return {.deadline = device_.start(begin_, std::max(duration, Nanoseconds{0}))};
}

Message EmulatedWork::forward(int stage, int microBatch, Message /*input*/) {
  return start({JobKind::kForward, stage, microBatch});
}

Message EmulatedWork::backward(int stage, int microBatch, Message /*gradient*/) {
  return start({JobKind::kBackward, stage, microBatch});
}

Message EmulatedWork::backwardInput(int stage, int microBatch, Message /*gradient*/) {
  return start({JobKind::kBackwardInput, stage, microBatch});
}

void EmulatedWork::backwardWeight(int stage, int microBatch) {
  start({JobKind::kBackwardWeight, stage, microBatch});
}

Message EmulatedWork::backwardPart(const Action& part, Message /*gradient*/) { return start(part); }

void EmulatedWork::recompute(int stage, int microBatch) {
  start({JobKind::kRecompute, stage, microBatch});
}

std::array<Message, 2> EmulatedWork::forwardBackward(const Action& pair,
                                                     std::array<Message, 2> /*inputs*/) {
  const Message made = start(pair);
  return {made, made};
}

void EmulatedWork::optimizerStep() { device_.run(EmulatedStream::kNoArrival, costs_.optimizer); }

void EmulatedWork::update(int stage) {
  optimizerStep();
  versions_->update(stage);
}

void EmulatedWork::awaitJob() { device_.finish(); }

Nanoseconds EmulatedWork::now() { return device_.deadline(); }

void EmulatedWork::awaitCredit(int receiver, Nanoseconds given) {
  device_.start(given + costs_.transferBetween(receiver, rank_), 0);
}

Nanoseconds EmulatedWork::reductionTime(int stage) {
  return costs_.stages.at(static_cast<std::size_t>(stage)).reduction;
}

void EmulatedWork::awaitReduction(Nanoseconds end) {
  device_.start(end, 0);
  device_.finish();  // the optimizer's job begins then
}

/// A message's bytes are those of the stage that makes the activations, and of the gradient that
/// comes back to it.
std::int64_t EmulatedWork::bytesOf(const MessageKey& key) const {
  const int stage = key.kind == MessageKind::kActivations ? key.stage - 1 : key.stage;
  return costs_.stages.at(static_cast<std::size_t>(stage)).message;
}

std::optional<PlannedTransfers::Span> EmulatedWork::send(const MessageKey& key, Message& message,
                                                         int receiver) {
  Nanoseconds begin = device_.deadline();
  const std::int64_t bytes = bytesOf(key);
  message.deadline = begin;
  if (lines_ != nullptr) {
    lines_->made(key, begin);
    return std::nullopt;
  }
  if (costs_.bandwidth > 0) {
    const auto to = static_cast<std::size_t>(receiver);
    if (linkFree_.size() <= to) linkFree_.resize(to + 1, kNsMin);
    begin = std::max(begin, linkFree_[to]);
    message.deadline = linkFree_[to] = begin + costs_.wireTimeOf(bytes);
  }
  return Span{begin, message.deadline + costs_.transferBetween(rank_, receiver), bytes};
}

std::optional<PlannedTransfers::Span> EmulatedWork::sent(const MessageKey& key) {
  const std::optional<MessageLines::Times> times = lines_->take(key);
  if (!times) return std::nullopt;
  return Span{times->sent, times->end, bytesOf(key)};
}

void EmulatedWork::awaitTimes(const MessageKey& key, const OnWait& onWait) {
  if (lines_ != nullptr) lines_->await(rank_, key, onWait);
}

PlannedTransfers::Span EmulatedWork::receive(const MessageKey& key, Message& message, int sender,
                                             Nanoseconds posted, bool waitsForPost) {
  const std::int64_t bytes = bytesOf(key);
  if (lines_ != nullptr) {
    const MessageLines::Times times = lines_->take(key).value();
    message.deadline = times.end;
    return {times.posted, times.end, bytes};
  }
  const Nanoseconds wire = costs_.wireTimeOf(bytes);
  Nanoseconds begin = message.deadline - wire;
  if (waitsForPost) begin = std::max(begin, posted);
  message.deadline = begin + wire + costs_.transferBetween(sender, rank_);
  return {std::min(posted, message.deadline), message.deadline, bytes};
}

}  // namespace pipetrace
