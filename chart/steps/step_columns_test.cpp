#include "chart/steps/step_columns.h"

#include <gtest/gtest.h>

#include <random>

namespace pipetrace {
namespace {

TEST(StepColumnsTest, WideStepsHaveABarEach) {
  const std::vector<StepSpan> steps = {{3, 0, 400}, {4, 400, 700}, {5, 750, 1000}};
  const TimeAxis axis(0, 1000, 100);
  const auto columns = stepColumns(steps, {{4, 0.25}}, axis);
  ASSERT_EQ(columns.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(columns[i].left, axis.xOf(steps[i].begin));
    EXPECT_EQ(columns[i].right, axis.xOf(steps[i].end));
    EXPECT_EQ(columns[i].first, i);
    EXPECT_EQ(columns[i].longest, i);
    EXPECT_EQ(columns[i].mean, steps[i].end - steps[i].begin);
  }
  EXPECT_FALSE(columns[0].bubbleRatio);
  EXPECT_DOUBLE_EQ(columns[1].bubbleRatio.value_or(0), 0.25);
}

TEST(StepColumnsTest, ManyStepsShareColumnsWithTheirMeanAndTheirLongest) {
  std::mt19937 random(7);
  std::vector<StepSpan> steps;
  std::map<std::int32_t, double> ratios;
  Nanoseconds begin = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto duration = static_cast<Nanoseconds>(1000 + random() % 500);
    steps.push_back({i, begin, begin + duration});
    ratios[i] = static_cast<double>(random() % 100) / 100;
    begin += duration + 10;
  }
  steps[70'123].end += 9;  // the longest of its pixel, or not
  const TimeAxis axis(0, begin, 1200);
  const auto columns = stepColumns(steps, ratios, axis);
  EXPECT_LE(columns.size(), 1200U);
  EXPECT_GE(columns.size(), 1150U);
  std::size_t next = 0;
  int free = 0;
  for (const StepColumn& column : columns) {
    ASSERT_EQ(column.first, next) << "no step is left out";
    next += column.count;
    ASSERT_GE(column.left, free);
    ASSERT_GT(column.right, column.left);
    free = column.right;
    Nanoseconds longest = 0;
    Nanoseconds sum = 0;
    double idle = 0;
    for (std::size_t i = column.first; i < next; ++i) {
      const Nanoseconds duration = steps[i].end - steps[i].begin;
      EXPECT_EQ(axis.xOf(steps[i].begin), column.left);
      longest = std::max(longest, duration);
      sum += duration;
      idle += static_cast<double>(duration) * ratios[steps[i].step];
    }
    EXPECT_EQ(steps[column.longest].end - steps[column.longest].begin, longest);
    EXPECT_NEAR(static_cast<double>(column.mean),
                static_cast<double>(sum) / static_cast<double>(column.count), 1);
    EXPECT_NEAR(column.bubbleRatio.value_or(-1), idle / static_cast<double>(sum), 1e-9);
  }
  EXPECT_EQ(next, steps.size());
}

}  // namespace
}  // namespace pipetrace
