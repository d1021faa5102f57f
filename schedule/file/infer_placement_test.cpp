#include "schedule/file/infer_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "schedule/build_schedule.h"
#include "schedule/builders/placements.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

const std::string kPlansFolder = test::inSources("../shared/data/schedules/");

// Two ranks, each with both stages: micro-batch 0 from rank 0 on, 1 from rank 1 on.
constexpr const char* kTwoDirections = "0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n";

TEST(InferPlacement, APlanWithEachStageOnTwoRanksRunsInTwoDirections) {
  const Plan plan = readPlan(kTwoDirections, "plan.csv");
  EXPECT_EQ(toText(plan.placement.ranksOfStage), "0,1/1,0");
  EXPECT_EQ(plan.placement.run, 1);
  EXPECT_TRUE(check(plan).empty());
}

TEST(InferPlacement, OneJobOnItsWayBackShowsTheSecondDirection) {
  Plan plan = readPlan("0F0\n1F0,0F1\n", "plan.csv");
  EXPECT_EQ(toText(plan.placement.ranksOfStage), "0,1/1,0");
  EXPECT_EQ(plan.placement.run, 1);
}

TEST(InferPlacement, ReferenceFileOfDualPipeHasTwoDirections) {
  const std::string path = kPlansFolder + "DualPipe_p4_m8.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const Plan plan = readPlan(text.str(), "DualPipe");
  EXPECT_EQ(toText(plan.placement.ranksOfStage), "0,3/1,2/2,1/3,0");
  EXPECT_EQ(plan.placement.run, 4);
  EXPECT_TRUE(check(plan).empty());
}

TEST(InferPlacement, APlanInTwoDirectionsMayHaveChunks) {
  for (int p = 2; p <= 4; ++p) {
    for (const auto& [chunks, places] : {std::pair(2, StagePlaces::kLooped),
                                         {3, StagePlaces::kLooped},
                                         {2, StagePlaces::kVShaped}}) {
      const PlanSize size{p, 5, chunks};
      Plan plan = emptyPlan({.name = "both", .places = places, .isBidirectional = true}, size);
      const Placement placement = plan.placement;
      const int last = plan.numStages - 1;
      for (int m = 0; m < size.microBatches; ++m) {
        const auto add = [&](JobKind kind, int stage) {
          plan.ranks[static_cast<std::size_t>(placement.rankOf(stage, m))].push_back(
              {kind, stage, m});
        };
        for (int s = 0; s <= last; ++s) add(JobKind::kForward, s);
        for (int s = last; s >= 0; --s) add(JobKind::kBackward, s);
      }
      ASSERT_TRUE(check(plan).empty());
      inferPlacement(plan);
      EXPECT_EQ(plan.placement, placement) << toText(plan.placement.ranksOfStage);
    }
  }
}

TEST(InferPlacement, MisplacedActionOfAPlanWithChunksStaysAMistake) {
  for (const char* const name : {"Interleaved1F1B", "ZBV"}) {
    for (int p = 2; p <= 4; ++p) {
      const Plan valid = buildSchedule(name, p, 4);
      for (std::size_t cell = 0; cell < valid.ranks[0].size(); ++cell) {
        Plan moved = valid;
        moved.ranks[1].push_back(moved.ranks[0][cell]);
        moved.ranks[0].erase(moved.ranks[0].begin() + static_cast<std::ptrdiff_t>(cell));
        inferPlacement(moved);
        ASSERT_EQ(moved.placement, valid.placement) << name << " " << p << " " << cell;
      }
    }
  }
}

TEST(InferPlacement, MisplacedActionOfAPlanOfOneDirectionStaysAMistake) {
  for (int p = 2; p <= 5; ++p) {
    for (int m = 1; m <= 6; ++m) {
      const Plan valid = buildSchedule("1F1B", p, m);
      for (int from = 0; from < p; ++from) {
        for (std::size_t cell = 0; cell < valid.ranks[0].size(); ++cell) {
          Plan moved = valid;
          const auto source = static_cast<std::size_t>(from);
          const auto target = static_cast<std::size_t>((from + 1) % p);
          moved.ranks[target].push_back(moved.ranks[source][cell]);
          moved.ranks[source].erase(moved.ranks[source].begin() +
                                    static_cast<std::ptrdiff_t>(cell));
          inferPlacement(moved);
          ASSERT_FALSE(moved.isBidirectional()) << p << " " << m << " " << from << " " << cell;
          // If a stage has two actions, either may be the misplaced one.
          if (m > 1) {
            ASSERT_EQ(moved.placement, valid.placement);
          }
          ASSERT_FALSE(check(moved).empty());
        }
      }
    }
  }
}

TEST(InferPlacement, MisplacedActionIsReportedWithRankAndCell) {
  const Plan oneWay = readPlan("0F0,0F1,0B0,0B1,1B1\n1F0,1B0,1F1\n", "plan.csv");
  EXPECT_THAT(toText(check(oneWay).front()),
              HasSubstr("rank 0, cell 4: 1B1 is on the wrong rank: stage 1 belongs to rank 1"));
  const Plan twoWays = readPlan(
      "0F0,0F1,1F2,1F3,1B2,1B3,0B0,0B1\n0F2,0F3,1F0,1F1,1B0,0B2,0B3\n"
      "2F0,2F1,2B0,2B1,1B1\n",
      "plan.csv");
  EXPECT_FALSE(twoWays.isBidirectional());  // three stages on two ranks and one: neither
  Plan dual =
      readPlan("0F0,0F1,1F2,1F3,1B2,1B3,0B0,0B1,0B2\n0F2,0F3,1F0,1F1,1B0,1B1,0B3\n", "plan.csv");
  ASSERT_TRUE(dual.isBidirectional());
  EXPECT_EQ(dual.placement.run, 2);
  EXPECT_THAT(toText(check(dual).front()),
              HasSubstr("rank 0, cell 8: 0B2 is on the wrong rank: stage 0 of micro-batch 2 "
                        "belongs to rank 1"));
}

TEST(InferPlacement, StageBelongsToTheRankWithMostOfItsActions) {
  const auto placed = [](const char* text) {
    return toText(readPlan(text, "plan.csv").placement.ranksOfStage);
  };
  EXPECT_EQ(placed("0F0,3F0,1F0\n1F1,1B0,2F0\n"), "0/1/1/0");
  EXPECT_EQ(placed("2F0\n"), "-1/-1/0");
}

TEST(InferPlacement, MessagesOfTwoDirectionsHaveTheirRanksAsPeersAndChunksOnBoth) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 5;
  const Simulation result = simulate(readPlan(kTwoDirections, "plan.csv"), costs);
  for (int rank = 0; rank < 2; ++rank) {
    for (const std::string_view lane : {kSendLane, kRecvLane}) {
      const auto& events = result.timeline.findTrack(rank, lane)->events;
      ASSERT_EQ(events.size(), 2U);
      for (const Event& event : events) {
        EXPECT_EQ(event.peer, 1 - rank);
        EXPECT_EQ(event.chunk, event.stage);
      }
    }
    for (const Event& event : result.timeline.findTrack(rank, kComputeLane)->events) {
      EXPECT_EQ(event.chunk, event.stage);
    }
    EXPECT_EQ(result.timeline.ranks.at(rank).numChunks, 2);
  }
}

}  // namespace
}  // namespace pipetrace
