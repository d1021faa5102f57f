// The samples' models and batches train on a device with streams, with the bits of the CPU.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "runtime/executor.h"
#include "runtime/testing/device/test_programs.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/train/torch_work.h"
#include "samples/char_transformer/char_task.h"
#include "samples/gpipe_mlp/mlp_task.h"
#include "samples/sample_task.h"
#include "schedule/build_schedule.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

constexpr int kSampleRanks = 2;
constexpr int kSampleSteps = 3;

class SampleOnDevice : public testing::DeviceTest {
 protected:
  /// The losses of a task whose batches are loaded ahead, on a thread.
  static std::vector<double> losses(const SampleTask& task, bool onDevice) {
    const CheckedPlan plan = buildSchedule("1F1B", kSampleRanks, 4);
    std::vector<double> losses;
    const auto errors =
        runConnected(testing::Wiring::kInProcess, kSampleRanks, [&](Transport& transport) {
          std::optional<RankDevice> device;
          if (onDevice) device.emplace(testDevice(), usualJobsAhead(*plan));
          TorchWork work(
              {.model = task.model,
               .partition = evenPartition(static_cast<int>(task.model.blocks.size()), kSampleRanks),
               .numMicroBatches = 4,
               .optimizer = task.optimizer,
               .learningRate = task.learningRate,
               .batch = task.batch,
               .device = device ? &*device : nullptr,
               .steps = kSampleSteps},
              {transport.rank()});
          Executor executor(plan, work, transport);
          for (int step = 0; step < kSampleSteps; ++step) {
            executor.runStep(step);
            if (const auto loss = work.loss()) losses.push_back(*loss);
          }
          executor.finish();
        });
    EXPECT_THAT(errors, Each(IsEmpty()));
    return losses;
  }
  static void expectSame(const SampleTask& task) {
    const std::vector<double> onCpu = losses(task, false);
    EXPECT_EQ(onCpu.size(), static_cast<std::size_t>(kSampleSteps));
    EXPECT_EQ(losses(task, true), onCpu);
    EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
  }
};

TEST_F(SampleOnDevice, TheTransformerHasTheLossesOfTheCpu) {
  expectSame(makeCharTask({.data = test::inSources("README.md"),
                           .model = {.context = 16, .width = 16, .heads = 2, .layers = 2},
                           .rows = 8}));
}

TEST_F(SampleOnDevice, ThePerceptronHasTheLossesOfTheCpu) { expectSame(makeMlpTask()); }

}  // namespace
}  // namespace pipetrace
