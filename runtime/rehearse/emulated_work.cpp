#include "runtime/rehearse/emulated_work.h"

#include <utility>

namespace pipetrace {

EmulatedWork::EmulatedWork(Costs costs, EmulatedStream& device)
    : costs_(std::move(costs)), device_(device) {}

void EmulatedWork::lr(int /*step*/) { device_.run(EmulatedStream::kNoArrival, costs_.lr); }

Message EmulatedWork::forward(int stage, int /*microBatch*/, Message input) {
  const StageCosts& costs = costs_.stages.at(static_cast<std::size_t>(stage));
  return {.deadline = device_.start(input.deadline, costs.forward)};
}

Message EmulatedWork::backward(int stage, int /*microBatch*/, Message gradient) {
  const StageCosts& costs = costs_.stages.at(static_cast<std::size_t>(stage));
  return {.deadline = device_.start(gradient.deadline, costs.backward)};
}

void EmulatedWork::optimizerStep() { device_.run(EmulatedStream::kNoArrival, costs_.optimizer); }

void EmulatedWork::awaitJob() { device_.finish(); }

void EmulatedWork::received(Message& message) {
  message.deadline += costs_.transfer;
  EmulatedStream::waitUntil(message.deadline);
}

void EmulatedWork::sending(const Message& message) { EmulatedStream::waitUntil(message.deadline); }

void EmulatedWork::sent(const Message& message) {
  EmulatedStream::waitUntil(message.deadline + costs_.transfer);
}

}  // namespace pipetrace
