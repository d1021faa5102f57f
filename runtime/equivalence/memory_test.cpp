// Tensors that are kept no longer than a later job needs them.
#include <c10/core/Storage.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/executor.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/train/torch_work.h"
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
  void accept(const Plan& plan, int rank) override { inner_.accept(plan, rank); }
  void beginStep(int step) override { inner_.beginStep(step); }
  void lr(int step) override { inner_.lr(step); }
  void runForward(int stage, int microBatch, JobMessages messages) override {
    keep(messages.inputs, microBatch, inputs_);
    inner_.runForward(stage, microBatch, messages);
    keep(messages.outputs, microBatch, outputs_);
  }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    if (outputs_.contains(microBatch)) {
      // The gradient could come only after the output had arrived. The thread that sent it may
      // still be about to give it up.
      const c10::Storage& output = outputs_.at(microBatch);
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      while (output.use_count() > watchers_ && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      outputsKept_ += output.use_count() > watchers_;
    }
    keep(messages.inputs, microBatch, gradients_);
    inner_.runBackward(stage, microBatch, messages);
    if (inputs_.contains(microBatch)) {
      inputsKept_ += inputs_.at(microBatch).use_count() > watchers_;
    }
    if (gradients_.contains(microBatch)) {
      gradientsKept_ += gradients_.at(microBatch).use_count() > 1;
    }
  }
  void optimizerStep() override { inner_.optimizerStep(); }

  std::map<int, c10::Storage> inputs_;  // by micro-batch
  std::map<int, c10::Storage> outputs_;
  std::map<int, c10::Storage> gradients_;
  int inputsKept_ = 0;  // after their backward
  int outputsKept_ = 0;
  int gradientsKept_ = 0;

 private:
  static void keep(std::span<Message> messages, int microBatch,
                   std::map<int, c10::Storage>& storages) {
    if (messages.empty() || !messages[0].tensor.defined()) return;
    storages[microBatch] = messages[0].tensor.storage();
  }

  TorchWork& inner_;
  const std::size_t watchers_;
};

constexpr int kWatchedMicroBatches = 6;

/// Runs a step of `plan` with a linear layer on each of two ranks, and then `look` at each.
void runWatched(Wiring wiring, const CheckedPlan& plan,
                const std::function<void(int rank, WatchingWork& work, TorchWork& torch)>& look) {
  const Model model =
      chainModel({[] { return std::vector{torch::nn::AnyModule(torch::nn::Linear(3, 4))}; },
                  [] { return std::vector{torch::nn::AnyModule(torch::nn::Linear(4, 2))}; }},
                 [](const at::Tensor& output, const at::Tensor& targets) {
                   return torch::nn::functional::mse_loss(output, targets);
                 });
  const Batch batch{{"inputs", at::ones({12, 3})}, {"targets", at::ones({12, 2})}};
  const auto errors = runConnected(wiring, 2, [&](Transport& transport) {
    torch::set_num_threads(1);
    const int rank = transport.rank();
    TorchWork torchWork({.model = model,
                         .partition = {.blocks = {1, 1}},
                         .numMicroBatches = kWatchedMicroBatches,
                         .optimizer =
                             [](const NamedParameters& parameters) {
                               return std::make_unique<torch::optim::SGD>(tensorsOf(parameters),
                                                                          0.1);
                             }},
                        {rank});
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
  runWatched(GetParam(), buildSchedule("FThenB", 2, kWatchedMicroBatches),
             [](int rank, const WatchingWork& work, const TorchWork& torch) {
               EXPECT_EQ(work.inputs_.size(), rank == 0 ? 0U : 6U);
               EXPECT_EQ(work.gradients_.size(), rank == 0 ? 6U : 0U);
               EXPECT_EQ(work.inputsKept_, 0);
               EXPECT_EQ(work.gradientsKept_, 0);
               EXPECT_TRUE(torch.liveMicroBatches().empty());
             });
}

TEST_P(MemoryTest, AnOutputIsFreeOnceItsSendIsDone) {
  runWatched(GetParam(), buildSchedule("FThenB", 2, kWatchedMicroBatches),
             [](int rank, const WatchingWork& work, const TorchWork&) {
               if (rank != 0) return;
               EXPECT_EQ(work.outputs_.size(), 6U);
               // The other rank's layer has saved what it got, which is the same storage between
               // threads. It gave that back at its backward, from which the gradient came.
               EXPECT_EQ(work.outputsKept_, 0);
             });
}

TEST_P(MemoryTest, AForwardOnlyPlanKeepsNothing) {
  runWatched(GetParam(), forwardPart(buildSchedule("1F1B", 2, kWatchedMicroBatches)),
             [](int rank, const WatchingWork& work, const TorchWork& torch) {
               EXPECT_TRUE(torch.liveMicroBatches().empty());
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
