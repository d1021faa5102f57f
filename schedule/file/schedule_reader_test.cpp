#include "schedule/file/schedule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/testing/plan_texts.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::errorOf;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ScheduleReader, EveryKindOfCellIsUnderstood) {
  const Plan plan = readPlan(
      "0F1,0B1,12I3,0W2\n(1F7;2B3)OVERLAP_F_B,1SEND_F2,1RECV_F0,2SEND_B4,1RECV_B9\n", "plan.csv");
  const std::vector<Action> first = {{JobKind::kForward, 0, 1},
                                     {JobKind::kBackward, 0, 1},
                                     {JobKind::kBackwardInput, 12, 3},
                                     {JobKind::kBackwardWeight, 0, 2}};
  const std::vector<Action> second = {{JobKind::kForwardBackward, 1, 7, 2, 3},
                                      {JobKind::kSendForward, 1, 2},
                                      {JobKind::kRecvForward, 1, 0},
                                      {JobKind::kSendBackward, 2, 4},
                                      {JobKind::kRecvBackward, 1, 9}};
  ASSERT_EQ(plan.numRanks(), 2);
  EXPECT_EQ(plan.ranks[0], first);
  EXPECT_EQ(plan.ranks[1], second);
  EXPECT_EQ(plan.numStages, 13);
  EXPECT_EQ(plan.numMicroBatches, 10);
  EXPECT_EQ(plan.name, "plan.csv");
}

TEST(ScheduleReader, WrittenTextEqualsTheTextThatWasRead) {
  const std::string text = "0F0,(0F1;1B0)OVERLAP_F_B,0I1\n2W0,2SEND_F3,1RECV_B0\n";
  EXPECT_EQ(toCsv(readPlan(text, "plan.csv")), text);
}

TEST(ScheduleReader, ABThatHasItsWIsTheInputHalfOfTorchsOldNotation) {
  const Plan plan = readPlan("0F0,0B0,0W0,0F1,0B1,0W1\n", "old.csv");
  EXPECT_EQ(toCsv(plan), "0F0,0I0,0W0,0F1,0I1,0W1\n");
  EXPECT_THAT(plan.name, AllOf(StartsWith("old.csv"), HasSubstr("old notation")));
  const Plan whole = readPlan("0F0,0BW0,0F1,0B1,0W1\n", "old.csv");
  EXPECT_EQ(toCsv(whole), "0F0,0B0,0F1,0I1,0W1\n") << "BW is the whole backward pass";
  const Plan mistaken = readPlan("0F0,0B0,0W0,0F1,0B1\n", "plan.csv");
  EXPECT_EQ(toCsv(mistaken), "0F0,0B0,0W0,0F1,0B1\n") << "a W too many is a mistake";
  EXPECT_EQ(mistaken.name, "plan.csv");
}

TEST(ScheduleReader, BlankCellsAreLeftOutAndDataParallelOnesAreNot) {
  const Plan plan = readPlan(
      ",0UNSHARD,0F0, ,0B0,0REDUCE_GRAD,\r\n,,1F0\t, 1B0,1REDUCE_GRAD,1RESHARD,1UNSHARD0\r\n\n\n",
      "plan.csv");
  EXPECT_EQ(toCsv(plan),
            "0UNSHARD,0F0,0B0,0REDUCE_GRAD\n1F0,1B0,1REDUCE_GRAD,1RESHARD,1UNSHARD0\n");
}

TEST(ScheduleReader, ByteOrderMarkAndMissingLastNewlineAreAccepted) {
  EXPECT_EQ(toCsv(readPlan("\xef\xbb\xbf"
                           "0F0,0B0",
                           "plan.csv")),
            "0F0,0B0\n");
}

TEST(ScheduleReader, StagesBelongToTheFirstRankThatHasThem) {
  const Plan plan = readPlan("0F0,3F0\n1F0,2F0\n", "plan.csv");
  EXPECT_EQ(toText(plan.placement.ranksOfStage), "0/1/1/0");
  EXPECT_EQ(toText(readPlan("2F0\n", "plan.csv").placement.ranksOfStage), "-1/-1/0");
}

TEST(ScheduleReader, BadCellsAreNamedWithLineAndColumn) {
  for (const char* cell :
       {"0F0garbage", "0F-1", "-1F0", "F0", "0F", "0X0", "0", "(0F7;7B3)", "(0F7;7B3)OVERLAP_F_B2",
        "(0B7;7F3)OVERLAP_F_B", "(0F7;7I3)OVERLAP_F_B", "(", "0F99999999999", "10000000F0", "0 F0",
        "0f0", "0REDUCE_GRADx", "REDUCE_GRAD", "\"0F0\""}) {
    EXPECT_THAT(
        errorOf(std::string("0F0,0B0\n1F0, ") + cell + ",1B0\n"),
        StartsWith("plan.csv:2:6: rank 1, cell 1: \"" + std::string(cell) + "\" is no action"))
        << cell;
  }
}

TEST(ScheduleReader, AllBadCellsAreListedAtOnce) {
  EXPECT_EQ(
      errorOf("0F0,oops,0B0\n,1F\n"),
      std::string(
          "plan.csv:1:5: rank 0, cell 1: \"oops\" is no action; cells look like 0F3, 0B3, 0I3, "
          "0W3, 0R3, (0F3;1B2)OVERLAP_F_B, 0SEND_F3 and 1RECV_F3\n") +
          "plan.csv:2:2: rank 1, cell 0: \"1F\" is no action; cells look like 0F3, 0B3, 0I3, "
          "0W3, 0R3, (0F3;1B2)OVERLAP_F_B, 0SEND_F3 and 1RECV_F3");
}

TEST(ScheduleReader, LongListsOfErrorsAreCutShort) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x,";
  const std::string error = errorOf(text);
  EXPECT_THAT(error, HasSubstr("and 990 more"));
  EXPECT_LT(error.size(), 3000U);
}

TEST(ScheduleReader, BinaryAndHugeCellsAreShownShortAndPrintable) {
  const std::string error = errorOf(std::string("\x1b[31m\0", 6) + std::string(1 << 20, 'A'));
  EXPECT_LT(error.size(), 200U);
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_EQ(error.find('\0'), std::string::npos);
}

TEST(ScheduleReader, EmptyFileIsAnError) {
  for (const char* text : {"", "\n\n", " \n"}) {
    EXPECT_THAT(errorOf(text), StartsWith("plan.csv: no actions")) << text;
  }
}

TEST(ScheduleReader, RankWithoutActionsIsAnError) {
  EXPECT_EQ(errorOf("0F0,0B0\n\n1F0,1B0\n"), "plan.csv:2:1: rank 1: a rank without actions");
  EXPECT_EQ(errorOf("0F0,0B0\n1REDUCE_GRAD,\n2F0\n"),
            "plan.csv:2:1: rank 1: a rank without actions");
}

}  // namespace
}  // namespace pipetrace
