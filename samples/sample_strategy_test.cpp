#include "samples/run_sample.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "runtime/engine/strategy.h"
#include "samples/sample_command_line.h"
#include "samples/sample_task.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(SampleStrategyTest, TheUsualLossScaleIsForFp16Alone) {
  const auto scaleOf = [](const SampleOptions& options) {
    return lossScaleOf(strategyOf(options));
  };
  EXPECT_EQ(scaleOf({.precision = "fp16"}).value(), 1024);
  EXPECT_EQ(scaleOf({.precision = "bf16"}).value(), 1);
  EXPECT_EQ(scaleOf({}).value(), 1);
  EXPECT_EQ(scaleOf({.precision = "fp16", .lossScale = "256"}).value(), 256);
  EXPECT_TRUE(scaleOf({.precision = "fp16", .lossScale = "dynamic"}).isDynamic());
}

TEST(SampleStrategyTest, EveryOptionOfAPlanComesFromTheCommandLineToTheStrategy) {
  CLI::App app;
  SampleOptions options;
  addPipelineOptions(app, options);
  for (const ScheduleOption& row : kScheduleOptions) {
    if (row.trained.names == nullptr) continue;
    EXPECT_NE(app.get_option_no_throw(row.trained.names), nullptr) << row.trained.names;
  }
  EXPECT_EQ(strategyOf(options).plan.ranks, 4);
  app.parse("--schedule ZB-H1 --stages 2 --micro-batches 3 --dp 4 --buckets 5");
  const ScheduleOptions plan = strategyOf(options).plan;
  EXPECT_EQ(plan.schedule, "ZB-H1");
  EXPECT_EQ(plan.ranks, 2);
  EXPECT_EQ(plan.microBatches, 3);
  EXPECT_EQ(plan.replicas, 4);
  EXPECT_EQ(plan.buckets, 5);
}

TEST(SampleStrategyTest, NcclIsRefusedWhereRanksShareDevicesBeforeAnythingIsMade) {
  StopSignal stop;
  const auto makeNothing = []() -> SampleTask { throw std::logic_error("it was made"); };
  const SampleOptions options{
      .transport = SampleTransport::kNccl, .device = "cuda", .shareDevices = true};
  EXPECT_THAT([&] { runSample(options, makeNothing, stop); },
              ThrowsMessage<Error>(HasSubstr("nccl needs a GPU for each rank")));
}

}  // namespace
}  // namespace pipetrace
