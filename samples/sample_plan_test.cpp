#include "samples/sample_plan.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

#include "samples/run_sample.h"
#include "samples/sample_task.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(SamplePlanTest, APlanGetsAnotherOrderOfMessagesOnlyWhereItsOwnDeadlocksInLine) {
  const auto hasOrder = [](const Plan& plan) { return plan.hasAny(isTransfer); };
  const CheckedPlan plan = buildSchedule("LoopedBFS", 4, 8);
  ASSERT_FALSE(hasOrder(*plan));
  std::string note;
  const CheckedPlan inLine = withMessagesInLine(plan, note);
  EXPECT_TRUE(hasOrder(*inLine));
  EXPECT_THAT(note, HasSubstr("the messages of LoopedBFS would deadlock"));
  EXPECT_NO_THROW(requireRunsInLine(inLine, CommStreams::kRank));
  std::string again;
  EXPECT_EQ(withMessagesInLine(inLine, again)->ranks, inLine->ranks);
  EXPECT_EQ(again, "");
}

TEST(SamplePlanTest, NcclIsRefusedWhereRanksShareDevicesBeforeAnythingIsMade) {
  StopSignal stop;
  const auto makeNothing = []() -> SampleTask { throw std::logic_error("it was made"); };
  const SampleOptions options{
      .transport = SampleTransport::kNccl, .device = "cuda", .shareDevices = true};
  EXPECT_THAT([&] { runSample(options, makeNothing, stop); },
              ThrowsMessage<Error>(HasSubstr("nccl needs a GPU for each rank")));
}

}  // namespace
}  // namespace pipetrace
