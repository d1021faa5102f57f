#include "samples/loss_report.h"

#include <gmock/gmock.h>

#include <string>

namespace pipetrace {
namespace {

using ::testing::ElementsAre;

std::string printed(LossReport& report, int step, double loss, double seconds) {
  ::testing::internal::CaptureStdout();
  report.add(step, loss, seconds);
  return ::testing::internal::GetCapturedStdout();
}

// 32 windows of 64 tokens in a quarter of a second: 8192 a second.
TEST(LossReportTest, AStepsLineHasItsLossAndItsSpeed) {
  LossReport report(32 * 64, "tokens");
  EXPECT_EQ(printed(report, 7, 2.31049, 0.25), "step 7 loss 2.3105, 8192 tokens/s\n");
  EXPECT_EQ(printed(report, 8, 2.3, 3), "step 8 loss 2.3000, 683 tokens/s\n");
  EXPECT_THAT(report.losses(), ElementsAre(2.31049, 2.3));
}

TEST(LossReportTest, WithoutANumberOfItemsThereIsNoSpeed) {
  LossReport report;
  EXPECT_EQ(printed(report, 0, 1, 0.25), "step 0 loss 1.0000\n");
}

}  // namespace
}  // namespace pipetrace
