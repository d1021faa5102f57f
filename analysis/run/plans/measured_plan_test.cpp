#include "analysis/run/plans/measured_plan.h"

#include <gmock/gmock.h>

#include "analysis/run/plans/recognise_schedule.h"
#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using enum JobKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Timeline simulated(const Plan& plan, Nanoseconds optimizer = 100) {
  Costs costs = Costs::equal(plan.numStages, {1000, 2000, 1000, 1000});
  costs.transfer = 50;
  costs.optimizer = optimizer;
  return simulate(CheckedPlan(plan), costs, {.steps = 2}).timeline;
}

MeasuredPlan measured(Timeline& timeline, std::int32_t step = 1, int replica = 0) {
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return measuredPlan(timeline, topologyOf(timeline), replica, step);
}

void eraseJobs(Timeline& timeline, const auto& isGone) {
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [&](const Event& event) { return isGone(track, event); });
  }
}

void eraseRank(Timeline& timeline, int rank) {
  std::erase_if(timeline.tracks, [&](const Track& track) { return track.rank == rank; });
  timeline.ranks.erase(rank);
}

TEST(MeasuredPlan, RowsAreTheJobsInOrderOfTheirBegins) {
  HandMadeTimeline made;
  for (const int rank : {0, 1}) {
    Nanoseconds now = 10 * rank;
    const auto add = [&](JobKind kind, int microBatch) {
      made.add(rank, kind, now, now + 5, 3, microBatch).stage = rank;
      now += 5;
    };
    add(kLr, 0);
    add(kForward, 7);
    if (rank == 0) add(kForward, 9);
    add(kRecompute, 7);
    add(kBackward, 7);
    if (rank == 1) add(kForward, 9);
    add(kRecompute, 9);
    add(kBackward, 9);
    add(kOptimizer, 0);
  }
  const MeasuredPlan found = measured(made.timeline, 3);
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.plan.ranks, readPlan("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "").ranks);
  EXPECT_EQ(toText(found.plan.placement.ranksOfStage), "0/1");
  EXPECT_THAT(found.microBatchNumbers, ElementsAre(7, 9));
  EXPECT_THAT(found.rankNumbers, ElementsAre(0, 1));
  EXPECT_FALSE(found.countsMicroBatches);
  EXPECT_FALSE(found.plan.isAsynchronous());
  ASSERT_EQ(found.jobs[1].size(), 4U);
  EXPECT_EQ(found.jobs[1][2]->kind, kForward);
  EXPECT_EQ(found.jobs[1][2]->microBatch, 9);
}

TEST(MeasuredPlan, StepWithoutJobsHasNoPlan) {
  Timeline timeline = simulated(buildSchedule("1F1B", 2, 4));
  EXPECT_EQ(measured(timeline, 5).problem, "step 5 has no compute job");
  EXPECT_FALSE(measured(timeline, 5).exists());
  EXPECT_EQ(measured(timeline, 0, 3).problem, "the run has no pipeline 3");
  Timeline nothing;
  EXPECT_FALSE(measured(nothing).exists());
}

TEST(MeasuredPlan, StepThatWasCutOffHasAPlanOfWhatThereIsAndSaysWhatLacks) {
  const Plan plan = buildSchedule("1F1B", 4, 16);
  Timeline timeline = simulated(plan);
  eraseJobs(timeline, [](const Track& track, const Event& event) {
    return event.step == 1 && track.rank == 0 && event.kind == kBackward && event.microBatch > 13;
  });
  const MeasuredPlan found = measured(timeline);
  EXPECT_TRUE(found.exists());
  EXPECT_FALSE(found.isWhole());
  EXPECT_EQ(found.problem,
            "step 1 lacks the backward pass of micro-batch 14 on stage 0, and 1 more");
  EXPECT_EQ(toText(recogniseSchedule(found.plan)), "like 1F1B");
  EXPECT_TRUE(measured(timeline, 0).isWhole());

  eraseJobs(timeline, [](const Track& track, const Event& event) {
    return event.step == 1 && track.rank == 2;
  });
  EXPECT_EQ(measured(timeline).problem, "step 1 has no compute job on rank 2");
  EXPECT_FALSE(measured(timeline).exists());
}

TEST(MeasuredPlan, RankWithoutALogHasAnEmptyRow) {
  const Plan plan = buildSchedule("Interleaved1F1B", 4, 8);
  Timeline timeline = simulated(plan);
  eraseRank(timeline, 2);
  const MeasuredPlan found = measured(timeline);
  EXPECT_EQ(found.problem, "");
  EXPECT_THAT(found.rankNumbers, ElementsAre(0, 1, -1, 3));
  EXPECT_EQ(found.plan.numStages, 8);
  EXPECT_EQ(toText(found.plan.placement.ranksOfStage), "0/1/-1/3/0/1/-1/3");
  EXPECT_THAT(found.plan.ranks[2], IsEmpty());
  EXPECT_TRUE(found.plan.ranks[3] == plan.ranks[3]);
  EXPECT_THAT(recogniseSchedule(found.plan).names, ElementsAre("Interleaved1F1B"));

  eraseRank(timeline, 0);
  EXPECT_TRUE(measured(timeline).exists());
  eraseRank(timeline, 1);
  EXPECT_EQ(measured(timeline).problem, "only 1 of the pipeline's 4 ranks have logs");
}

TEST(MeasuredPlan, StagesOfTheLastRankCountAlsoWithoutItsLog) {
  Timeline timeline = simulated(buildSchedule("Interleaved1F1B", 4, 8));
  eraseRank(timeline, 3);
  const MeasuredPlan found = measured(timeline);
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.plan.numStages, 8) << "no job names stages 3 and 7";
  EXPECT_EQ(toText(found.plan.placement.ranksOfStage), "0/1/2/-1/0/1/2/-1");
  EXPECT_THAT(recogniseSchedule(found.plan).names, ElementsAre("Interleaved1F1B"));
}

TEST(MeasuredPlan, BothDirectionsAreMeasuredAlsoWithoutOneRank) {
  const Plan plan = buildSchedule("DualPipe", 6, 12);
  Timeline timeline = simulated(plan);
  const MeasuredPlan whole = measured(timeline);
  EXPECT_TRUE(whole.isWhole()) << whole.problem;
  EXPECT_TRUE(whole.plan.isBidirectional());
  EXPECT_EQ(whole.plan.placement.run, 6);
  EXPECT_TRUE(whole.plan.ranks == plan.ranks);
  eraseRank(timeline, 4);
  const MeasuredPlan found = measured(timeline);
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.plan.numRanks(), 6);
  EXPECT_THAT(recogniseSchedule(found.plan).names, ElementsAre("DualPipe"));
}

TEST(MeasuredPlan, MissingRankThatNobodyKnowsOfLeavesAStageWithoutJobs) {
  Timeline timeline = simulated(buildSchedule("1F1B", 4, 8));
  eraseRank(timeline, 1);
  for (auto& [rank, info] : timeline.ranks) info = RankInfo{.rank = rank};
  const MeasuredPlan found = measured(timeline);
  EXPECT_EQ(found.problem, "no log has a job of stage 1");
  EXPECT_FALSE(found.exists());
}

TEST(MeasuredPlan, UpdatesBetweenJobsAreThoseOfAnAsynchronousPlan) {
  for (const auto& [name, every] : {std::pair("PipeDream", 1), std::pair("PipeDream-2BW", 4)}) {
    const Plan plan = buildSchedule(name, 4, 16);
    Timeline timeline = simulated(plan);
    const MeasuredPlan found = measured(timeline);
    EXPECT_TRUE(found.isWhole()) << found.problem;
    EXPECT_EQ(found.plan.updates.ofAllStages(), every);
    EXPECT_TRUE(found.plan.ranks == plan.ranks);
    EXPECT_EQ(recogniseSchedule(found.plan).names.front(), name);
  }
}

TEST(MeasuredPlan, UpdatesOfOneRankMakeNoAsynchronousPlan) {
  Timeline timeline = simulated(buildSchedule("PipeDream", 4, 16));
  eraseJobs(timeline, [](const Track& track, const Event& event) {
    return track.rank > 0 && event.kind == kOptimizer;
  });
  EXPECT_FALSE(measured(timeline).plan.isAsynchronous());
}

TEST(MeasuredPlan, StepsThatRunIntoEachOtherAreReported) {
  Timeline timeline = simulated(buildSchedule("1F1B", 2, 8));
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      // Backward passes count for the step in which they end up when nothing is flushed.
      if (event.kind == kBackward && event.microBatch > 5 && track.rank == 0) ++event.step;
    }
  }
  const MeasuredPlan found = measured(timeline, 1);
  EXPECT_TRUE(found.exists());
  EXPECT_EQ(found.problem,
            "step 1 has the backward pass of micro-batch 6 on stage 0 before the forward pass on "
            "rank 0, and 1 more; its steps run into each other");
}

TEST(MeasuredPlan, SecondJobOfAPassIsReported) {
  Timeline timeline = simulated(buildSchedule("1F1B", 2, 4));
  Track& track = timeline.track(1, kComputeLane);
  Event again = track.events.back();
  for (const Event& event : track.events) {
    if (event.step == 1 && event.kind == kForward) again = event;
  }
  ++again.begin;
  track.events.push_back(again);
  timeline.sort();
  const MeasuredPlan found = measured(timeline);
  EXPECT_EQ(found.problem, "step 1 has the forward pass of micro-batch 3 on stage 1 twice");
}

TEST(MeasuredPlan, SubJobsAreOneJob) {
  Timeline timeline = simulated(buildSchedule("1F1B", 2, 4));
  for (Track& track : timeline.tracks) {
    std::vector<Event> parts;
    for (const Event& event : track.events) {
      for (const std::int16_t part : {0, 1}) {
        parts.push_back(event);
        if (!isCompute(event.kind)) break;
        parts.back().part = part;
        const Nanoseconds half = event.duration() / 2;
        (part == 0 ? parts.back().end -= half : parts.back().begin += half);
      }
    }
    track.events = parts;
  }
  const MeasuredPlan found = measured(timeline);
  EXPECT_EQ(found.problem, "");
  EXPECT_TRUE(found.plan.ranks == buildSchedule("1F1B", 2, 4).ranks);
}

TEST(MeasuredPlan, JobsWithoutAStageOnARankWithSeveralHaveNoPlan) {
  Timeline timeline = simulated(buildSchedule("Interleaved1F1B", 2, 4));
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  const Topology topology = topologyOf(timeline);
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      event.argumentCount = 0;
      if (track.rank == 1 && event.microBatch == 2) event.stage = kNotGiven;
    }
  }
  EXPECT_EQ(measuredPlan(timeline, topology, 0, 1).problem, "jobs of rank 1 name no stage");
}

TEST(MeasuredPlan, FusedPairWithoutAnActionHasTheOtherStageBackward) {
  const Plan plan = buildSchedule("DualPipeV", 2, 8);
  Timeline timeline = simulated(plan);
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) event.argumentCount = 0;
  }
  const MeasuredPlan found = measured(timeline);
  EXPECT_EQ(found.problem, "");
  EXPECT_TRUE(found.countsMicroBatches);
  EXPECT_TRUE(found.plan.ranks == plan.ranks);
}

// PaddlePaddle's logs name chunks and no stages.
TEST(MeasuredPlan, TimesTellAVShapedPipelineFromALoopedOne) {
  for (const char* name : {"ZBV", "V-Half", "V-Min", "DualPipeV"}) {
    const Plan plan = buildSchedule(name, 4, 8);
    Timeline timeline = simulated(plan);
    for (Track& track : timeline.tracks) {
      for (Event& event : track.events) {
        event.stage = kNotGiven;
        event.argumentCount = 0;
      }
    }
    const MeasuredPlan found = measured(timeline);
    EXPECT_EQ(found.problem, "") << name;
    EXPECT_TRUE(found.stagesFollowTimes);
    EXPECT_TRUE(found.plan.ranks == plan.ranks) << name;
    EXPECT_EQ(toText(found.plan.placement.ranksOfStage), "0/1/2/3/3/2/1/0");
  }
  for (const char* name : {"Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble"}) {
    Timeline timeline = simulated(buildSchedule(name, 4, 8));
    EXPECT_FALSE(measured(timeline).stagesFollowTimes);
  }
}

TEST(MeasuredPlan, FirstStageNeedsNoInputHalves) {
  for (const char* name : {"ZBV", "ZB-H1", "DualPipeV"}) {
    const Plan plan = buildSchedule(name, 4, 12);
    Timeline timeline = simulated(plan);
    eraseJobs(timeline, [](const Track&, const Event& event) {
      return event.kind == kBackwardInput && event.stage == 0;
    });
    const MeasuredPlan found = measured(timeline);
    EXPECT_EQ(found.problem, "") << name;
    const RecognisedSchedule schedule = recogniseSchedule(found.plan);
    EXPECT_TRUE(schedule.isExact);
    EXPECT_EQ(schedule.names.front(), name);
    EXPECT_TRUE(schedule.plan.ranks == found.plan.ranks);
  }
}

TEST(MeasuredPlan, NumbersTooLargeToBeTrueTakeNoMemory) {
  Timeline timeline = simulated(buildSchedule("1F1B", 2, 4));
  timeline.track(1, kComputeLane).events[2].stage = 2'000'000'000;
  EXPECT_EQ(measured(timeline, 0).problem, "no log has a job of stage 2");
  HandMadeTimeline made;
  for (int m = 0; m < 20000; ++m) made.add(m % 2, kForward, m, m + 1, 0, m).stage = m;
  EXPECT_THAT(measured(made.timeline, 0).problem, HasSubstr("lacks most of its work"));
}

TEST(MeasuredPlan, ReplicasWithoutLogsAreNoPartOfThePipeline) {
  Timeline timeline = simulated(buildSchedule("1F1B", 2, 4));
  for (auto& [rank, info] : timeline.ranks) {
    info.worldSize = 4;
    info.dataParallelIndex = 0;
  }
  const MeasuredPlan found = measured(timeline);
  EXPECT_EQ(found.problem, "");
  EXPECT_THAT(found.rankNumbers, ElementsAre(0, 1));
  EXPECT_EQ(recogniseSchedule(found.plan).names.front(), "1F1B");
}

TEST(MeasuredPlan, EachReplicaHasItsOwnPlan) {
  Timeline timeline = simulated(buildSchedule("1F1B", 2, 4));
  const Timeline other = simulated(buildSchedule("FThenB", 2, 4));
  for (const Track& track : other.tracks) {
    if (track.lane != kComputeLane) continue;
    timeline.track(track.rank + 2, track.lane).events = track.events;
  }
  for (int rank = 0; rank < 4; ++rank) {
    RankInfo& info = timeline.ranks[rank];
    info = timeline.ranks[0];
    info.rank = rank;
    info.worldSize = 4;
    info.schedule = "";
    info.dataParallelIndex = rank / 2;
  }
  timeline.sort();
  EXPECT_EQ(recogniseSchedule(measured(timeline, 1, 0).plan).names.front(), "1F1B");
  const MeasuredPlan second = measured(timeline, 1, 1);
  EXPECT_THAT(second.rankNumbers, ElementsAre(2, 3));
  EXPECT_EQ(recogniseSchedule(second.plan).names.front(), "FThenB");
}

}  // namespace
}  // namespace pipetrace
