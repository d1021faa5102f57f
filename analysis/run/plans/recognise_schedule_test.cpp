#include "analysis/run/plans/recognise_schedule.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>

#include "analysis/run/plans/plan_deviations.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/with_reductions.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kFolder = test::inSources("../shared/data/schedules/");

Plan reference(const std::string& name) {
  std::ifstream file(kFolder + name + ".csv");
  std::stringstream text;
  text << file.rdbuf();
  return withoutDataParallel(readPlan(text.str(), name));
}

RecognisedSchedule recognised(std::string_view csv) {
  return recogniseSchedule(readPlan(csv, "measured"));
}

TEST(RecogniseSchedule, PlansThatOthersWroteDownHaveTheirNames) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is not there";
  const std::pair<const char*, std::vector<std::string>> kKnown[] = {
      {"GPipe_p4_m8_v1", {"FThenB"}},  // torch's GPipe
      {"1F1B_p4_m8_v1", {"1F1B", "PipeDream", "PipeDream-2BW"}},
      {"1F1B_p2_m8_v1", {"1F1B", "PipeDream", "PipeDream-2BW"}},
      {"Eager1F1B_p4_m8_v1", {"Eager1F1B", "Interleaved1F1B"}},
      {"Interleaved1F1B_p4_m8_v2", {"Interleaved1F1B"}},
      {"LoopedBFS_p4_m8_v2", {"LoopedBFS"}},
      {"ZB1P_p4_m8_v1", {"ZB-H1", "InterleavedZeroBubble"}},
      {"InterleavedZeroBubble_p4_m8_v1", {"ZB-H1", "InterleavedZeroBubble"}},
      {"InterleavedZeroBubble_p4_m8_v2", {"InterleavedZeroBubble"}},
      {"DualPipe_p4_m8", {"DualPipe"}},
      {"DualPipeV_p4_m8_v2", {"DualPipeV"}},
  };
  for (const auto& [file, names] : kKnown) {
    const Plan plan = reference(file);
    const RecognisedSchedule found = recogniseSchedule(plan);
    EXPECT_TRUE(found.isExact) << file;
    EXPECT_EQ(found.names, names) << file;
    EXPECT_EQ(found.distance, 0) << file;
    EXPECT_TRUE(found.plan.ranks == plan.ranks) << file;
  }
}

TEST(RecogniseSchedule, PlansOfTheSameSchedulesForOtherCostsAreLikeThem) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is not there";
  for (const auto& [file, name] :
       {std::pair("VHalf_p4_m8_v2", "V-Half"), std::pair("VMin_p4_m8_v2", "V-Min"),
        std::pair("ZB2P_p4_m8_v1", "ZB-H2"), std::pair("ZBV_p4_m8_v2", "ZBV")}) {
    const RecognisedSchedule found = recogniseSchedule(reference(file));
    EXPECT_FALSE(found.isExact) << file;
    EXPECT_THAT(found.names, ElementsAre(name)) << file;
    EXPECT_GT(found.distance, 0.05) << file;
    EXPECT_LT(found.distance, 0.24) << file;
  }
}

TEST(RecogniseSchedule, HalvesInARowAreAWholeBackwardPass) {
  const RecognisedSchedule whole = recognised("0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_THAT(whole.names, ElementsAre("1F1B", "PipeDream", "PipeDream-2BW"));
  const std::string csv =
      "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0I2,0W2\n1F0,1I0,1W0,1F1,1I1,1W1,1F2,1I2,1W2\n";
  const RecognisedSchedule halves = recognised(csv);
  EXPECT_TRUE(halves.isExact);
  EXPECT_THAT(halves.names, ElementsAre("1F1B", "PipeDream", "PipeDream-2BW"));
  EXPECT_EQ(halves.plan.ranks, readPlan(csv, "").ranks) << "the reference has the run's jobs";
  EXPECT_TRUE(findDeviations(readPlan(csv, ""), halves.plan).isEmpty());
}

TEST(RecogniseSchedule, AFusedPairMayBeTwoJobs) {
  Plan run = buildSchedule("DualPipeV", 4, 10);
  for (auto& row : run.ranks) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].kind != JobKind::kForwardBackward) continue;
      const Action backward{JobKind::kBackward, row[i].backwardStage, row[i].backwardMicroBatch};
      row[i] = {JobKind::kForward, row[i].stage, row[i].microBatch};
      row.insert(row.begin() + static_cast<std::ptrdiff_t>(i) + 1, backward);
    }
  }
  const RecognisedSchedule found = recogniseSchedule(run);
  EXPECT_TRUE(found.isExact);
  EXPECT_THAT(found.names, ElementsAre("DualPipeV"));
  EXPECT_EQ(found.plan.ranks, run.ranks);
}

TEST(RecogniseSchedule, AVShapedRunWithWholeBackwardsIsOnlyLikeTheOneWithHalves) {
  Plan run = buildSchedule("ZBV", 4, 8);
  for (auto& row : run.ranks) {
    std::erase_if(row, [](const Action& a) { return a.kind == JobKind::kBackwardWeight; });
    for (Action& action : row) {
      if (action.kind == JobKind::kBackwardInput) action.kind = JobKind::kBackward;
    }
  }
  const RecognisedSchedule found = recogniseSchedule(run);
  EXPECT_FALSE(found.isExact);
  EXPECT_EQ(toText(found), "like ZBV");
  EXPECT_EQ(found.plan.ranks, run.ranks);
}

TEST(RecogniseSchedule, WeightsThatChangeInBetweenPutTheAsynchronousScheduleFirst) {
  Plan run = buildSchedule("1F1B", 4, 8);
  run.updates = WeightUpdates::alike(4, 1);
  EXPECT_THAT(recogniseSchedule(run).names, ElementsAre("PipeDream", "1F1B", "PipeDream-2BW"));
  run.updates = WeightUpdates::alike(4, 4);
  EXPECT_THAT(recogniseSchedule(run).names, ElementsAre("PipeDream-2BW", "1F1B", "PipeDream"));
}

TEST(RecogniseSchedule, RanksWithoutLogsAreNotCompared) {
  Plan run = buildSchedule("ZB-H2", 4, 8);
  run.ranks[1].clear();
  run.placement.ranksOfStage[1] = {-1};
  const RecognisedSchedule found = recogniseSchedule(run);
  EXPECT_TRUE(found.isExact);
  EXPECT_THAT(found.names, ElementsAre("ZB-H2"));
  run = buildSchedule("1F1B", 4, 8);
  run.ranks[1].clear();
  run.placement.ranksOfStage[1] = {-1};
  std::swap(run.ranks[0][0], run.ranks[0][1]);
  EXPECT_EQ(recogniseSchedule(run).distance, 1.0 / (3 * 16)) << "one of the jobs with a log";
}

TEST(RecogniseSchedule, TwoJobsThatChangedPlacesMakeAPlanLikeTheSchedule) {
  std::mt19937 random(3);
  int likes = 0;
  for (int round = 0; round < 200; ++round) {
    const std::vector<std::string> names = scheduleNames();
    const std::string name = names[random() % (names.size() - 1)];
    ASSERT_NE(name, "auto") << "it is the last";
    const Plan plan = buildSchedule(name, 4 + static_cast<int>(random() % 3), 12);
    Plan run = plan;
    const std::size_t rank = random() % run.ranks.size();
    auto& row = run.ranks[rank];
    const std::size_t i = random() % (row.size() - 1);
    const std::size_t j = i + 1 + random() % (row.size() - 1 - i);
    std::swap(row[i], row[j]);
    const RecognisedSchedule found = recogniseSchedule(run);
    EXPECT_FALSE(found.isExact) << name;
    EXPECT_THAT(found.names, testing::Contains(name));
    EXPECT_GT(found.distance, 0);
    EXPECT_EQ(toText(found), "like " + found.names.front());
    likes += found.names.empty() ? 0 : 1;
    for (const PlanDeviation& moved : findDeviations(run, found.plan).moved) {
      EXPECT_EQ(moved.rank, static_cast<int>(rank));
      EXPECT_TRUE(moved.action == row[i] || moved.action == row[j])
          << name << ": " << toText(moved.action);
    }
  }
  EXPECT_EQ(likes, 200);
}

TEST(RecogniseSchedule, AnOrderThatNobodyMakesHasNoName) {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    Plan run = buildSchedule("1F1B", 4, 8);
    for (auto& row : run.ranks) {
      std::shuffle(row.begin(), row.end(), random);
      std::vector<bool> isForwardDone(8, false);  // the first of a micro-batch is its forward
      for (Action& action : row) {
        const auto m = static_cast<std::size_t>(action.microBatch);
        action.kind = isForwardDone[m] ? JobKind::kBackward : JobKind::kForward;
        isForwardDone[m] = true;
      }
    }
    const RecognisedSchedule found = recogniseSchedule(run);
    EXPECT_THAT(found.names, IsEmpty());
    EXPECT_EQ(toText(found), "unknown order");
    EXPECT_EQ(found.distance, 1);
    EXPECT_TRUE(found.plan.ranks.empty());
  }
  // No pipelining at all: each micro-batch on its own.
  Plan serial = buildSchedule("1F1B", 4, 8);
  for (auto& row : serial.ranks) {
    std::stable_sort(row.begin(), row.end(),
                     [](const Action& a, const Action& b) { return a.microBatch < b.microBatch; });
  }
  EXPECT_EQ(toText(recogniseSchedule(serial)), "unknown order");
}

TEST(RecogniseSchedule, PlansThatAreNoneHaveNoName) {
  EXPECT_THAT(recogniseSchedule({}).names, IsEmpty());
  Plan plan = buildSchedule("1F1B", 4, 8);
  plan.ranks[2][3].stage = 2'000'000'000;
  EXPECT_THAT(recogniseSchedule(plan).names, IsEmpty());
  plan = buildSchedule("1F1B", 4, 8);
  plan.placement.ranksOfStage.pop_back();
  EXPECT_THAT(recogniseSchedule(plan).names, IsEmpty());
  plan = buildSchedule("1F1B", 4, 8);
  plan.numMicroBatches = 2'000'000'000;
  EXPECT_THAT(recogniseSchedule(plan).names, IsEmpty());
  for (auto& row : plan.ranks) row.clear();
  plan.numMicroBatches = 8;
  EXPECT_THAT(recogniseSchedule(plan).names, IsEmpty());
}

TEST(RecogniseSchedule, ARunThatLacksAFewJobsIsLikeItsSchedule) {
  Plan run = buildSchedule("1F1B", 4, 16);
  for (auto& row : run.ranks) row.pop_back();
  const RecognisedSchedule found = recogniseSchedule(run);
  EXPECT_EQ(toText(found), "like 1F1B");
  EXPECT_DOUBLE_EQ(found.distance, 4 / 128.0);
}

// The beginnings of rows are compared first where micro-batches are many.
TEST(RecogniseSchedule, BeginningsOfLongPlansAreThoseOfShorterOnes) {
  for (const ScheduleInfo& info : knownSchedules()) {
    if (info.dependsOnCosts) continue;
    for (const int ranks : {1, 2, 3, 4, 5, 8, 9}) {
      for (const int microBatches : {8 * ranks, 8 * ranks + 1, 11 * ranks - 1, 40 * ranks}) {
        const Plan plan = buildSchedule(info.name, ranks, microBatches);
        const RecognisedSchedule found = recogniseSchedule(plan);
        EXPECT_TRUE(found.isExact);
        EXPECT_THAT(found.names, testing::Contains(info.name)) << ranks << " " << microBatches;
      }
    }
  }
}

TEST(RecogniseSchedule, DepthsOfStagesAreNamed) {
  for (const char* const name : {"PipeDream", "1F1B"}) {
    const Plan plan = buildOnStageRanks(name, {{0, 1}, {2}}, 12, {2, 1});
    const RecognisedSchedule found = recogniseSchedule(plan);
    EXPECT_TRUE(found.isExact);
    EXPECT_EQ(found.names.front(), name);
    EXPECT_EQ(toText(found), std::string(name) + " with stage depths 2,1");
    EXPECT_TRUE(found.plan.ranks == plan.ranks);
  }
  const RecognisedSchedule usual = recogniseSchedule(buildOnStageRanks("1F1B", {{0}, {1}}, 12));
  EXPECT_EQ(toText(usual), "1F1B");
  const RecognisedSchedule ofSingle =
      recogniseSchedule(buildOnStageRanks("PipeDream", {{0}, {1}, {2}}, 12, {3, 1, 0}));
  EXPECT_EQ(toText(ofSingle), "PipeDream with stage depths 3,1,0");
}

}  // namespace
}  // namespace pipetrace
