#include "trace/per_step.h"

#include <gtest/gtest.h>

#include <random>

namespace pipetrace {
namespace {

TEST(PerStep, StepsAddedInAnyOrderAreTakenInAscendingOrder) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    PerStep<int> steps;
    std::map<std::int32_t, int> expected;
    std::int32_t step = -1;
    for (int i = 0; i < 200; ++i) {
      step += static_cast<std::int32_t>(random() % 5) - (round % 4);
      steps[step] += i;
      expected[step] += i;
    }
    const auto taken = steps.take();
    EXPECT_EQ((std::map<std::int32_t, int>(taken.begin(), taken.end())), expected);
    EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
    EXPECT_EQ(taken.size(), expected.size());
    EXPECT_TRUE(steps.take().empty());
  }
}

}  // namespace
}  // namespace pipetrace
