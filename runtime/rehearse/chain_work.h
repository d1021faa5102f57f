#pragma once

#include <array>
#include <utility>

#include "runtime/stage_work.h"

namespace pipetrace {

/// Work whose stages pass one tensor on to the next stage, and one gradient back.
///
/// Threads: the compute thread.
class ChainWork : public StageWork {
 public:
  /// Runs a forward. `input` has an undefined tensor for stage 0, which takes its data from
  /// elsewhere. The result goes to stage + 1; the last stage's is dropped.
  virtual Message forward(int stage, int microBatch, Message input) = 0;

  /// Runs a backward. `gradient` is that of the stage's output; its tensor is undefined for the
  /// last stage, which starts from its loss. The result, the gradient of the stage's input, goes to
  /// stage - 1; stage 0's is dropped.
  virtual Message backward(int stage, int microBatch, Message gradient) = 0;

  /// The input half of a backward. As it stands, it does all of it.
  virtual Message backwardInput(int stage, int microBatch, Message gradient) {
    return backward(stage, microBatch, std::move(gradient));
  }

  /// Inputs and results: those of the forward, then those of the backward.
  virtual std::array<Message, 2> forwardBackward(const Action& pair,
                                                 std::array<Message, 2> inputs) {
    std::array<Message, 2> results;
    results[0] = forward(pair.stage, pair.microBatch, std::move(inputs[0]));
    results[1] = backward(pair.backwardStage, pair.backwardMicroBatch, std::move(inputs[1]));
    return results;
  }

  /// Runs a part of a backward or of a weight half. `gradient` comes with the first part of a
  /// backward, and the result of the last one goes to stage - 1.
  virtual Message backwardPart(const Action& part, Message /*gradient*/) {
    StageWork::runPart(part, {});
    return {};
  }

  void runForward(int stage, int microBatch, JobMessages messages) final {
    give(messages, forward(stage, microBatch, inputOf(messages)));
  }
  void runBackward(int stage, int microBatch, JobMessages messages) final {
    give(messages, backward(stage, microBatch, inputOf(messages)));
  }
  void runBackwardInput(int stage, int microBatch, JobMessages messages) final {
    give(messages, backwardInput(stage, microBatch, inputOf(messages)));
  }
  void runPart(const Action& part, JobMessages messages) final {
    give(messages, backwardPart(part, inputOf(messages)));
  }
  void runForwardBackward(const Action& pair, JobMessages ofForward, JobMessages ofBackward) final {
    auto results = forwardBackward(pair, {inputOf(ofForward), inputOf(ofBackward)});
    give(ofForward, std::move(results[0]));
    give(ofBackward, std::move(results[1]));
  }

 private:
  static Message inputOf(const JobMessages& messages) {
    return messages.inputs.empty() ? Message{} : std::move(messages.inputs[0]);
  }
  static void give(const JobMessages& messages, Message result) {
    if (!messages.outputs.empty()) messages.outputs[0] = std::move(result);
  }
};

}  // namespace pipetrace
