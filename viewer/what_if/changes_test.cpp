#include "viewer/what_if/changes.h"

#include <gmock/gmock.h>

#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string errorOf(const std::string& text) {
  try {
    (void)WhatIfChanges::of(text).question();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ChangesTest, EveryOptionComesBackAsItWasRead) {
  const std::string all =
      "--scale stage=2:0.8 --scale rank=5:0.833333333 --scale link=0-1:2 --scale kind=transfer:0 "
      "--link 1-2=3.25ms --balance stages --make-ideal worst=3% --no-launch --usual-launch 3 "
      "--schedule ZB-H1 --split 2:1 --chunks 2 --stage-depths 3,2,1,0 --micro-batches 16 "
      "--keep-batch --partition 3,2,2,3 --blocks equal --run-partition 2,3,3,2 "
      "--limit-activations 8.5 --comm-streams edge --transfers in-time";
  const WhatIfChanges changes = WhatIfChanges::of(all);
  EXPECT_EQ(changes.text(), all);
  EXPECT_EQ(WhatIfChanges::of(changes.text()), changes);
  EXPECT_TRUE(changes.isOfPlan());
  EXPECT_TRUE(WhatIfChanges::of("").empty());
}

TEST(ChangesTest, TheQuestionHasWhatTheOptionsSay) {
  const WhatIfQuestion question =
      WhatIfChanges::of(
          "--scale stage=2:0.8 --link 2-1=40us --usual-launch 3 --schedule ZB-H1 --split 2:1 "
          "--micro-batches 16 --keep-batch --comm-streams rank")
          .question();
  ASSERT_EQ(question.run.scales.size(), 1U);
  EXPECT_EQ(question.run.scales[0].billionths, 800'000'000);
  EXPECT_EQ(question.run.scales[0].text, "stage=2:0.8");
  ASSERT_EQ(question.run.links.size(), 1U);
  EXPECT_EQ(question.run.links[0].time, 40'000);
  EXPECT_EQ(question.run.links[0].rank, 1);
  EXPECT_THAT(question.run.usualLaunches, ElementsAre(3));
  EXPECT_EQ(question.plan.schedule, "ZB-H1");
  EXPECT_EQ(question.plan.split, std::pair(2, 1));
  EXPECT_EQ(question.plan.microBatches, 16);
  EXPECT_TRUE(question.plan.keepsBatch);
  EXPECT_EQ(question.plan.lines, CommStreams::kRank);
}

TEST(ChangesTest, OptionsThatNeedAnotherAreLeftOutWithoutIt) {
  WhatIfChanges changes;
  changes.split = "2:1";
  changes.limitActivations = "4";
  changes.keepsBatch = true;
  changes.blocks = "equal";
  EXPECT_EQ(changes.text(), "");
  EXPECT_TRUE(changes.question().plan.empty());
}

TEST(ChangesTest, WhatCannotBeReadNamesItsOption) {
  EXPECT_THAT(errorOf("--magic 3"), HasSubstr("--magic"));
  EXPECT_THAT(errorOf("--scale stage=2"), HasSubstr("--scale stage=2"));
  EXPECT_THAT(errorOf("--link 1=2ms"), HasSubstr("--link 1=2ms: write it as 1-2=4ms"));
  EXPECT_THAT(errorOf("--micro-batches many"), HasSubstr("--micro-batches many"));
  EXPECT_THAT(errorOf("--chunks"), HasSubstr("--chunks"));
  EXPECT_THAT(errorOf("--schedule ZB-H1 --split 0:1"), HasSubstr("--split 0:1"));
  EXPECT_THAT(errorOf("--comm-streams x"), HasSubstr("--comm-streams x"));
  EXPECT_THAT(errorOf("--partition 3,2"), HasSubstr("--partition 3,2 needs"));
}

TEST(ChangesTest, NumbersAreAsShortAsTheyAreExact) {
  EXPECT_EQ(factorText(1'000'000'000), "1");
  EXPECT_EQ(factorText(0), "0");
  EXPECT_EQ(factorText(1), "0.000000001");
  EXPECT_EQ(factorText(12'500'000'000), "12.5");
  EXPECT_EQ(linkTimeText(4'000'000), "4ms");
  EXPECT_EQ(linkTimeText(1), "0.000001ms");
  EXPECT_EQ(linkTimeText(0), "0ms");
}

}  // namespace
}  // namespace pipetrace
