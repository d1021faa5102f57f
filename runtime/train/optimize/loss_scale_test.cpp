#include "runtime/train/optimize/loss_scale.h"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "runtime/testing/error_of.h"
#include "schedule/build_schedule.h"
#include "schedule/check/checked_plan.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;

void endSteps(LossScale& scale, int count, bool overflowed) {
  for (int i = 0; i < count; ++i) scale.endStep(overflowed);
}

TEST(LossScaleTest, ADynamicOneDoublesAfter2000StepsWithoutAnOverflow) {
  LossScale scale = LossScale::dynamic();
  EXPECT_EQ(scale.value(), 65'536);
  endSteps(scale, 1999, false);
  EXPECT_EQ(scale.value(), 65'536);
  endSteps(scale, 1, false);
  EXPECT_EQ(scale.value(), 131'072);
  endSteps(scale, 1999, false);
  EXPECT_EQ(scale.value(), 131'072);
  endSteps(scale, 1, false);
  EXPECT_EQ(scale.value(), 262'144);
}

TEST(LossScaleTest, ADynamicOneHalvesOnAnOverflowAndCountsAgain) {
  LossScale scale = LossScale::dynamic();
  endSteps(scale, 1500, false);
  endSteps(scale, 1, true);
  EXPECT_EQ(scale.value(), 32'768);
  endSteps(scale, 1999, false);
  EXPECT_EQ(scale.value(), 32'768);
  endSteps(scale, 1, false);
  EXPECT_EQ(scale.value(), 65'536);
}

// 65536 = 2^16: halved 16 times it is 1.
TEST(LossScaleTest, ADynamicOneIsAtLeastOne) {
  LossScale scale = LossScale::dynamic();
  endSteps(scale, 15, true);
  EXPECT_EQ(scale.value(), 2);
  endSteps(scale, 1, true);
  EXPECT_EQ(scale.value(), 1);
  endSteps(scale, 3, true);
  EXPECT_EQ(scale.value(), 1);
}

TEST(LossScaleTest, TrainingHasFailedAfter20OverflowsInARow) {
  LossScale scale = LossScale::dynamic();
  endSteps(scale, 19, true);
  EXPECT_EQ(scale.overflowsInARow(), 19);
  EXPECT_EQ(scale.failure(), "");
  endSteps(scale, 1, false);
  EXPECT_EQ(scale.overflowsInARow(), 0);
  endSteps(scale, 19, true);
  EXPECT_EQ(scale.failure(), "");
  endSteps(scale, 1, true);
  EXPECT_THAT(scale.failure(), HasSubstr("20 steps in a row, though the loss scale fell to 1;"));
}

TEST(LossScaleTest, AFixedOneNeverChanges) {
  LossScale scale = LossScale::fixed(1024);
  endSteps(scale, 5000, false);
  EXPECT_EQ(scale.value(), 1024);
  endSteps(scale, 19, true);
  EXPECT_EQ(scale.value(), 1024);
  EXPECT_EQ(scale.failure(), "");
  endSteps(scale, 1, true);
  EXPECT_THAT(scale.failure(), HasSubstr("20 steps in a row with the loss scale 1024; training"));
}

TEST(LossScaleTest, ScalesThatAreNoPositiveNumbersAreRefused) {
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(LossScale::fixed(value), Error) << value;
  }
}

TEST(LossScaleTest, ADynamicOneGoesOnWhereAnotherOneEnded) {
  LossScale first = LossScale::dynamic();
  endSteps(first, 3, true);
  endSteps(first, 1500, false);
  LossScale second = LossScale::dynamic();
  second.resume(first.state());
  EXPECT_EQ(second.state(), first.state());
  EXPECT_EQ(second.value(), 8192);
  endSteps(second, 500, false);
  EXPECT_EQ(second.value(), 16'384);
  endSteps(first, 19, true);
  second.resume(first.state());
  endSteps(second, 1, true);
  EXPECT_THAT(second.failure(), HasSubstr("20 steps in a row"));
}

TEST(LossScaleTest, AFixedOneStaysWhatTheProgramSays) {
  LossScale fixed = LossScale::fixed(1024);
  fixed.resume(LossScale::dynamic().state());
  EXPECT_EQ(fixed.value(), 1024);
  fixed.resume(LossScale::fixed(8).state());
  EXPECT_EQ(fixed.value(), 1024);
  LossScale dynamic = LossScale::dynamic();
  dynamic.resume(LossScale::fixed(8).state());
  EXPECT_EQ(dynamic.value(), 65'536);
  EXPECT_THROW(dynamic.resume({.value = 0, .isDynamic = true}), Error);
}

TEST(LossScaleTest, ADynamicOneIsForPlansWithAFlush) {
  const LossScale dynamic = LossScale::dynamic();
  const CheckedPlan two = buildSchedule("1F1B", 2, 4);
  const CheckedPlan unflushed = buildSchedule("PipeDream", 1, 4);
  EXPECT_NO_THROW(requireFits(dynamic, *two));
  EXPECT_THAT(errorOf([&] { requireFits(dynamic, *unflushed); }),
              HasSubstr("PipeDream changes its weights within a step"));
  EXPECT_NO_THROW(requireFits(LossScale::fixed(8), *unflushed));
}

}  // namespace
}  // namespace pipetrace
