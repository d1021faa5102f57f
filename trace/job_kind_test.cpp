#include "trace/job_kind.h"

#include <gtest/gtest.h>

#include "trace/bubble_class.h"

namespace pipetrace {
namespace {

TEST(JobKindTest, EveryKindReadsBackFromItsLogName) {
  for (int i = 0; i < kJobKindCount; ++i) {
    const auto kind = static_cast<JobKind>(i);
    EXPECT_EQ(jobKindFromLogName(logName(kind)), kind) << logName(kind);
  }
}

TEST(JobKindTest, PaddlePaddlesNamesOfTheHalvesAreUnderstood) {
  EXPECT_EQ(jobKindFromLogName("backward_b"), JobKind::kBackwardInput);
  EXPECT_EQ(jobKindFromLogName("backward_w"), JobKind::kBackwardWeight);
}

TEST(JobKindTest, UnknownTypesAreOther) {
  EXPECT_EQ(jobKindFromLogName("frobnicate"), JobKind::kOther);
  EXPECT_EQ(jobKindFromLogName(""), JobKind::kOther);
}

TEST(JobKindTest, ComputeKindsAreThoseThatEndABubble) {
  EXPECT_TRUE(isCompute(JobKind::kForward));
  EXPECT_TRUE(isCompute(JobKind::kForwardBackward));
  EXPECT_TRUE(isCompute(JobKind::kRecompute));
  EXPECT_FALSE(isCompute(JobKind::kLr));
  EXPECT_FALSE(isCompute(JobKind::kOptimizer));
  EXPECT_FALSE(isCompute(JobKind::kSendForward));
  EXPECT_TRUE(isComputeLane(JobKind::kOptimizer));
  EXPECT_TRUE(isComputeLane(JobKind::kDefault));
  EXPECT_FALSE(isComputeLane(JobKind::kSendForward));
}

TEST(BubbleClassTest, EveryClassReadsBackFromItsName) {
  for (int i = 0; i < kBubbleClassCount; ++i) {
    const auto c = static_cast<BubbleClass>(i);
    EXPECT_EQ(bubbleClassFromName(bubbleClassName(c)), c);
  }
  EXPECT_EQ(bubbleClassFromName("frobnicate"), BubbleClass::kUnknown);
}

}  // namespace
}  // namespace pipetrace
