#include "analysis/run/steps/counted_steps.h"

#include <gmock/gmock.h>

#include <vector>

namespace pipetrace {
namespace {

using Step = CountedSteps::Step;

TEST(CountedSteps, FirstStepOfMoreThanOneAndAHalfTimesTheMedianOfTheOthersIsLeftOut) {
  const CountedSteps counted({}, {{0, 151}, {1, 90}, {2, 100}, {3, 400}});
  EXPECT_FALSE(counted.contains(0));
  EXPECT_TRUE(counted.contains(1));
  EXPECT_TRUE(counted.contains(3)) << "a later step counts, however long it is";
  EXPECT_FALSE(counted.areAll());
  EXPECT_EQ(counted.leftOut()->usual, 100);
  EXPECT_EQ(counted.leftOutText(),
            "step 0 takes 151 ns, 1.51 times the median of the others, and is left out");
}

TEST(CountedSteps, FirstStepOfExactlyOneAndAHalfTimesTheMedianCounts) {
  const CountedSteps counted({}, {{0, 150}, {1, 100}});
  EXPECT_TRUE(counted.contains(0));
  EXPECT_TRUE(counted.areAll());
  EXPECT_EQ(counted.leftOutText(), "");
}

TEST(CountedSteps, ChosenStepsCountAndNoOthers) {
  const CountedSteps counted({{0, 1}, {2, 3}}, {{0, 1000}, {1, 100}, {2, 100}});
  EXPECT_TRUE(counted.contains(0)) << "it is long, but asked for";
  EXPECT_FALSE(counted.contains(1));
  EXPECT_TRUE(counted.contains(2));
  EXPECT_FALSE(counted.leftOut());
}

TEST(CountedSteps, StepOfSeveralPipelinesIsAsLongAsInTheSlowest) {
  EXPECT_FALSE(CountedSteps({}, {{0, 10}, {0, 160}, {1, 10}, {1, 100}}).contains(0));
  EXPECT_TRUE(CountedSteps({}, {{0, 10}, {0, 140}, {1, 10}, {1, 100}}).contains(0));
}

TEST(CountedSteps, StepsThatLackJobsAreNoMeasureForTheFirst) {
  const std::vector<Step> cutOff = {{0, 100}, {1, 10, false}};
  EXPECT_TRUE(CountedSteps({}, cutOff).contains(0));
  const std::vector<Step> oneIsWhole = {{0, 100}, {1, 90}, {2, 10, false}, {3, 10, false}};
  EXPECT_TRUE(CountedSteps({}, oneIsWhole).contains(0));
}

TEST(CountedSteps, StepsWithWorkThatHasNoTimeAreLeftOutIfOthersAreLeft) {
  const Step untimed{.number = 1, .length = 100, .isTimed = false};
  const CountedSteps counted({}, {{0, 100}, untimed, {2, 100}});
  EXPECT_FALSE(counted.contains(1));
  EXPECT_TRUE(counted.contains(2));
  EXPECT_FALSE(counted.areAll());
  EXPECT_EQ(counted.untimedText(), "work has no time in 1 step, which is left out");
  EXPECT_THAT(counted.leftOutTexts(), testing::ElementsAre(counted.untimedText()));
  EXPECT_TRUE(CountedSteps({}, {untimed, {2, 100, false}}).contains(1)) << "no other is whole";
  EXPECT_TRUE(CountedSteps({{1, 2}}, {untimed, {2, 100}}).contains(1)) << "it is asked for";
}

TEST(CountedSteps, WholeOnesLeaveOutStepsThatLackJobs) {
  const CountedSteps counted({}, {{0, 200}, {1, 100}, {2, 100}, {3, 10, false}, {3, 100}});
  EXPECT_TRUE(counted.contains(3));
  const CountedSteps whole = counted.wholeOnes();
  EXPECT_TRUE(whole.contains(2));
  EXPECT_FALSE(whole.contains(3)) << "one pipeline lacks jobs";
  EXPECT_FALSE(whole.areAll());
  EXPECT_THAT(whole.leftOutTexts(),
              testing::ElementsAre(
                  "step 0 takes 200 ns, 2.00 times the median of the others, and is left out",
                  "jobs are missing in 1 step, which is left out"));
}

TEST(CountedSteps, WholeOnesAreAllWhereEachStepLacksJobs) {
  const CountedSteps whole = CountedSteps({}, {{0, 10, false}, {1, 10, false}}).wholeOnes();
  EXPECT_TRUE(whole.areAll());
  EXPECT_THAT(whole.leftOutTexts(), testing::IsEmpty());
}

TEST(CountedSteps, StepsThatWereChosenCountThoughTheyLackJobs) {
  EXPECT_TRUE(CountedSteps({{0, 1}}, {{0, 10, false}, {1, 10}}).wholeOnes().contains(0));
}

TEST(CountedSteps, AllOfAnAsynchronousRunCount) {
  const CountedSteps counted({{5, 8}}, {{0, 100, true, true}});
  EXPECT_TRUE(counted.areAll());
}

}  // namespace
}  // namespace pipetrace
