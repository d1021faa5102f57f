#include "trace/bubble_class.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pipetrace {
namespace {

TEST(BubbleClassTest, WarmUpSteadyStateAndDrainAreOfTheSchedule) {
  std::set<BubbleClass> found;
  for (const BubbleClassRow& row : kBubbleClasses) {
    if (isOfSchedule(row.of)) found.insert(row.of);
  }
  EXPECT_EQ(found, (std::set{BubbleClass::kWarmUp, BubbleClass::kSteady, BubbleClass::kDrain}));
}

TEST(BubbleClassTest, EveryClassReadsBackFromItsName) {
  for (const BubbleClassRow& row : kBubbleClasses) EXPECT_EQ(bubbleClassFromName(row.name), row.of);
  EXPECT_FALSE(bubbleClassFromName("frobnicate"));
}

TEST(BubbleClassTest, LateStartsAreReadUnderTheirFormerName) {
  EXPECT_EQ(bubbleClassName(BubbleClass::kLateStart), "late_start");
  EXPECT_EQ(bubbleClassFromName("launch"), BubbleClass::kLateStart);
}

TEST(BubbleClassTest, NoTwoClassesShareANameAMarkOrAMeaning) {
  std::set<std::string_view> names = {""};
  std::set<std::string> meanings;
  std::set<char> marks = {'-'};  // of the schedule's own
  for (const BubbleClassRow& row : kBubbleClasses) {
    if (row.of == BubbleClass::kNone) continue;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.formerName.empty() || names.insert(row.formerName).second) << row.formerName;
    EXPECT_TRUE(meanings.insert(row.meaning).second) << row.meaning;
    EXPECT_NE(isOfSchedule(row.of), marks.insert(row.mark).second) << row.name;
  }
}

TEST(BubbleClassTest, ClassesThatFewRunsHaveAreReportedWhereTheyOccur) {
  EXPECT_FALSE(isReported(BubbleClass::kBlocked, 0));
  EXPECT_TRUE(isReported(BubbleClass::kBlocked, 1));
  EXPECT_TRUE(isReported(BubbleClass::kLateStart, 0));
}

}  // namespace
}  // namespace pipetrace
