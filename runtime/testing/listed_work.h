#pragma once

#include <ATen/ops/empty.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rehearse/chain_work.h"

namespace pipetrace::testing {

/// Keeps a list of the calls it got; its messages have 8 bytes and say which they are.
class ListedWork : public ChainWork {
 public:
  void lr(int step) override { list_.push_back("lr " + std::to_string(step)); }
  Message forward(int stage, int microBatch, Message input) override {
    return job(JobKind::kForward, stage, microBatch, input, 1000);
  }
  Message backward(int stage, int microBatch, Message gradient) override {
    return job(JobKind::kBackward, stage, microBatch, gradient, 2000);
  }
  Message backwardInput(int stage, int microBatch, Message gradient) override {
    return job(JobKind::kBackwardInput, stage, microBatch, gradient, 2000);
  }
  void backwardWeight(int stage, int microBatch) override {
    list_.push_back(toText(Action{JobKind::kBackwardWeight, stage, microBatch}));
  }
  void recompute(int stage, int microBatch) override {
    list_.push_back(toText(Action{JobKind::kRecompute, stage, microBatch}));
  }
  std::array<Message, 2> forwardBackward(const Action& pair,
                                         std::array<Message, 2> inputs) override {
    auto results = ChainWork::forwardBackward(pair, std::move(inputs));
    list_.pop_back();
    list_.back() = toText(pair);
    return results;
  }
  void optimizerStep() override { list_.push_back("optimizer"); }
  void update(int stage) override { list_.push_back("update of " + std::to_string(stage)); }

  std::vector<std::string> list_;
  // By job: the message it got. 1000 or 2000 + 10 * stage that made it + micro-batch.
  std::map<std::string, Nanoseconds> inputs_;

 private:
  Message job(JobKind kind, int stage, int microBatch, const Message& input, Nanoseconds base) {
    list_.push_back(toText(Action{kind, stage, microBatch}));
    const bool forward = kind == JobKind::kForward;
    inputs_[toText(Action{forward ? kind : JobKind::kBackward, stage, microBatch})] =
        input.deadline;
    return {.tensor = at::empty({2}), .deadline = base + 10 * stage + microBatch};
  }
};

/// The texts of a rank's actions.
inline std::vector<std::string> textsOf(const Plan& plan, int rank) {
  std::vector<std::string> texts;
  for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
    texts.push_back(toText(action));
  }
  return texts;
}

}  // namespace pipetrace::testing
