// Tensors that are kept no longer than a later job needs them.
#include <c10/core/Storage.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor.h"
#include "runtime/stage_module.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/torch_work.h"
#include "schedule/build_schedule.h"
#include "schedule/forward_part.h"

namespace pipetrace {
namespace {

using testing::runConnected;
using testing::Wiring;

// Keeps a handle of the storage of every message, and says who else does.
class WatchingWork : public StageWork {
 public:
  /// Between threads both ranks watch the same storage of an activation.
  WatchingWork(TorchWork& inner, Wiring wiring)
      : inner_(inner), watchers_(wiring == Wiring::kInProcess ? 2 : 1) {}
  void accept(const Plan& plan) override { inner_.accept(plan); }
  void beginStep(int step) override { inner_.beginStep(step); }
  void lr(int step) override { inner_.lr(step); }
  Message forward(int stage, int microBatch, Message input) override {
    if (input.tensor.defined()) inputs_[microBatch] = input.tensor.storage();
    Message output = inner_.forward(stage, microBatch, std::move(input));
    if (output.tensor.defined()) outputs_[microBatch] = output.tensor.storage();
    return output;
  }
  Message backward(int stage, int microBatch, Message gradient) override {
    if (outputs_.contains(microBatch)) {
      // The gradient could come only after the output had arrived.
      outputsKept_ += outputs_.at(microBatch).use_count() > watchers_;
    }
    if (gradient.tensor.defined()) gradients_[microBatch] = gradient.tensor.storage();
    Message result = inner_.backward(stage, microBatch, std::move(gradient));
    if (inputs_.contains(microBatch)) {
      inputsKept_ += inputs_.at(microBatch).use_count() > watchers_;
    }
    if (gradients_.contains(microBatch)) {
      gradientsKept_ += gradients_.at(microBatch).use_count() > 1;
    }
    return result;
  }
  void optimizerStep() override { inner_.optimizerStep(); }

  std::map<int, c10::Storage> inputs_;  // by micro-batch
  std::map<int, c10::Storage> outputs_;
  std::map<int, c10::Storage> gradients_;
  int inputsKept_ = 0;  // after their backward
  int outputsKept_ = 0;
  int gradientsKept_ = 0;

 private:
  TorchWork& inner_;
  const std::size_t watchers_;
};

constexpr int kMicroBatches = 6;

/// Runs a step of `plan` with a linear layer on each of two ranks, and then `look` at each.
void runWatched(Wiring wiring, const CheckedPlan& plan,
                const std::function<void(int rank, WatchingWork& work, TorchWork& torch)>& look) {
  const std::vector<Layer> layers{{torch::nn::AnyModule(torch::nn::Linear(3, 4))},
                                  {torch::nn::AnyModule(torch::nn::Linear(4, 2))}};
  const auto stages = cutIntoStages(layers, 2);
  const Batch batch{at::ones({12, 3}), at::ones({12, 2})};
  const auto errors = runConnected(wiring, 2, [&](Transport& transport) {
    torch::set_num_threads(1);
    const int rank = transport.rank();
    TorchWork torchWork({.numStages = 2,
                         .numMicroBatches = kMicroBatches,
                         .loss =
                             [](const at::Tensor& output, const at::Tensor& targets) {
                               return torch::nn::functional::mse_loss(output, targets);
                             },
                         .optimizer =
                             [](std::vector<at::Tensor> parameters) {
                               return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                                                          0.1);
                             }},
                        {{rank, stages[static_cast<std::size_t>(rank)]}});
    WatchingWork work(torchWork, wiring);
    Executor executor(plan, work, transport);
    torchWork.load(batch);
    executor.runStep(0);
    executor.finish();
    look(rank, work, torchWork);
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

class MemoryTest : public ::testing::TestWithParam<Wiring> {};

TEST_P(MemoryTest, ReceivedTensorsAreFreeAfterTheJobThatNeedsThemLast) {
  runWatched(GetParam(), buildSchedule("FThenB", 2, kMicroBatches),
             [](int rank, const WatchingWork& work, const TorchWork& torch) {
               EXPECT_EQ(work.inputs_.size(), rank == 0 ? 0U : 6U);
               EXPECT_EQ(work.gradients_.size(), rank == 0 ? 6U : 0U);
               EXPECT_EQ(work.inputsKept_, 0);
               EXPECT_EQ(work.gradientsKept_, 0);
               EXPECT_EQ(torch.liveMicroBatches(), 0);
             });
}

TEST_P(MemoryTest, AnOutputIsFreeOnceItsSendIsDone) {
  runWatched(GetParam(), buildSchedule("FThenB", 2, kMicroBatches),
             [](int rank, const WatchingWork& work, const TorchWork&) {
               if (rank != 0) return;
               EXPECT_EQ(work.outputs_.size(), 6U);
               // The other rank's layer has saved what it got, which is the same storage between
               // threads. It gave that back at its backward, from which the gradient came.
               EXPECT_EQ(work.outputsKept_, 0);
             });
}

TEST_P(MemoryTest, AForwardOnlyPlanKeepsNothing) {
  runWatched(GetParam(), forwardPart(buildSchedule("1F1B", 2, kMicroBatches)),
             [](int rank, const WatchingWork& work, const TorchWork& torch) {
               EXPECT_EQ(torch.liveMicroBatches(), 0);
               EXPECT_EQ(torch.loss().has_value(), rank == 1);
               for (const auto& [microBatch, storage] : work.inputs_) {
                 EXPECT_LE(storage.use_count(), GetParam() == Wiring::kGloo ? 1U : 2U);
               }
             });
}

INSTANTIATE_TEST_SUITE_P(All, MemoryTest, ::testing::Values(Wiring::kInProcess, Wiring::kGloo),
                         [](const auto& test) {
                           return test.param == Wiring::kGloo ? "Gloo" : "InProcess";
                         });

}  // namespace
}  // namespace pipetrace
