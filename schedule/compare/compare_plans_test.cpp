#include "schedule/compare/compare_plans.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "schedule/build_schedule.h"
#include "schedule/fingerprint.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Forwards of 12 ms, both halves of a backward of 12 ms: a rank's share.
CompareInput inputFor(int ranks, int microBatches) {
  constexpr Nanoseconds kUnit = 12 * kNsPerMs;
  return {.ranks = ranks,
          .microBatches = microBatches,
          .shares = Costs::equal(ranks, {kUnit, 2 * kUnit, kUnit, kUnit})};
}

const ComparedPlan& planOf(const ComparedPlans& compared, std::string_view schedule, int chunks) {
  const auto found = std::find_if(
      compared.plans.begin(), compared.plans.end(),
      [&](const ComparedPlan& plan) { return plan.schedule == schedule && plan.chunks == chunks; });
  if (found == compared.plans.end()) throw Error("no " + std::string(schedule));
  return *found;
}

std::string reasonFor(const ComparedPlans& compared, std::string_view schedule, int chunks) {
  for (const LeftOutPlan& plan : compared.leftOut) {
    const bool names = std::count(plan.chunks.begin(), plan.chunks.end(), chunks) > 0;
    if (plan.schedule == schedule && names) {
      return plan.reason + (plan.detail.empty() ? "" : ": " + plan.detail);
    }
  }
  return "";
}

struct Published {
  std::string_view schedule;
  int chunks;
  double length;  // in forwards of a share
  double activations;
};

// The figures of ../shared/data/README.md, which other programs computed; of one chunk and of two.
constexpr Published kPublished[] = {
    {"FThenB", 1, 33, 8},
    {"GPipe", 1, 33, 8},
    {"1F1B", 1, 33, 4},
    {"Eager1F1B", 1, 33, 7},
    {"Interleaved1F1B", 2, 28.5, 5.5},
    {"LoopedBFS", 2, 28.5, 8},
    {"ZB-H1", 1, 27, 4},
    {"ZB-H2", 1, 27, 7},
    {"InterleavedZeroBubble", 2, 25.5, 4},
    {"ZBV", 2, 25.5, 4},
    {"V-Half", 2, 26.5, 3},
    {"V-Min", 2, 29.5, 2},
};

TEST(ComparePlans, HaveTheFiguresThatOthersPublishedForFourRanksAndEightMicroBatches) {
  const ComparedPlans compared = comparePlans(inputFor(4, 8));
  for (const Published& known : kPublished) {
    const ComparedPlan& plan = planOf(compared, known.schedule, known.chunks);
    EXPECT_EQ(static_cast<double>(plan.length), known.length * 12 * kNsPerMs) << known.schedule;
    EXPECT_DOUBLE_EQ(plan.peakActivations, known.activations) << known.schedule;
    EXPECT_NEAR(plan.bubbleRatio, 1 - 24 / known.length, 1e-9) << known.schedule;
  }
}

TEST(ComparePlans, AreListedByTheLengthOfTheirStepAndThenByWhatTheyHold) {
  const ComparedPlans compared = comparePlans(inputFor(4, 8));
  ASSERT_FALSE(compared.plans.empty());
  for (std::size_t i = 1; i < compared.plans.size(); ++i) {
    const ComparedPlan& before = compared.plans[i - 1];
    const ComparedPlan& plan = compared.plans[i];
    EXPECT_LE(before.length, plan.length);
    if (before.length != plan.length) continue;
    EXPECT_LE(before.peakActivations, plan.peakActivations);
  }
  // Nothing is shorter than what the search finds over as many chunks.
  for (const ComparedPlan& plan : compared.plans) {
    if (plan.isAsynchronous) continue;
    EXPECT_LE(planOf(compared, "auto", plan.chunks).length, plan.length) << plan.name;
  }
}

TEST(ComparePlans, NameWhatIsLeftOutAndWhy) {
  const ComparedPlans compared = comparePlans(inputFor(2, 4));
  EXPECT_THAT(compared.leftOut, Contains(AllOf(Field(&LeftOutPlan::schedule, "ForwardOnly"),
                                               Field(&LeftOutPlan::chunks, ElementsAre(1, 2, 3, 4)),
                                               Field(&LeftOutPlan::reason, "nothing is trained"))));
  EXPECT_THAT(compared.leftOut,
              Contains(AllOf(Field(&LeftOutPlan::schedule, "1F1B"),
                             Field(&LeftOutPlan::chunks, ElementsAre(2, 3, 4)),
                             Field(&LeftOutPlan::reason, "only 1 chunk a rank"))));
  EXPECT_EQ(reasonFor(compared, "ZBV", 1), "only 2 chunks a rank");
  std::size_t all = compared.plans.size();
  for (const LeftOutPlan& plan : compared.leftOut) all += plan.chunks.size();
  EXPECT_EQ(all, 4 * knownSchedules().size());
}

TEST(ComparePlans, WithinALimitOfActivationsHoldNoMoreWholeSharesThanThat) {
  CompareInput input = inputFor(4, 8);
  input.activationLimit = 4'000'000;
  const ComparedPlans compared = comparePlans(input);
  for (const ComparedPlan& plan : compared.plans) {
    EXPECT_LE(plan.peakActivations, 4) << plan.name;
    EXPECT_EQ(plan.peakMemory, 0);
  }
  EXPECT_EQ(planOf(compared, "InterleavedZeroBubble", 2).peakActivations, 4);
  EXPECT_EQ(reasonFor(compared, "GPipe", 1), "over the limit: 8.00 activations on rank 0");
  EXPECT_EQ(reasonFor(compared, "Interleaved1F1B", 2),
            "over the limit: 5.50 activations on rank 0");
  // auto is made for the limit: for bytes, as many of them are the same.
  AutoInput bytes{.costs = Costs::equal(4, input.shares.stages.front()),
                  .memoryLimit = 4'000'000'000};
  for (StageCosts& stage : bytes.costs.stages) stage.activation = 1'000'000'000;
  EXPECT_EQ(planOf(compared, "auto", 1).fingerprint,
            fingerprint(buildSchedule("auto", {4, 8, 1}, bytes)));
}

TEST(ComparePlans, FitIntoTheLimitWithThreeChunksForEachWholeShare) {
  CompareInput input = inputFor(3, 6);
  input.activationLimit = 6'000'000;  // 18 chunks of a third
  EXPECT_EQ(planOf(comparePlans(input), "LoopedBFS", 3).peakActivations, 6);
  input.activationLimit = 5'999'999;
  EXPECT_THAT(reasonFor(comparePlans(input), "LoopedBFS", 3), HasSubstr("6.00 activations"));
}

TEST(ComparePlans, OverTheLimitInBytesAreNamedWithTheirRankAndTheirBytes) {
  CompareInput input = inputFor(4, 8);
  input.hasMemory = true;
  for (StageCosts& share : input.shares.stages) {
    share.activation = 1'000'000'000;
    share.weights = 2'000'000'000;
  }
  input.shares.stages[2].activation = 3'000'000'000;
  input.memoryLimit = 8'000'000'000;
  const ComparedPlans compared = comparePlans(input);
  // 1F1B holds 4, 3, 2 and 1 micro-batches, beside the weights.
  EXPECT_EQ(planOf(compared, "1F1B", 1).peakMemory, 8'000'000'000);
  EXPECT_EQ(reasonFor(compared, "FThenB", 1), "over the limit: 26.00 GB on rank 2");
}

// Lengths as in ../shared/data/message_order, which a separate program has computed.
TEST(ComparePlans, SayWhichOfThemNeedTheirMessagesInTheOrderOfTheirTimes) {
  CompareInput input{.ranks = 4,
                     .microBatches = 8,
                     .mostChunks = 2,
                     .shares = Costs::equal(4, {.forward = 20 * kNsPerMs,
                                                .backward = 40 * kNsPerMs,
                                                .backwardInput = 20 * kNsPerMs,
                                                .backwardWeight = 20 * kNsPerMs})};
  input.shares.transfer = kNsPerMs;
  const ComparedPlans free = comparePlans(input);
  const ComparedPlan& looped = planOf(free, "LoopedBFS", 2);
  EXPECT_EQ(looped.inTorchOrder, 854 * kNsPerMs);
  EXPECT_EQ(looped.inTime, 576 * kNsPerMs);
  EXPECT_TRUE(looped.needsOrderInTime());
  EXPECT_EQ(looped.messages, 2 * 7 * 8) << "forwards and gradients over seven edges";
  EXPECT_FALSE(planOf(free, "1F1B", 1).needsOrderInTime());
  input.commStreams = CommStreams::kRank;
  EXPECT_EQ(planOf(comparePlans(input), "LoopedBFS", 2).length, 576 * kNsPerMs)
      << "the shorter one of both orders";
}

TEST(ComparePlans, HaveNoMessagesAndNoOrderOnOneRank) {
  const ComparedPlans compared = comparePlans(inputFor(1, 3));
  const ComparedPlan& plan = planOf(compared, "1F1B", 1);
  EXPECT_EQ(plan.messages, 0);
  EXPECT_FALSE(plan.inTime);
  EXPECT_FALSE(plan.needsOrderInTime());
  EXPECT_EQ(plan.bubbleRatio, 0);
}

TEST(ComparePlans, SayWhatIsAnotherTrainingAndWhatKeepsWeightsTwice) {
  const ComparedPlans compared = comparePlans(inputFor(4, 8));
  EXPECT_TRUE(planOf(compared, "PipeDream", 1).isAsynchronous);
  EXPECT_EQ(planOf(compared, "PipeDream", 1).weightVersions, 4);
  EXPECT_TRUE(planOf(compared, "DualPipe", 1).hasWeightsTwice);
  EXPECT_FALSE(planOf(compared, "DualPipeV", 2).hasWeightsTwice);
}

TEST(ComparePlans, SayWhatABatchMoreTakesWithoutAFlush) {
  CompareInput input = inputFor(4, 8);
  for (StageCosts& share : input.shares.stages) share = {10 * kNsPerMs, 20 * kNsPerMs};
  input.shares.stages[2] = {13 * kNsPerMs, 26 * kNsPerMs};
  input.shares.transfer = 0;
  const ComparedPlans compared = comparePlans(input);
  // The slowest rank is never idle then.
  EXPECT_EQ(planOf(compared, "PipeDream", 1).steadyStep, 8 * 39 * kNsPerMs);
  EXPECT_EQ(planOf(compared, "PipeDream-2BW", 1).steadyStep, 8 * 39 * kNsPerMs);
  EXPECT_GT(planOf(compared, "PipeDream", 1).length, 8 * 39 * kNsPerMs);
  EXPECT_FALSE(planOf(compared, "1F1B", 1).steadyStep);
}

TEST(ComparePlans, AreTheSameOnAnyNumberOfThreads) {
  CompareInput input = inputFor(3, 5);
  const ComparedPlans one = comparePlans(input);
  input.threads = 3;
  const ComparedPlans three = comparePlans(input);
  ASSERT_EQ(one.plans.size(), three.plans.size());
  for (std::size_t i = 0; i < one.plans.size(); ++i) {
    EXPECT_EQ(one.plans[i].name, three.plans[i].name);
    EXPECT_EQ(one.plans[i].fingerprint, three.plans[i].fingerprint);
    EXPECT_EQ(one.plans[i].length, three.plans[i].length);
  }
}

TEST(ComparePlans, AreLeftOutWithMoreThanTwoMillionJobs) {
  const ComparedPlans compared = comparePlans(inputFor(1, 700'000));
  EXPECT_THAT(compared.plans, SizeIs(0));
  EXPECT_EQ(reasonFor(compared, "1F1B", 1), "over 2 million jobs");
}

TEST(ComparePlans, WithoutRanksOrWithSharesOfOthersAreRefused) {
  EXPECT_THROW(comparePlans({.ranks = 0, .microBatches = 1}), Error);
  CompareInput input = inputFor(2, 2);
  input.ranks = 3;
  EXPECT_THROW(comparePlans(input), Error);
}

}  // namespace
}  // namespace pipetrace
