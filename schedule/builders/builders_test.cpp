#include <gtest/gtest.h>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"

namespace pipetrace {
namespace {

// Written by hand from the papers' figures, one row a rank.

TEST(OneFOneB, TwoRanksAndFourMicroBatchesGiveTheRowsWrittenByHand) {
  EXPECT_EQ(toCsv(buildSchedule("1F1B", 2, 4)),
            "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n"
            "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n");
}

TEST(OneFOneB, ThreeRanksAndThreeMicroBatchesGiveTheRowsWrittenByHand) {
  EXPECT_EQ(toCsv(buildSchedule("1F1B", 3, 3)),
            "0F0,0F1,0F2,0B0,0B1,0B2\n"
            "1F0,1F1,1B0,1F2,1B1,1B2\n"
            "2F0,2B0,2F1,2B1,2F2,2B2\n");
}

TEST(OneFOneB, FewerMicroBatchesThanRanksShortenTheWarmUp) {
  EXPECT_EQ(toCsv(buildSchedule("1F1B", 3, 1)), "0F0,0B0\n1F0,1B0\n2F0,2B0\n");
  EXPECT_EQ(toCsv(buildSchedule("1F1B", 3, 2)),
            "0F0,0F1,0B0,0B1\n"
            "1F0,1F1,1B0,1B1\n"
            "2F0,2B0,2F1,2B1\n");
}

TEST(OneFOneB, OneRankAlternatesForwardAndBackward) {
  EXPECT_EQ(toCsv(buildSchedule("1F1B", 1, 2)), "0F0,0B0,0F1,0B1\n");
}

TEST(GPipe, BackwardsComeNewestFirst) {
  EXPECT_EQ(toCsv(buildSchedule("GPipe", 2, 3)),
            "0F0,0F1,0F2,0B2,0B1,0B0\n"
            "1F0,1F1,1F2,1B2,1B1,1B0\n");
}

TEST(FThenB, BackwardsComeInOrder) {
  EXPECT_EQ(toCsv(buildSchedule("FThenB", 2, 3)),
            "0F0,0F1,0F2,0B0,0B1,0B2\n"
            "1F0,1F1,1F2,1B0,1B1,1B2\n");
}

TEST(EagerOneFOneB, WarmUpIsTwiceAsLongAndOneMore) {
  EXPECT_EQ(toCsv(buildSchedule("Eager1F1B", 3, 5)),
            "0F0,0F1,0F2,0F3,0F4,0B0,0B1,0B2,0B3,0B4\n"
            "1F0,1F1,1F2,1B0,1F3,1B1,1F4,1B2,1B3,1B4\n"
            "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3,2F4,2B4\n");
  EXPECT_EQ(toCsv(buildSchedule("Eager1F1B", 2, 1)), "0F0,0B0\n1F0,1B0\n");
}

TEST(InterleavedOneFOneB, RoundsOfAsManyMicroBatchesAsRanksGoThroughAllChunks) {
  EXPECT_EQ(toCsv(buildSchedule("Interleaved1F1B", 2, 4, 2)),
            "0F0,0F1,2F0,2F1,0F2,2B0,0F3,2B1,2F2,0B0,2F3,0B1,2B2,2B3,0B2,0B3\n"
            "1F0,1F1,3F0,3B0,3F1,3B1,1F2,1B0,1F3,1B1,3F2,3B2,3F3,3B3,1B2,1B3\n");
}

TEST(InterleavedOneFOneB, RoundsShareTheMicroBatchesLeftOver) {
  // Two rounds, of three and of two.
  EXPECT_EQ(toCsv(buildSchedule("Interleaved1F1B", 2, 5, 2)).substr(0, 59),
            "0F0,0F1,0F2,2F0,2F1,2F2,2B0,0F3,2B1,0F4,2B2,2F3,0B0,2F4,0B1");
}

TEST(LoopedBfs, EachChunkTakesAllMicroBatches) {
  EXPECT_EQ(toCsv(buildSchedule("LoopedBFS", 2, 2, 2)),
            "0F0,0F1,2F0,2F1,2B1,2B0,0B1,0B0\n"
            "1F0,1F1,3F0,3F1,3B1,3B0,1B1,1B0\n");
}

TEST(ZbH1, WeightHalvesLagByTheRank) {
  EXPECT_EQ(toCsv(buildSchedule("ZB-H1", 3, 4)),
            "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n"
            "1F0,1F1,1I0,1F2,1I1,1W0,1F3,1I2,1W1,1I3,1W2,1W3\n"
            "2F0,2I0,2F1,2I1,2F2,2I2,2W0,2F3,2I3,2W1,2W2,2W3\n");
  EXPECT_EQ(toCsv(buildSchedule("ZB-H1", 3, 1)), "0F0,0I0,0W0\n1F0,1I0,1W0\n2F0,2I0,2W0\n");
}

TEST(InterleavedZeroBubble, WithOneChunkItIsZbH1) {
  for (int m = 1; m <= 12; ++m)
    EXPECT_EQ(buildSchedule("InterleavedZeroBubble", 4, m, 1).ranks,
              buildSchedule("ZB-H1", 4, m).ranks);
}

std::string row(const Plan& plan, int rank) {
  Plan one;
  one.ranks = {plan.ranks[static_cast<std::size_t>(rank)]};
  std::string text = toCsv(one);
  text.pop_back();
  for (std::size_t at; (at = text.find("OVERLAP_F_B")) != std::string::npos;) text.erase(at, 11);
  return text;
}

// The example of DualPipe's README and of figure 5 of the DeepSeek-V3 report: 8 ranks and 20
// micro-batches, ten from each side, followed by hand through steps 1 to 8.
TEST(DualPipe, EightRanksAndTwentyMicroBatchesGiveTheRowsWrittenByHand) {
  const Plan plan = buildSchedule("DualPipe", 8, 20);
  EXPECT_EQ(row(plan, 0),
            "0F0,0F1,0F2,0F3,0F4,0F5,"
            "0F6,7F10,"
            "7I10,7W10,7F11,7I11,7W11,7F12,7I12,7W12,7F13,"
            "(0F7;7B13),(7F14;0B0),(0F8;7B14),(7F15;0B1),(0F9;7B15),(7F16;0B2),"
            "7B16,(7F17;0B3),7B17,(7F18;0B4),7B18,(7F19;0B5),"
            "7B19,0I6,"
            "0W6,0I7,0W7,0I8,0W8,0I9,"
            "0W9");
  EXPECT_EQ(row(plan, 3),
            "3F0,4F10,3F1,4F11,3F2,4F12,3F3,4F13,"
            "3F4,4B10,(4F14;3B0),(3F5;4B11),(4F15;3B1),(3F6;4B12),(4F16;3B2),(3F7;4B13),(4F17;3B3),"
            "(3F8;4B14),(4F18;3B4),(3F9;4B15),(4F19;3B5),"
            "4B16,3B6,4B17,3B7,4I18,3I8,4I19,3I9,"
            "4W18,3W8,4W19,3W9");
  EXPECT_EQ(plan.placement.run, 10);
}

TEST(DualPipe, SecondHalfOfTheRanksMirrorsTheFirst) {
  const Plan plan = buildSchedule("DualPipe", 6, 14);
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<Action> mirrored = plan.ranks[static_cast<std::size_t>(rank)];
    for (Action& action : mirrored) {
      action.microBatch = (action.microBatch + 7) % 14;
      if (action.backwardMicroBatch >= 0) {
        action.backwardMicroBatch = (action.backwardMicroBatch + 7) % 14;
      }
    }
    EXPECT_EQ(plan.ranks[static_cast<std::size_t>(5 - rank)], mirrored) << rank;
  }
}

TEST(DualPipe, FewOrOddMicroBatchesGiveTheNextLargerPlanWithoutItsFirstOnes) {
  EXPECT_EQ(row(buildSchedule("DualPipe", 2, 4), 0), "0F0,1F2,0F1,1B2,(1F3;0B0),1B3,0I1,0W1");
  EXPECT_EQ(row(buildSchedule("DualPipe", 2, 3), 0), "0F0,0F1,(1F2;0B0),1B2,0I1,0W1");
  EXPECT_EQ(row(buildSchedule("DualPipe", 2, 4), 1), "0F2,1F0,0F3,1B0,(1F1;0B2),1B1,0I3,0W3");
  EXPECT_EQ(row(buildSchedule("DualPipe", 2, 3), 1), "1F0,0F2,1B0,1F1,1B1,0I2,0W2");
  EXPECT_EQ(toCsv(buildSchedule("DualPipe", 2, 1)),
            "# name = DualPipe, ranks_of_stage = 0,1/1,0, run = 1\n"
            "0F0,0I0,0W0\n1F0,1B0\n");
}

TEST(DualPipe, AnOddNumberOfRanksGivesTheNextLargerPlanWithItsMiddleTwoMerged) {
  const Plan plan = buildSchedule("DualPipe", 3, 6);
  EXPECT_EQ(toText(plan.placement.ranksOfStage), "0,2/1,1/2,0");
  EXPECT_TRUE(check(plan).empty());
}

TEST(DualPipeV, TwoRanksAndFourMicroBatchesGiveTheRowsWrittenByHand) {
  EXPECT_EQ(row(buildSchedule("DualPipeV", 2, 4), 0),
            "0F0,0F1,"
            "0F2,3F0,"
            "3I0,3W0,3F1,"
            "(0F3;3B1),(3F2;0B0),"
            "3B2,(3F3;0B1),"
            "3B3,0I2,"
            "0W2,0I3,"
            "0W3");
  EXPECT_EQ(row(buildSchedule("DualPipeV", 2, 4), 1),
            "1F0,2F0,1F1,2F1,"
            "1F2,2B0,(2F2;1B0),(1F3;2B1),(2F3;1B1),"
            "2B2,1B2,2I3,1I3,"
            "2W3,1W3");
}

// As ranks of Megatron-core 0.16.1 ran them.
TEST(Combined1F1B, TwoRanksAndFourMicroBatchesGiveTheRowsOfMegatron) {
  EXPECT_EQ(row(buildSchedule("Combined1F1B", {2, 4, 2}), 0),
            "0F0,0F1,2F0,2F1,0F2,(0F3;2B0),(2F2;2B1),(2F3;0B0),0B1,2B2,2B3,0B2,0B3");
  EXPECT_EQ(row(buildSchedule("Combined1F1B", {2, 4, 2}), 1),
            "1F0,1F1,3F0,(3F1;3B0),(1F2;3B1),(1F3;1B0),(3F2;1B1),(3F3;3B2),3B3,1B2,1B3");
}

TEST(Combined1F1B, OneRankPairsEachForwardWithTheBackwardOfTheMicroBatchBefore) {
  EXPECT_EQ(row(buildSchedule("Combined1F1B", {1, 4, 1}), 0),
            "0F0,(0F1;0B0),(0F2;0B1),(0F3;0B2),0B3");
}

TEST(PipeDream, IsOneFOneBWithoutFlushAndUpdatesAfterEveryBackwardPass) {
  const Plan plan = buildSchedule("PipeDream", 4, 9);
  EXPECT_EQ(plan.ranks, buildSchedule("1F1B", 4, 9).ranks);
  EXPECT_EQ(plan.updates, WeightUpdates::alike(plan.numStages, 1));
}

TEST(PipeDream2bw, UpdatesAfterAsManyMicroBatchesAsRanks) {
  EXPECT_EQ(buildSchedule("PipeDream-2BW", 4, 9).ranks, buildSchedule("1F1B", 4, 9).ranks);
  EXPECT_EQ(buildSchedule("PipeDream-2BW", 4, 9).updates, WeightUpdates::alike(4, 4, true));
  EXPECT_EQ(buildSchedule("PipeDream-2BW", 4, 2).updates, WeightUpdates::alike(4, 2, true));
}

TEST(Plan, ChunksFollowFromTheStagesOfARank) {
  Plan looped;
  looped.numStages = 4;
  looped.ranks.resize(2);
  looped.placement = Placement::ofRanks({0, 1, 0, 1});
  EXPECT_EQ(looped.stagesOfRank(0), (std::vector<int>{0, 2}));
  EXPECT_EQ(looped.chunkOfStage(2), 1);
  EXPECT_EQ(looped.chunkOfStage(1), 0);
  EXPECT_EQ(looped.numChunks(), 2);
  EXPECT_EQ(buildSchedule("1F1B", 3, 2).numChunks(), 1);
}

}  // namespace
}  // namespace pipetrace
