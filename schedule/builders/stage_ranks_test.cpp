// FThenB, GPipe and 1F1B with stages on several ranks.
#include <gmock/gmock.h>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/fingerprint.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

using Map = std::vector<std::vector<int>>;

// PipeDream's {0: [0, 1], 1: [2]}: one forward of warm-up on each of the first two ranks.
TEST(StageRanks, OneFOneBWarmsUpWithTheRanksToComeDividedByThoseOfItsStage) {
  EXPECT_EQ(toCsv(buildOnStageRanks("1F1B", {{0, 1}, {2}}, 5)),
            "# name = 1F1B, ranks_of_stage = 0,1/2, run = 1\n"
            "0F0,0F2,0B0,0F4,0B2,0B4\n0F1,0F3,0B1,0B3\n"
            "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3,1F4,1B4\n");
  EXPECT_EQ(toCsv(buildOnStageRanks("1F1B", {{0}, {1, 2}}, 4)),
            "# name = 1F1B, ranks_of_stage = 0/1,2, run = 1\n"
            "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n1F0,1B0,1F2,1B2\n1F1,1B1,1F3,1B3\n");
}

// PipeDream's runtime: an update for a micro-batch of each rank of the stage.
TEST(StageRanks, PipeDreamsUpdatesTakeAMicroBatchOfEachRank) {
  const Plan plan = buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 5);
  EXPECT_EQ(plan.ranks, buildOnStageRanks("1F1B", {{0, 1}, {2}}, 5).ranks);
  EXPECT_THAT(plan.updates.every, ElementsAre(2, 1));
  EXPECT_FALSE(plan.updates.doubleBuffered);
  EXPECT_THAT(toCsv(plan), StartsWith("# name = PipeDream, update_every = 2,1, double_buffered = "
                                      "0, ranks_of_stage = 0,1/2, run = 1\n"));
}

// Its groups are the same on all stages: 3 ranks and more, a multiple of 2.
TEST(StageRanks, PipeDream2bwHasTheSameGroupsOnAllStages) {
  const Plan plan = buildOnStageRanks("PipeDream-2BW", {{0, 1}, {2}}, 12);
  EXPECT_EQ(plan.updates, WeightUpdates::alike(2, 4, true));
  EXPECT_EQ(buildOnStageRanks("PipeDream-2BW", {{0, 1}, {2, 3, 4}}, 12).updates,
            WeightUpdates::alike(2, 6, true));
}

TEST(StageRanks, DepthsSayWithHowManyForwardsAStageWarmsUp) {
  EXPECT_EQ(toCsv(buildOnStageRanks("1F1B", {{0, 1}, {2}}, 6, {2, 1})),
            "# name = 1F1B, ranks_of_stage = 0,1/2, run = 1\n"
            "0F0,0F2,0F4,0B0,0B2,0B4\n0F1,0F3,0F5,0B1,0B3,0B5\n"
            "1F0,1F1,1B0,1F2,1B1,1F3,1B2,1F4,1B3,1F5,1B4,1B5\n");
  // PipeDream's vgg16/gpus=4/hybrid_conf.json has a map that says what the rule says.
  for (const char* const name : {"1F1B", "PipeDream"}) {
    const Map map = {{0, 1, 2}, {3}};
    EXPECT_EQ(fingerprint(buildOnStageRanks(name, map, 9, {1, 0})),
              fingerprint(buildOnStageRanks(name, map, 9)));
  }
  // The last stage would wait for a forward that comes after the backward that it would make.
  EXPECT_THAT(check(buildOnStageRanks("1F1B", {{0}, {1}}, 3, {0, 1})),
              ElementsAre(Field(&Problem::message, HasSubstr("deadlock"))));
}

TEST(StageRanks, BackwardsRunOldestOrNewestFirst) {
  EXPECT_EQ(toCsv(buildOnStageRanks("FThenB", {{0, 1}}, 4)),
            "# name = FThenB, ranks_of_stage = 0,1, run = 1\n0F0,0F2,0B0,0B2\n0F1,0F3,0B1,0B3\n");
  EXPECT_EQ(toCsv(buildOnStageRanks("GPipe", {{0, 1}}, 4)),
            "# name = GPipe, ranks_of_stage = 0,1, run = 1\n0F0,0F2,0B2,0B0\n0F1,0F3,0B3,0B1\n");
}

TEST(StageRanks, OneRankAStageIsTheScheduleItself) {
  for (const char* const name : {"1F1B", "FThenB", "GPipe", "PipeDream", "PipeDream-2BW"}) {
    for (const int microBatches : {1, 3, 8}) {
      const Plan plan = buildOnStageRanks(name, {{0}, {1}, {2}, {3}}, microBatches);
      EXPECT_EQ(fingerprint(plan), fingerprint(buildSchedule(name, 4, microBatches))) << name;
    }
  }
}

TEST(StageRanks, EveryMapGivesAPlanThatRunsAndReadsBack) {
  const Map maps[] = {{{0, 1}, {2}},      {{0}, {1, 2}},      {{0, 1}, {2, 3}},
                      {{0, 1, 2}, {3}},   {{0}, {1, 2, 3}},   {{2, 0}, {1}, {3, 4}},
                      {{0}, {1, 2}, {3}}, {{0, 1}, {2}, {3}}, {{0, 1, 2}, {3, 4}}};
  for (const Map& map : maps) {
    for (const char* const name : {"1F1B", "FThenB", "GPipe", "PipeDream", "PipeDream-2BW"}) {
      for (const int microBatches : {3, 4, 7, 12}) {
        const Plan plan = buildOnStageRanks(name, map, microBatches);
        EXPECT_THAT(check(plan), IsEmpty()) << toCsv(plan);
        EXPECT_EQ(fingerprint(readPlan(toCsv(plan), "again")), fingerprint(plan));
        const Costs costs = Costs::equal(plan.numStages, {.forward = 1, .backward = 2});
        EXPECT_GT(simulate(CheckedPlan(plan), costs).length, 0);
      }
    }
  }
}

// Two ranks do the first stage's work, which takes twice as long as the second's.
TEST(StageRanks, TwoRanksOfASlowStageKeepTheOtherBusy) {
  Costs costs = Costs::equal(2, {.forward = 1, .backward = 1});
  costs.stages[0] = {.forward = 2, .backward = 2};
  const Simulation two = simulate(CheckedPlan(buildOnStageRanks("1F1B", {{0, 1}, {2}}, 32)), costs);
  // Its own 64, and the first forward and the last backward of the stage before.
  EXPECT_LE(two.length, 64 + 2 + 2 + 2);
  const Simulation one = simulate(CheckedPlan(buildOnStageRanks("1F1B", {{0}, {1}}, 32)), costs);
  EXPECT_GE(one.length, 128);
}

TEST(StageRanks, MapsThatCannotBeAreRefusedWithRankAndStage) {
  const auto errorOf = [](const char* name, const Map& map, int microBatches) {
    try {
      buildOnStageRanks(name, map, microBatches);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(errorOf("1F1B", {{0, 1}, {3}}, 4),
              HasSubstr("stage 1 is on rank 3, and the map has 3 ranks; it leaves out rank 2"));
  EXPECT_THAT(errorOf("1F1B", {{3, 0}, {1}}, 4), HasSubstr("it leaves out rank 2"));
  EXPECT_THAT(errorOf("1F1B", {{0, 1}, {1}}, 4), HasSubstr("rank 1 has stage 0 and stage 1"));
  EXPECT_THAT(errorOf("1F1B", {{0, 1, 2}, {3}}, 2),
              HasSubstr("stage 0 has 3 ranks and the plan only 2 micro-batches; give it more"));
  EXPECT_THAT(errorOf("ZBV", {{0, 1}, {2}}, 2),
              HasSubstr("that is for 1F1B, FThenB, GPipe, PipeDream and PipeDream-2BW"));
  EXPECT_THAT(errorOf("no such", {{0}}, 2), HasSubstr("no schedule is called"));
  EXPECT_THAT(
      [] {
        buildOnStageRanks("GPipe", {{0}, {1}}, 4, {1, 0});
      },
      ThrowsMessage<Error>(HasSubstr("it runs all forwards first")));
  EXPECT_THAT(
      [] {
        buildOnStageRanks("1F1B", {{0}, {1}}, 4, {1});
      },
      ThrowsMessage<Error>(HasSubstr("depths of 1 stage, and the plan has 2")));
  EXPECT_THAT([] { stageMapOptions("", "1,x", 2); },
              ThrowsMessage<Error>(HasSubstr("--stage-depths 1,x")));
}

}  // namespace
}  // namespace pipetrace
