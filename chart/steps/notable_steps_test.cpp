#include "chart/steps/step_span.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

/// Steps of these lengths, one after the other.
std::vector<StepSpan> stepsOf(const std::vector<Nanoseconds>& lengths) {
  std::vector<StepSpan> steps;
  Nanoseconds begin = 100;
  for (const Nanoseconds length : lengths) {
    steps.push_back({static_cast<std::int32_t>(steps.size()), begin, begin + length});
    begin += length;
  }
  return steps;
}

TEST(NotableStepsTest, TheSlowestIsTheFirstOfTheLongest) {
  EXPECT_EQ(slowestStep(stepsOf({5, 9, 7, 9}))->step, 1);
  EXPECT_FALSE(slowestStep({}));
}

TEST(NotableStepsTest, TheMedianIsTheShorterOfTheMiddleTwo) {
  EXPECT_EQ(medianStep(stepsOf({5, 9, 7}))->step, 2);
  EXPECT_EQ(medianStep(stepsOf({5, 9, 7, 8}))->step, 2);
  EXPECT_EQ(medianStep(stepsOf({4}))->step, 0);
  EXPECT_FALSE(medianStep({}));
}

}  // namespace
}  // namespace pipetrace
