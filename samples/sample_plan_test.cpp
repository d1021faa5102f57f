#include "samples/sample_plan.h"

#include <gmock/gmock.h>

#include <cstdlib>
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

/// Sets a variable of the environment while it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

TEST(SamplePlanTest, PaddlePaddlesFlagCutsLastBackwardsInTwoUnder1F1BAlone) {
  std::string note;
  EXPECT_EQ(lastBackwardPartsOf({}, note), 1);
  EXPECT_EQ(note, "");
  const Setting flag("FLAGS_1f1b_backward_forward_overlap", "1");
  EXPECT_EQ(lastBackwardPartsOf({}, note), 2);
  EXPECT_THAT(note, HasSubstr("FLAGS_1f1b_backward_forward_overlap=1 is --last-backward-parts 2"));
  EXPECT_THAT(note, HasSubstr("PaddlePaddle cuts each backward that a forward follows"));
  EXPECT_EQ(note.find('\n'), std::string::npos);
  EXPECT_EQ(lastBackwardPartsOf({.schedule = "gpipe"}, note), 1);
  EXPECT_THAT(note, HasSubstr("has no effect with GPipe"));
  EXPECT_EQ(lastBackwardPartsOf({.scheduleFile = "mine.csv"}, note), 1);
  EXPECT_THAT(note, HasSubstr("has no effect with mine.csv"));
  note.clear();
  EXPECT_EQ(lastBackwardPartsOf({.lastBackwardParts = 3}, note), 3);
  EXPECT_EQ(note, "");
  const Setting off("FLAGS_1f1b_backward_forward_overlap", "0");
  EXPECT_EQ(lastBackwardPartsOf({}, note), 1);
  EXPECT_EQ(note, "");
}

TEST(SamplePlanTest, AStageHasAsManyPartsAsBlocksWhereTheseAreFewer) {
  const SampleOptions options{.stages = 2, .microBatches = 2, .replicas = 2, .buckets = 3};
  const CheckedPlan plan = withGradientsCut(samplePlan(options), options, 2, {.blocks = {4, 1}});
  const auto rowOf = [&](std::size_t rank) {
    std::string row;
    for (const Action& action : plan->ranks[rank]) row += toText(action) + ",";
    return row;
  };
  EXPECT_EQ(rowOf(0), "0F0,0F1,0B0,0B1.0,0REDUCE_GRAD0,0B1.1,0REDUCE_GRAD1,");
  EXPECT_EQ(rowOf(1), "1F0,1B0,1F1,1B1,1REDUCE_GRAD0,1REDUCE_GRAD1,1REDUCE_GRAD2,");
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
