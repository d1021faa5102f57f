#include "trace/job_kind.h"

#include <gtest/gtest.h>

#include <set>

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
  EXPECT_TRUE(isComputeLane(JobKind::kCheckpoint));
  EXPECT_FALSE(isCompute(JobKind::kCheckpoint));
  EXPECT_FALSE(isComputeLane(JobKind::kCopy));
  EXPECT_FALSE(isComputeLane(JobKind::kSendForward));
}

TEST(JobKindTest, EachKindIsOfItsGroups) {
  using enum JobKind;
  const auto kindsOf = [](auto isOne) {
    std::set<JobKind> kinds;
    for (int i = 0; i < kJobKindCount; ++i) {
      if (isOne(static_cast<JobKind>(i))) kinds.insert(static_cast<JobKind>(i));
    }
    return kinds;
  };
  using Kinds = std::set<JobKind>;
  EXPECT_EQ(kindsOf(isCompute), (Kinds{kForward, kBackward, kBackwardInput, kBackwardWeight,
                                       kForwardBackward, kRecompute}));
  EXPECT_EQ(kindsOf(isSend), (Kinds{kSendForward, kSendBackward}));
  EXPECT_EQ(kindsOf(isRecv), (Kinds{kRecvForward, kRecvBackward}));
  EXPECT_EQ(kindsOf(isTransfer), (Kinds{kSendForward, kSendBackward, kRecvForward, kRecvBackward}));
  EXPECT_EQ(kindsOf(isForwardTransfer), (Kinds{kSendForward, kRecvForward}));
  EXPECT_EQ(kindsOf(isCollective),
            (Kinds{kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast}));
  for (const JobKind kind : kindsOf(isTransfer)) {
    EXPECT_EQ(transferKind(isSend(kind), isForwardTransfer(kind)), kind);
  }
}

TEST(JobKindTest, ProgramsRecordNeitherKernelsNorBubblesNorWhatPlansAloneHave) {
  for (const JobKindRow& row : kJobKinds) {
    using enum JobKind;
    const bool isNot =
        row.kind == kKernel || row.kind == kBubble || row.kind == kOther || row.kind == kReshard;
    EXPECT_EQ(isRecorded(row.kind), !isNot) << row.name;
  }
}

TEST(JobKindTest, ANumberOfALaterVersionIsOther) {
  EXPECT_EQ(jobKindOfNumber(1), JobKind::kForward);
  for (const int number : {-1, kJobKindCount, 255}) {
    EXPECT_EQ(jobKindOfNumber(number), JobKind::kOther) << number;
  }
}

TEST(JobKindTest, NoTwoKindsHaveTheSameWordInLogsOrPlans) {
  std::set<std::string_view> names;
  std::set<std::string_view> cells;
  for (const JobKindRow& row : kJobKinds) {
    if (row.kind == JobKind::kReshard) continue;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.paddleName.empty() || names.insert(row.paddleName).second) << row.name;
    EXPECT_TRUE(row.cell.empty() || cells.insert(row.cell).second) << row.cell;
  }
}

}  // namespace
}  // namespace pipetrace
