#include "samples/run_sample.h"

#include <gtest/gtest.h>

#include <limits>

namespace pipetrace {
namespace {

TEST(LossMeansTest, AreThoseOfTheFirstAndOfTheLastTenSteps) {
  std::vector<double> losses(12, 4.0);
  losses.resize(30, 1.0);
  EXPECT_EQ(meansOf(losses),
            "mean loss of the first 10 steps 4.0000, of the last 10 steps 1.0000 (0.25 of it)");
}

TEST(LossMeansTest, AreOfHalfTheStepsIfThereAreFew) {
  EXPECT_EQ(meansOf({3, 5, 7, 2, 4}),
            "mean loss of the first 2 steps 4.0000, of the last 2 steps 3.0000 (0.75 of it)");
  EXPECT_EQ(meansOf({3, 1.5}),
            "mean loss of the first step 3.0000, of the last step 1.5000 (0.50 of it)");
  EXPECT_EQ(meansOf({3}), "");
}

TEST(LossMeansTest, LeaveOutLossesThatAreNoNumbers) {
  EXPECT_EQ(meansOf({3, std::numeric_limits<double>::infinity(), 1.5}),
            "mean loss of the first step 3.0000, of the last step 1.5000 (0.50 of it)");
}

}  // namespace
}  // namespace pipetrace
