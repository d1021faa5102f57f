// An error of a device in the middle of a step ends the run on all ranks, with what went wrong. A
// device needs as much memory as the simulation says.
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/sgd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/executor.h"
#include "runtime/program/plan_words.h"
#include "runtime/stage_work.h"
#include "runtime/testing/device/test_programs.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "runtime/train/torch_work.h"
#include "runtime/transport/in_process.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kRanks = 4;

class DeviceFailure : public testing::DeviceTest {
 protected:
  /// Ranks on devices of their own. Returns their errors.
  static std::vector<std::string> train() {
    const CheckedPlan plan = buildSchedule("1F1B", kRanks, 8);
    return runConnected(testing::Wiring::kInProcess, kRanks, [&](Transport& transport) {
      RankDevice device(testDevice(transport.rank()), usualJobsAhead(*plan));
      testing::trainRank({.steps = 2}, plan, transport, {}, {.device = &device});
    });
  }

  /// All ranks have ended, and those that wait say which rank it was.
  static void expectEndedBy(int rank, const std::string& why) {
    const std::vector<std::string> errors = train();
    EXPECT_THAT(errors, Each(Not(IsEmpty())));
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)], HasSubstr(why));
    EXPECT_THAT(errors, Contains(HasSubstr("rank " + std::to_string(rank) + " failed")));
  }
};

TEST_F(DeviceFailure, AnErrorOfTheDeviceInTheMiddleOfAStepEndsTheRunOnAllRanks) {
  std::atomic<int> operators = 0;
  failOperators([&](const std::string& name, c10::Stream stream) {
    const bool isIt = stream.device_index() == 2 && name.find("addmm") != std::string::npos;
    if (isIt && ++operators == 5) {
      TORCH_CHECK(false, "CUDA error: an illegal memory access was encountered");
    }
  });
  expectEndedBy(2, "an illegal memory access was encountered");
}

TEST_F(DeviceFailure, ADeviceThatRunsOutOfMemoryEndsTheRunOnAllRanks) {
  EXPECT_THAT(train(), Each(IsEmpty()));
  limitDeviceMemory(1, peakDeviceBytes(1) / 2);
  expectEndedBy(1, "out of memory");
}

TEST_F(DeviceFailure, ADeviceThatVanishesEndsTheRunOnAllRanks) {
  std::atomic<int> operators = 0;
  failOperators([&](const std::string& name, c10::Stream stream) {
    if (stream.device_index() != 3) return;
    if (++operators > 40) TORCH_CHECK(false, "CUDA error: device is lost (", name, ")");
  });
  // A rank that copies a message from there may be the first to see it.
  const std::vector<std::string> errors = train();
  EXPECT_THAT(errors, Each(Not(IsEmpty())));
  EXPECT_THAT(errors[3], HasSubstr("device is lost"));
}

/// Waits in the optimizer until the run has failed, as a rank whose device hangs does in the end.
class StuckWork : public ForwardingWork {
 public:
  StuckWork(StageWork& inner, ControlChannel& control) : ForwardingWork(inner), control_(control) {}
  void optimizerStep() override {
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      control_.check();
    }
  }

 private:
  ControlChannel& control_;
};

TEST_F(DeviceFailure, AJobThatHangsOnTheDeviceIsNamedAndNotTheOneInWhichTheHostWaits) {
  const CheckedPlan plan = buildSchedule("1F1B", 2, 4);
  std::atomic<int> operators = 0;
  hangStreams([&](c10::Stream stream) {
    // From the first job of rank 1 on.
    return stream.device_index() == 1 && operators > 0;
  });
  failOperators([&](const std::string& name, c10::Stream stream) {
    operators += stream.device_index() == 1 && name.find("addmm") != std::string::npos ? 1 : 0;
  });
  InProcessHub hub(2);
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<Transport*> pointers;
  for (int rank = 0; rank < 2; ++rank) {
    pointers.push_back(transports.emplace_back(hub.connect(rank)).get());
  }
  ControlOptions options{.words = wordsOf(plan, ExecutorOptions{}.ahead)};
  options.limits.stall.stepTimeout = 200 * kNsPerMs;
  const auto controls = controlInProcess(options, pointers);
  const auto errors = testing::runRanks(2, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    RankDevice device(testDevice(rank), 1000);
    const auto around = [&](StageWork& inner) -> std::unique_ptr<StageWork> {
      if (rank == 0) return nullptr;
      return std::make_unique<StuckWork>(inner, *controls[r]);
    };
    testing::trainRank({.numStages = 2, .microBatches = 4}, plan, *transports[r], {},
                       {.device = &device, .control = controls[r].get(), .around = around});
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("rank 1 stalled"), HasSubstr("1F0 of step 0"))));
}

Model modelOf(const std::vector<LayerMaker>& layers) {
  return chainModel(layers,
                    [](const at::Tensor& a, const at::Tensor& b) { return at::mse_loss(a, b); });
}

std::unique_ptr<torch::optim::Optimizer> sgd(const NamedParameters& parameters) {
  return std::make_unique<torch::optim::SGD>(tensorsOf(parameters), 0.1);
}

/// Adds a tensor that it makes on the CPU.
struct AddsOnCpuImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& input) { return input + at::zeros({1, input.size(1)}); }
};
TORCH_MODULE(AddsOnCpu);

TEST_F(DeviceFailure, ABlockThatMakesATensorOnTheCpuIsNamed) {
  const CheckedPlan plan = buildSchedule("1F1B", 1, 2);
  const auto errors = runConnected(testing::Wiring::kInProcess, 1, [&](Transport& transport) {
    RankDevice device(testDevice(), 4);
    TorchWork work(
        {.model = modelOf({[] { return std::vector{torch::nn::AnyModule(Linear(4, 4))}; },
                           [] { return std::vector{torch::nn::AnyModule(AddsOnCpu())}; }}),
         .partition = evenPartition(2, 1),
         .numMicroBatches = 2,
         .optimizer = sgd,
         .device = &device},
        {0});
    work.load({{"inputs", at::randn({4, 4})}, {"targets", at::randn({4, 4})}});
    Executor executor(plan, work, transport);
    executor.runStep(0);
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("block 1"), HasSubstr("same device")));
}

constexpr int kBlocks = 512;
constexpr std::int64_t kUnits = 16;
constexpr std::int64_t kRows = 128;  // of a micro-batch

/// Much for activations, and little for weights.
Model tallModel() {
  const LayerMaker layer = [] {
    return std::vector{torch::nn::AnyModule(Linear(kUnits, kUnits)),
                       torch::nn::AnyModule(torch::nn::Tanh())};
  };
  return modelOf(std::vector<LayerMaker>(kBlocks, layer));
}

/// Reads how much memory the device has in use before the first forward and after it.
class MeasuredWork : public ForwardingWork {
 public:
  MeasuredWork(StageWork& inner, int device) : ForwardingWork(inner), device_(device) {}
  void runForward(int stage, int microBatch, JobMessages messages) override {
    if (before_ == 0) before_ = deviceBytes(device_);
    ForwardingWork::runForward(stage, microBatch, messages);
    if (after_ == 0) after_ = deviceBytes(device_);
  }

  std::int64_t before_ = 0;
  std::int64_t after_ = 0;

 private:
  const int device_;
};

// The simulation counts micro-batches that are held. Each takes as much as the first forward has
// left in the rank's memory.
TEST_F(DeviceFailure, TheMostMemoryIsThatOfTheSimulation) {
  for (const char* const name : {"GPipe", "1F1B", "Eager1F1B"}) {
    const CheckedPlan plan = buildSchedule(name, kRanks, 8);
    const Simulation simulated =
        simulate(plan, Costs::equal(kRanks, {.forward = 1, .backward = 2}));
    const auto errors =
        runConnected(testing::Wiring::kInProcess, kRanks, [&](Transport& transport) {
          const int rank = transport.rank();
          RankDevice device(testDevice(rank), 1);
          TorchWork work({.model = tallModel(),
                          .partition = evenPartition(kBlocks, kRanks),
                          .numMicroBatches = 8,
                          .optimizer = sgd,
                          .device = &device},
                         {rank});
          const Batch batch{{"inputs", at::randn({8 * kRows, kUnits})},
                            {"targets", at::randn({8 * kRows, kUnits})}};
          MeasuredWork measured(work, rank);
          Executor executor(plan, measured, transport);
          work.load(batch);
          resetPeakDeviceBytes(rank);
          executor.runStep(0);
          const double held = static_cast<double>(measured.after_ - measured.before_);
          std::size_t gradients = 0;  // the first backwards make them
          for (const at::Tensor& parameter : work.parameters()) gradients += parameter.nbytes();
          const double expected = static_cast<double>(measured.before_) +
                                  static_cast<double>(gradients) +
                                  held * simulated.ranks[static_cast<std::size_t>(rank)].peakLive;
          EXPECT_NEAR(static_cast<double>(peakDeviceBytes(rank)), expected, 0.1 * expected)
              << name << ", rank " << rank;
          executor.finish();
        });
    EXPECT_THAT(errors, Each(IsEmpty())) << name;
  }
}

}  // namespace
}  // namespace pipetrace
