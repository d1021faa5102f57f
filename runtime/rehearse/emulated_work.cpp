#include "runtime/rehearse/emulated_work.h"

#include <algorithm>
#include <utility>

namespace pipetrace {

EmulatedWork::EmulatedWork(Costs costs, int rank, EmulatedStream& device)
    : costs_(std::move(costs)), rank_(rank), device_(device) {}

void EmulatedWork::lr(int step) {
  step_ = step;
  device_.run(EmulatedStream::kNoArrival, costs_.lr);
}

Nanoseconds EmulatedWork::durationOf(JobKind kind, int stage, int microBatch) const {
  const StageCosts& costs = costs_.stages.at(static_cast<std::size_t>(stage));
  const Action action{.kind = kind, .stage = stage, .microBatch = microBatch};
  return (kind == JobKind::kForward ? costs.forward : costs.backward) +
         costs_.faults.of(action, step_).longer;
}

void EmulatedWork::launching(const Action& action, Message& input) {
  const Nanoseconds late = costs_.faults.of(action, step_).late;
  if (late == 0) return;
  input.deadline = std::max(input.deadline, device_.deadline()) + late;
  EmulatedStream::waitUntil(input.deadline);
}

Message EmulatedWork::forward(int stage, int microBatch, Message input) {
  return {.deadline =
              device_.start(input.deadline, durationOf(JobKind::kForward, stage, microBatch))};
}

Message EmulatedWork::backward(int stage, int microBatch, Message gradient) {
  return {.deadline =
              device_.start(gradient.deadline, durationOf(JobKind::kBackward, stage, microBatch))};
}

void EmulatedWork::optimizerStep() { device_.run(EmulatedStream::kNoArrival, costs_.optimizer); }

void EmulatedWork::awaitJob() { device_.finish(); }

void EmulatedWork::received(Message& message, int sender) {
  message.deadline += costs_.transferBetween(sender, rank_);
  EmulatedStream::waitUntil(message.deadline);
}

void EmulatedWork::sending(const Message& message) { EmulatedStream::waitUntil(message.deadline); }

void EmulatedWork::sent(const Message& message, int receiver) {
  EmulatedStream::waitUntil(message.deadline + costs_.transferBetween(rank_, receiver));
}

}  // namespace pipetrace
