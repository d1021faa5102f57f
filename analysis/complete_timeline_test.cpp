#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/testing/completed_steps.h"
#include "analysis/testing/diagnostic_texts.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using enum JobKind;
using test::complete;
using test::stepsOf;
using testing::ElementsAre;

TEST(CompleteTimeline, StepsAreCutWhereTheFirstJobComesAgainWithMicroBatchZero) {
  HandMadeTimeline made;
  Nanoseconds now = 0;
  for (int step = 0; step < 2; ++step) {
    for (const JobKind kind : {kLr, kForward, kForward, kBackward, kBackward, kOptimizer}) {
      const bool second = now % 2 == 0 && (kind == kForward || kind == kBackward);
      made.add(0, kind, now, now + 1, -1, second ? 1 : 0);
      ++now;
    }
  }
  const Diagnostics diagnostics = complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1));
  EXPECT_FALSE(diagnostics.hasFindings());
  EXPECT_THAT(diagnostics.list()[0].message,
              testing::HasSubstr("steps of rank 0 (a step begins where"));
}

TEST(CompleteTimeline, StepsThatAreCutCountFromTheHighestFirstStepOfALog) {
  HandMadeTimeline made;
  for (int rank = 0; rank < 2; ++rank) {
    for (Nanoseconds now = 0; now < 4; ++now) {
      made.add(rank, now % 2 == 0 ? kForward : kBackward, now, now + 1);
    }
  }
  made.timeline.ranks[0].firstStep = 3;
  made.timeline.ranks[1].firstStep = 7;
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(7, 7, 8, 8));
  EXPECT_THAT(stepsOf(made.timeline, 1), ElementsAre(7, 7, 8, 8));
}

TEST(CompleteTimeline, InARankWithoutAComputeLaneLanesWithComputeJobsAreCut) {
  HandMadeTimeline made;
  for (Nanoseconds now = 0; now < 4; ++now) {
    const JobKind kind = now % 2 == 0 ? kForward : kBackward;
    made.add(0, kind, now, now + 1, -1, 0, "stream 7");
    made.add(1, kind, now, now + 1);
    made.add(1, kind, now, now + 1, -1, 0, "stream 7");
  }
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0, "stream 7"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(stepsOf(made.timeline, 1), ElementsAre(0, 0, 1, 1));
}

TEST(CompleteTimeline, WithoutLrTheFirstForwardOpensAStep) {
  HandMadeTimeline made;
  const std::vector<std::pair<JobKind, int>> jobs = {{kForward, 0},  {kForward, 1}, {kBackward, 0},
                                                     {kBackward, 1}, {kForward, 0}, {kForward, 1},
                                                     {kBackward, 0}, {kBackward, 1}};
  Nanoseconds now = 0;
  for (const auto& [kind, microBatch] : jobs) {
    made.add(0, kind, now, now + 1, -1, microBatch);
    ++now;
  }
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(CompleteTimeline, DefaultJobsOpenNoStepAndBelongToTheOneBefore) {
  HandMadeTimeline made;
  Nanoseconds now = 0;
  for (const JobKind kind : {kDefault, kLr, kForward, kDefault, kLr, kForward}) {
    made.add(0, kind, now, now + 1);
    ++now;
  }
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(CompleteTimeline, JobsOfAnotherChunkHaveAnotherType) {
  HandMadeTimeline made;
  Nanoseconds now = 0;
  for (const int chunk : {0, 1, 0, 1}) {
    made.add(0, kForward, now, now + 1).chunk = static_cast<std::int16_t>(chunk);
    ++now;
  }
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(0, 0, 1, 1));
}

TEST(CompleteTimeline, JobsOfAnotherPartHaveAnotherType) {
  HandMadeTimeline made;
  Nanoseconds now = 0;
  for (const int part : {0, 1, 0, 1}) {
    made.add(0, kForward, now, now + 1).part = static_cast<std::int16_t>(part);
    ++now;
  }
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(0, 0, 1, 1));
}

TEST(CompleteTimeline, ReceivesAmongTheJobsOpenNoStep) {
  HandMadeTimeline made;
  Nanoseconds now = 0;
  for (const JobKind kind : {kRecvForward, kForward, kRecvForward, kSendBackward, kForward}) {
    made.add(0, kind, now, now + 1);
    ++now;
  }
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(0, 0, 0, 0, 1));
}

TEST(CompleteTimeline, UnknownTypesDifferByTheirText) {
  HandMadeTimeline made;
  Nanoseconds now = 0;
  for (const char* name : {"fetch", "embed", "fetch", "embed"}) {
    made.add(0, kOther, now, now + 1).name = made.timeline.strings.intern(name);
    ++now;
  }
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(0, 0, 1, 1));
}

TEST(CompleteTimeline, GivenStepsStayAndJobsWithoutOneTakeTheStepBefore) {
  HandMadeTimeline made;
  Nanoseconds now = 0;
  for (const int step : {-1, 7, -1, -1, 8, -1}) {
    made.add(0, kForward, now, now + 1, step);
    ++now;
  }
  const Diagnostics diagnostics = complete(made.timeline);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    EXPECT_THAT(diagnostic.message, testing::Not(testing::HasSubstr("steps of")));
  }
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(7, 7, 7, 7, 8, 8));
}

TEST(CompleteTimeline, TransfersTakeTheNumbersOfTheirJobOrTheStepOfTheirTime) {
  HandMadeTimeline made;
  Event& first = made.add(0, kForward, 10, 20, 4);
  first.job = 100;
  first.stage = 2;
  first.chunk = 0;
  made.add(0, kForward, 30, 40, 5).job = 101;
  made.add(0, kSendForward, 35, 38, -1, 0, kSendLane).job = 100;
  made.add(0, kSendForward, 5, 8, -1, 0, kSendLane);
  made.add(0, kSendForward, 33, 34, -1, 0, kSendLane);
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0, kSendLane), ElementsAre(4, 5, 4));
  const Event& owned = made.timeline.findTrack(0, kSendLane)->events[2];
  EXPECT_EQ(owned.begin, 35);
  EXPECT_EQ(owned.stage, 2);
  EXPECT_EQ(owned.chunk, 0);
}

TEST(CompleteTimeline, StagesFollowFromMetaAndOrderOfRanks) {
  HandMadeTimeline made;
  for (const int rank : {4, 5, 6, 7}) {
    made.add(rank, kForward, 0, 1, 0);
    RankInfo& info = made.timeline.ranks[rank];
    info.numStages = 2;
    info.numChunks = 1;
    info.dataParallelIndex = rank % 2;
  }
  EXPECT_TRUE(complete(made.timeline).empty());
  const auto stage = [&](int rank) {
    return made.timeline.findTrack(rank, kComputeLane)->events[0].stage;
  };
  EXPECT_EQ(stage(4), 0);
  EXPECT_EQ(stage(6), 1);
  EXPECT_EQ(stage(5), 0);
  EXPECT_EQ(stage(7), 1);
}

TEST(CompleteTimeline, WithoutMetaAllRanksAreOnePipelineAndANoteSaysSo) {
  HandMadeTimeline made;
  for (const int rank : {0, 1, 2}) made.add(rank, kForward, 0, 1, 0);
  const Diagnostics diagnostics = complete(made.timeline);
  EXPECT_EQ(made.timeline.findTrack(2, kComputeLane)->events[0].stage, 2);
  EXPECT_EQ(made.timeline.findTrack(2, kComputeLane)->events[0].chunk, 0);
  ASSERT_EQ(diagnostics.list().size(), 1U);
  EXPECT_EQ(diagnostics.list()[0].severity, Severity::kNote);
  EXPECT_THAT(diagnostics.list()[0].message,
              testing::HasSubstr("1 pipeline of ranks 0 to 2 in this order"));
  EXPECT_TRUE(summarize(made.timeline).topologyInferred);
}

TEST(CompleteTimeline, EverythingThatWasInferredIsReportedInOneNote) {
  HandMadeTimeline made;
  for (const int rank : {0, 1}) {
    for (Nanoseconds now = 0; now < 4; ++now) {
      made.add(rank, kForward, now, now + 1, -1, now % 2 == 0 ? 0 : 1).chunk =
          static_cast<std::int16_t>(now % 2);
    }
  }
  EXPECT_THAT(
      textsOf(complete(made.timeline)),
      ElementsAre(testing::AllOf(
          testing::StartsWith("note: inferred, as the logs do not say it: steps of ranks "),
          testing::HasSubstr("; 1 pipeline of ranks 0 and 1 in this order; "),
          testing::EndsWith("stages (chunk c of pipeline rank r of p is stage c * p + r)"))));
}

TEST(CompleteTimeline, WithoutMetaRanksThatSendToEachOtherAreAPipeline) {
  HandMadeTimeline made;
  for (const int rank : {0, 1, 2, 3}) {
    made.add(rank, kForward, 0, 1, 0);
    made.add(rank, kSendForward, 0, 1, 0, 0, kSendLane).peer = (rank + 2) % 4;
  }
  complete(made.timeline);
  const Topology topology = topologyOf(made.timeline);
  EXPECT_TRUE(topology.inferred);
  EXPECT_EQ(topology.replicas(), (std::map<int, std::vector<int>>{{0, {0, 2}}, {1, {1, 3}}}));
  EXPECT_EQ(made.timeline.findTrack(3, kComputeLane)->events[0].stage, 1);
}

TEST(CompleteTimeline, TheOnlyRankOfARunIsAPipelineWithoutANote) {
  const auto told = [](std::optional<int> worldSize) {
    HandMadeTimeline made;
    made.add(0, kForward, 0, 1, 0);
    made.timeline.ranks[0].worldSize = worldSize;
    made.timeline.sort();
    Diagnostics diagnostics;
    completeTimeline(made.timeline, diagnostics);
    EXPECT_EQ(made.timeline.findTrack(0, kComputeLane)->events[0].stage, 0);
    EXPECT_EQ(summarize(made.timeline).topologyInferred, !diagnostics.empty());
    return textsOf(diagnostics);
  };
  EXPECT_THAT(told(1), testing::IsEmpty());
  EXPECT_THAT(told(std::nullopt), testing::ElementsAre(testing::HasSubstr("1 pipeline of rank 0")));
}

TEST(CompleteTimeline, TooFewMessagesToSeparatePipelinesMeanOnePipeline) {
  HandMadeTimeline made;
  for (const int rank : {0, 1, 2}) made.add(rank, kForward, 0, 1, 0);
  made.add(0, kSendForward, 0, 1, 0, 0, kSendLane).peer = 1;
  made.add(2, kSendForward, 0, 1, 0, 0, kSendLane).peer = 2;
  made.timeline.sort();
  EXPECT_EQ(topologyOf(made.timeline).replicas().size(), 1U);
}

TEST(CompleteTimeline, ChunksWithoutStagesAreTakenAsLooped) {
  HandMadeTimeline made;
  for (const int rank : {0, 1}) {
    made.add(rank, kForward, 0, 1, 0).chunk = 0;
    made.add(rank, kForward, 1, 2, 0).chunk = 1;
  }
  const Diagnostics diagnostics = complete(made.timeline);
  EXPECT_EQ(made.timeline.findTrack(1, kComputeLane)->events[0].stage, 1);
  EXPECT_EQ(made.timeline.findTrack(0, kComputeLane)->events[1].stage, 2);
  EXPECT_EQ(made.timeline.findTrack(1, kComputeLane)->events[1].stage, 3);
  EXPECT_THAT(textsOf(diagnostics), ElementsAre(testing::HasSubstr("stage c * p + r")));
}

TEST(CompleteTimeline, ChunksFollowFromStages) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 1, 0).stage = 0;
  made.add(0, kForward, 1, 2, 0).stage = 7;
  complete(made.timeline);
  EXPECT_EQ(made.timeline.findTrack(0, kComputeLane)->events[0].chunk, 0);
  EXPECT_EQ(made.timeline.findTrack(0, kComputeLane)->events[1].chunk, 1);
}

TEST(CompleteTimeline, AsManyStagesAsRanksMeanOneStagePerRankWithoutInference) {
  HandMadeTimeline made;
  for (const int rank : {0, 1}) {
    made.add(rank, kForward, 0, 1, 0);
    made.timeline.ranks[rank].numStages = 2;
    made.timeline.ranks[rank].worldSize = 2;
  }
  Timeline chunked = made.timeline;
  EXPECT_TRUE(complete(made.timeline).empty());
  EXPECT_EQ(made.timeline.findTrack(1, kComputeLane)->events[0].stage, 1);
  EXPECT_FALSE(summarize(made.timeline).topologyInferred);
  // Jobs that name a second chunk contradict that.
  for (Track& track : chunked.tracks) track.events[0].chunk = 1;
  EXPECT_FALSE(complete(chunked).empty());
}

TEST(CompleteTimeline, ARankOfTheOnlyPipelineKeepsItsPlaceWhenOtherLogsAreMissing) {
  HandMadeTimeline made;
  made.add(2, kForward, 0, 1, 0);
  made.timeline.ranks[2].numStages = 4;
  made.timeline.ranks[2].numChunks = 1;
  made.timeline.ranks[2].worldSize = 4;
  complete(made.timeline);
  EXPECT_EQ(made.timeline.findTrack(2, kComputeLane)->events[0].stage, 2);
}

TEST(CompleteTimeline, ARankOfOneOfSeveralPipelinesHasNoStageWhenLogsAreMissing) {
  HandMadeTimeline made;
  made.add(5, kForward, 0, 1, 0);
  RankInfo& info = made.timeline.ranks[5];
  info.numStages = 4;
  info.numChunks = 1;
  info.worldSize = 8;
  info.dataParallelIndex = 1;
  const Diagnostics diagnostics = complete(made.timeline);
  EXPECT_EQ(made.timeline.findTrack(5, kComputeLane)->events[0].stage, kNotGiven);
  ASSERT_EQ(diagnostics.list().size(), 2U);
  EXPECT_EQ(diagnostics.list()[1].advice, "read the logs of all ranks together");
}

TEST(CompleteTimeline, NonsenseInMetaIsIgnored) {
  for (const int nonsense : {0, -3, 2'000'000'000}) {
    HandMadeTimeline made;
    made.add(0, kForward, 0, 1, 0).chunk = 30000;
    RankInfo& info = made.timeline.ranks[0];
    info.numStages = nonsense;
    info.numChunks = nonsense;
    info.worldSize = nonsense;
    complete(made.timeline);
    EXPECT_TRUE(summarize(made.timeline).topologyInferred);
  }
}

TEST(CompleteTimeline, ASimulatedRunWithoutStepsStagesAndMetaIsCompletedToTheOriginal) {
  Costs costs = Costs::equal(4, {10, 20});
  costs.lr = 1;
  costs.optimizer = 5;
  costs.transfer = 3;
  const Simulation run = simulate(buildSchedule("1F1B", 4, 8), costs, {.steps = 5});
  Timeline stripped = run.timeline;
  for (auto& [rank, info] : stripped.ranks) info = {.rank = rank};
  for (Track& track : stripped.tracks) {
    for (Event& event : track.events) {
      event.step = kNotGiven;
      event.stage = kNotGiven;
      event.chunk = kNotGiven;
    }
  }
  Diagnostics diagnostics;
  completeTimeline(stripped, diagnostics);
  for (std::size_t t = 0; t < run.timeline.tracks.size(); ++t) {
    for (std::size_t i = 0; i < run.timeline.tracks[t].events.size(); ++i) {
      const Event& expected = run.timeline.tracks[t].events[i];
      const Event& event = stripped.tracks[t].events[i];
      ASSERT_EQ(event.step, expected.step);
      ASSERT_EQ(event.stage, expected.stage);
      ASSERT_EQ(event.chunk, expected.chunk);
    }
  }
}

}  // namespace
}  // namespace pipetrace
