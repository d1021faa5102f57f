#include "analysis/diff/block_bootstrap.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

/// The usual table of critical values.
TEST(StudentT, HasTheValuesOfTheTable) {
  EXPECT_NEAR(studentT(0.025, 1), 12.706, 0.001);
  EXPECT_NEAR(studentT(0.025, 2), 4.303, 0.001);
  EXPECT_NEAR(studentT(0.025, 3), 3.182, 0.001);
  EXPECT_NEAR(studentT(0.025, 10), 2.228, 0.001);
  EXPECT_NEAR(studentT(0.025, 30), 2.042, 0.001);
  EXPECT_NEAR(studentT(0.005, 4), 4.604, 0.001);
  EXPECT_NEAR(studentT(0.0005, 2), 31.599, 0.001);
  EXPECT_NEAR(studentT(0.05, 120), 1.658, 0.001);
}

TEST(StudentT, BecomesNormalWithManyDegrees) { EXPECT_NEAR(studentT(0.025, 1e6), 1.960, 0.001); }

}  // namespace
}  // namespace pipetrace
