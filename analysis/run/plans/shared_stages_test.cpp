
#include <gmock/gmock.h>

#include "analysis/run/plans/measured_plan.h"
#include "analysis/run/plans/plan_deviations.h"
#include "analysis/run/plans/recognise_schedule.h"
#include "analysis/run_summary.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kMaps[] = {"0,1/2", "2/1,0", "0/1,2/3", "0,3/1/2,4,5", "0/1,2,3", "0,1/2,3"};

Timeline runOfPlan(const Plan& plan) {
  Timeline timeline =
      simulate(CheckedPlan(plan), Costs::equal(plan.numStages, {1000, 2000}), {.steps = 2})
          .timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

MeasuredPlan secondStepOf(const Timeline& timeline) {
  return measuredPlan(timeline, topologyOf(timeline), 0, 1);
}

void forget(Timeline& timeline) {
  for (auto& [rank, info] : timeline.ranks) info.ranksOfStage.clear();
}

TEST(SharedStages, SchedulesOnMapsHaveTheirNamesAndNoDeviations) {
  for (const char* const map : kMaps) {
    for (const char* const name : {"1F1B", "FThenB", "GPipe"}) {
      for (const int microBatches : {7, 8, 12, 200}) {
        const Plan plan = buildOnStageRanks(name, ranksOfStageFrom(map), microBatches);
        Timeline timeline = runOfPlan(plan);
        for (const bool isStated : {true, false}) {
          if (!isStated) forget(timeline);
          const MeasuredPlan found = secondStepOf(timeline);
          ASSERT_TRUE(found.isWhole()) << map << ": " << found.problem;
          EXPECT_EQ(toText(found.plan.placement.ranksOfStage), map) << isStated;
          const RecognisedSchedule schedule = recogniseSchedule(found.plan);
          EXPECT_TRUE(schedule.isExact);
          EXPECT_THAT(schedule.names, testing::Contains(name)) << map << " " << microBatches;
          EXPECT_TRUE(findDeviations(found.plan, schedule.plan).isEmpty());
        }
      }
    }
  }
}

TEST(SharedStages, UpdatesOfSeveralRanksAreThoseOfPipeDream) {
  for (const char* const map : kMaps) {
    for (const char* const name : {"PipeDream", "PipeDream-2BW"}) {
      const Plan plan = buildOnStageRanks(name, ranksOfStageFrom(map), 24);
      Costs costs = Costs::equal(plan.numStages, {1000, 2000});
      costs.optimizer = 100;
      Timeline timeline = simulate(CheckedPlan(plan), costs).timeline;
      Diagnostics diagnostics;
      completeTimeline(timeline, diagnostics);
      const MeasuredPlan found = measuredPlan(timeline, topologyOf(timeline), 0, 0);
      ASSERT_TRUE(found.isWhole()) << map << ": " << found.problem;
      EXPECT_EQ(found.plan.updates.every, plan.updates.every) << map << " " << name;
      EXPECT_EQ(recogniseSchedule(found.plan).names.front(), name) << map;
    }
  }
}

TEST(SharedStages, TwoJobsThatChangedPlacesAreTheOnlyDeviation) {
  Plan run = buildOnStageRanks("1F1B", {{0, 1}, {2}}, 16);
  std::swap(run.ranks[1][4], run.ranks[1][6]);
  const RecognisedSchedule schedule = recogniseSchedule(run);
  EXPECT_EQ(toText(schedule), "like 1F1B");
  for (const PlanDeviation& moved : findDeviations(run, schedule.plan).moved) {
    EXPECT_EQ(moved.rank, 1);
  }
}

TEST(SharedStages, ARankWithoutALogKeepsItsPlaceInTheStatedMap) {
  const Plan plan = buildOnStageRanks("1F1B", {{0}, {1, 2}, {3}}, 8);
  Timeline timeline = runOfPlan(plan);
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 2; });
  timeline.ranks.erase(2);
  const MeasuredPlan found = secondStepOf(timeline);
  EXPECT_EQ(found.problem, "");
  EXPECT_THAT(found.rankNumbers, ElementsAre(0, 1, -1, 3));
  EXPECT_THAT(found.plan.ranks[2], IsEmpty());
  const RecognisedSchedule schedule = recogniseSchedule(found.plan);
  EXPECT_EQ(toText(schedule), "1F1B");
  EXPECT_TRUE(schedule.plan.ranks == plan.ranks) << "the row of the missing rank, too";
}

TEST(SharedStages, RanksThatDoTheSameWorkTakeNoTurns) {
  Plan plan = buildOnStageRanks("1F1B", {{0, 1}, {2}}, 8);
  const Placement before = plan.placement;
  plan.ranks[1] = plan.ranks[0];
  plan.placement = {};
  EXPECT_FALSE(placeSharedStages(plan, {}));
  EXPECT_EQ(plan.placement, Placement{});
  EXPECT_FALSE(placeSharedStages(plan, {{0, 1}})) << "a map of another size";
  EXPECT_TRUE(placeSharedStages(plan, {{0, 1}, {2}}));
  EXPECT_EQ(plan.placement, before);
}

}  // namespace
}  // namespace pipetrace
