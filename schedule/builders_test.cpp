#include <gtest/gtest.h>

#include "schedule/build_schedule.h"
#include "schedule/builders.h"
#include "schedule/check.h"
#include "schedule/schedule_writer.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// Written by hand from the papers' figures, one row a rank.

TEST(OneFOneB, TwoRanksFourMicroBatches) {
  EXPECT_EQ(toCsv(oneFOneB(2, 4)),
            "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n"
            "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n");
}

TEST(OneFOneB, ThreeRanksThreeMicroBatches) {
  EXPECT_EQ(toCsv(oneFOneB(3, 3)),
            "0F0,0F1,0F2,0B0,0B1,0B2\n"
            "1F0,1F1,1B0,1F2,1B1,1B2\n"
            "2F0,2B0,2F1,2B1,2F2,2B2\n");
}

TEST(OneFOneB, FewerMicroBatchesThanRanksShortenTheWarmUp) {
  EXPECT_EQ(toCsv(oneFOneB(3, 1)), "0F0,0B0\n1F0,1B0\n2F0,2B0\n");
  EXPECT_EQ(toCsv(oneFOneB(3, 2)),
            "0F0,0F1,0B0,0B1\n"
            "1F0,1F1,1B0,1B1\n"
            "2F0,2B0,2F1,2B1\n");
}

TEST(OneFOneB, OneRankAlternates) { EXPECT_EQ(toCsv(oneFOneB(1, 2)), "0F0,0B0,0F1,0B1\n"); }

TEST(GPipe, BackwardsComeNewestFirst) {
  EXPECT_EQ(toCsv(gPipe(2, 3)),
            "0F0,0F1,0F2,0B2,0B1,0B0\n"
            "1F0,1F1,1F2,1B2,1B1,1B0\n");
}

TEST(FThenB, BackwardsComeInOrder) {
  EXPECT_EQ(toCsv(fThenB(2, 3)),
            "0F0,0F1,0F2,0B0,0B1,0B2\n"
            "1F0,1F1,1F2,1B0,1B1,1B2\n");
}

TEST(BuildSchedule, EveryNameBuildsAPlanThatRunsForAllSizes) {
  for (const std::string& name : scheduleNames()) {
    for (int p = 1; p <= 8; ++p) {
      for (int m = 1; m <= 16; ++m) {
        const Schedule schedule = buildSchedule(name, p, m);
        EXPECT_EQ(schedule.name, name);
        EXPECT_EQ(schedule.numRanks(), p);
        EXPECT_EQ(schedule.numMicroBatches, m);
        const auto problems = check(schedule);
        ASSERT_TRUE(problems.empty())
            << name << " p=" << p << " m=" << m << ": " << toText(problems.front());
      }
    }
  }
}

TEST(BuildSchedule, NamesAreTakenInAnyCaseAndWithAliases) {
  EXPECT_EQ(buildSchedule("gpipe", 2, 2).name, "GPipe");
  EXPECT_EQ(buildSchedule("GPipe", 2, 2).name, "GPipe");
  EXPECT_EQ(buildSchedule("1f1b", 2, 2).name, "1F1B");
  EXPECT_EQ(buildSchedule("f-then-b", 2, 2).name, "FThenB");
  EXPECT_EQ(buildSchedule("FTHENB", 2, 2).name, "FThenB");
  EXPECT_EQ(buildSchedule("ScheduleGPipe", 2, 2).name, "FThenB");
}

TEST(BuildSchedule, UnknownNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* name : {"zigzag", "", "-"}) {
    try {
      buildSchedule(name, 2, 2);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), ("no schedule is called \"" + std::string(name) +
                                  "\"; choose one of FThenB, GPipe, 1F1B")
                                     .c_str());
    }
  }
}

TEST(BuildSchedule, NoRanksOrMicroBatchesIsAnError) {
  EXPECT_THROW(buildSchedule("1F1B", 0, 4), Error);
  EXPECT_THROW(buildSchedule("GPipe", 4, 0), Error);
  EXPECT_THROW(buildSchedule("FThenB", -1, 4), Error);
}

TEST(Schedule, ChunksFollowFromTheStagesOfARank) {
  Schedule looped;
  looped.numStages = 4;
  looped.ranks.resize(2);
  looped.rankOfStage = {0, 1, 0, 1};
  EXPECT_EQ(looped.stagesOfRank(0), (std::vector<int>{0, 2}));
  EXPECT_EQ(looped.chunkOfStage(2), 1);
  EXPECT_EQ(looped.chunkOfStage(1), 0);
  EXPECT_EQ(looped.numChunks(), 2);
  EXPECT_EQ(oneFOneB(3, 2).numChunks(), 1);
}

}  // namespace
}  // namespace pipetrace
