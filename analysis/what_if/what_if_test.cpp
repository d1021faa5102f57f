// Answers about simulated runs are compared with the simulation of what was asked for.
#include "analysis/what_if/what_if.h"

#include <gmock/gmock.h>

#include "analysis/present/what_if_report.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/loads_between_steps.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

Costs fourStages() {
  Costs costs;
  for (const Nanoseconds forward : {1'000'000, 1'300'000, 900'000, 1'100'000}) {
    costs.stages.push_back({.forward = forward, .backward = 2 * forward});
  }
  costs.transfer = 200'000;
  costs.optimizer = 500'000;
  return costs;
}

Timeline runOf(const Plan& plan, const Costs& costs, CommStreams lines = CommStreams::kAsReached) {
  Timeline timeline =
      simulate(CheckedPlan(plan), costs,
               {.steps = 5, .begin = 1'000'000, .stepsStartTogether = true, .commStreams = lines})
          .timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

/// The median window.
Nanoseconds stepOf(const Plan& plan, const Costs& costs,
                   CommStreams lines = CommStreams::kAsReached) {
  const RunSummary summary = summarize(runOf(plan, costs, lines));
  return summary.steps[2].window();
}

const Timeline& oneFOneBRun() {
  static const Timeline run = runOf(buildSchedule("1F1B", 4, 8), fourStages());
  return run;
}

TEST(WhatIf, WithoutTheDataLoaderTheWallTimeIsShorterByThePauses) {
  constexpr Nanoseconds kLoad = 6'000'000;
  Timeline timeline =
      withLoadsBetweenSteps(simulate(CheckedPlan(buildSchedule("1F1B", 4, 8)), fourStages(),
                                     {.steps = 5, .begin = 1'000'000, .stepsStartTogether = true})
                                .timeline,
                            kLoad);
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  WhatIfQuestion question;
  question.run.scales.push_back(parseScale("kind=data:0", ZeroScale::kOfKinds));
  const WhatIfAnswer answer = whatIf(asRun(timeline), question);
  EXPECT_TRUE(answer.isOfWall);
  ASSERT_TRUE(answer.measured.wall && answer.changed.wall);
  EXPECT_EQ(answer.changed.step, answer.measured.step);
  EXPECT_EQ(*answer.measured.wall - *answer.changed.wall, kLoad);
  const auto wall = static_cast<double>(*answer.measured.wall);
  EXPECT_NEAR(answer.change(), -static_cast<double>(kLoad) / wall, 1e-9);
  EXPECT_NEAR(answer.measured.perSecond, 1e9 / wall, 1e-6) << "also after the last step";
}

TEST(WhatIf, ASimulatedRunHasNoErrorOfEitherKind) {
  const WhatIfAnswer answer = whatIf(asRun(oneFOneBRun()), {});
  EXPECT_EQ(answer.replayError, 0);
  EXPECT_EQ(answer.modelError, 0.0);
  EXPECT_EQ(answer.schedule, "1F1B");
  EXPECT_EQ(answer.measured.step, stepOf(buildSchedule("1F1B", 4, 8), fourStages()));
  EXPECT_EQ(answer.unchanged.step, answer.measured.step);
  EXPECT_EQ(answer.changed.step, answer.measured.step);
  EXPECT_THAT(answer.peaks, ElementsAre(4, 3, 2, 1)) << "of 1F1B";
}

TEST(WhatIf, ASlowStageThatIsScaledTakesItsImbalanceAway) {
  WhatIfQuestion question;
  question.run.scales = {parseScale("stage=1:0.8")};
  const WhatIfAnswer answer = whatIf(asRun(oneFOneBRun()), question);
  EXPECT_FALSE(answer.isByModel);
  Costs costs = fourStages();
  costs.stages[1] = {.forward = 1'040'000, .backward = 2'080'000};
  EXPECT_EQ(answer.changed.step, stepOf(buildSchedule("1F1B", 4, 8), costs));
  EXPECT_LT(answer.change(), -0.05);
  EXPECT_LT(answer.changed.ofClass(BubbleClass::kImbalance),
            answer.unchanged.ofClass(BubbleClass::kImbalance));
  EXPECT_DOUBLE_EQ(answer.changed.ranks[1].work, 0.8 * answer.unchanged.ranks[1].work);
}

/// Expects that the run with these changes is the simulation of the plan with these costs.
void expectAnswer(const PlanChanges& changes, const Plan& plan, const Costs& costs,
                  const Timeline& run = oneFOneBRun(),
                  CommStreams lines = CommStreams::kAsReached) {
  WhatIfQuestion question;
  question.plan = changes;
  const WhatIfAnswer answer = whatIf(asRun(run), question);
  EXPECT_TRUE(answer.isByModel);
  EXPECT_EQ(answer.refusal, "");
  EXPECT_EQ(answer.changed.step, stepOf(plan, costs, lines));
  EXPECT_EQ(answer.changedPlan, plan.name);
}

TEST(WhatIf, AnotherScheduleIsTheSimulationOfItWithBackwardsSplitEvenly) {
  Costs costs = fourStages();
  expectAnswer({.schedule = "GPipe"}, buildSchedule("GPipe", 4, 8), costs);
  for (StageCosts& stage : costs.stages) {
    stage.backwardInput = stage.backward / 2;
    stage.backwardWeight = stage.backward / 2;
  }
  expectAnswer({.schedule = "ZB-H1"}, buildSchedule("ZB-H1", 4, 8), costs);
  for (StageCosts& stage : costs.stages) {
    stage.backwardInput = stage.backward / 4 * 3;
    stage.backwardWeight = stage.backward / 4;
  }
  expectAnswer({.schedule = "ZB-H1", .split = std::pair{3, 1}}, buildSchedule("ZB-H1", 4, 8),
               costs);
}

TEST(WhatIf, AnotherScheduleOfFreeMessagesIsAlsoTriedWithThemOneAfterTheOther) {
  Costs costs = fourStages();
  costs.transfer = 3 * kNsPerMs;
  const Plan own = buildSchedule("1F1B", 4, 8);
  const Timeline run = runOf(own, costs);
  WhatIfQuestion question;
  question.plan = {.schedule = "GPipe"};
  const WhatIfAnswer answer = whatIf(asRun(run), question);
  const Plan other = buildSchedule("GPipe", 4, 8);
  ASSERT_TRUE(answer.changedInLine);
  const Nanoseconds inLine =
      stepOf(withMessagesOfTorch(CheckedPlan(other)), costs, CommStreams::kRank);
  EXPECT_EQ(answer.changed.step, stepOf(other, costs));
  EXPECT_EQ(answer.changedInLine->step, inLine);
  EXPECT_GT(inLine, answer.changed.step);
  EXPECT_THAT(whatIfText({answer, {"--schedule GPipe"}}),
              HasSubstr("if messages wait for no others; " + formatDuration(inLine)));

  question.plan = {.schedule = "GPipe", .lines = CommStreams::kRank};
  EXPECT_FALSE(whatIf(asRun(run), question).changedInLine) << "it is the answer";
}

TEST(WhatIf, ChunksCutStagesInTheModelsOrder) {
  Costs costs = fourStages();
  costs.stages.clear();
  for (const StageCosts& stage : fourStages().stages) {
    for (int chunk = 0; chunk < 2; ++chunk) {
      costs.stages.push_back({.forward = stage.forward / 2, .backward = stage.backward / 2});
    }
  }
  expectAnswer({.chunks = 2}, buildSchedule("Interleaved1F1B", PlanSize{4, 8, 2}), costs);
}

TEST(WhatIf, MoreMicroBatchesAreMoreWorkAndSmallerOnesAreTheSame) {
  expectAnswer({.microBatches = 16}, buildSchedule("1F1B", 4, 16), fourStages());
  Costs halves = fourStages();
  for (StageCosts& stage : halves.stages) {
    stage.forward /= 2;
    stage.backward /= 2;
  }
  expectAnswer({.microBatches = 16, .keepsBatch = true}, buildSchedule("1F1B", 4, 16), halves);
  const auto perSecond = [&](bool keeps) {
    WhatIfQuestion question;
    question.plan = {.microBatches = 16, .keepsBatch = keeps};
    question.tokensPerStep = 1000;
    return whatIf(asRun(oneFOneBRun()), question);
  };
  const WhatIfAnswer more = perSecond(false);
  EXPECT_THAT(more.changed.perSecond,
              DoubleNear(2000 * 1e9 / static_cast<double>(more.changed.step), 1e-6));
  EXPECT_TRUE(more.isInTokens);
  const WhatIfAnswer smaller = perSecond(true);
  EXPECT_THAT(smaller.changed.perSecond,
              DoubleNear(1000 * 1e9 / static_cast<double>(smaller.changed.step), 1e-6));
  EXPECT_THAT(smaller.assumptions, Contains(HasSubstr("less efficient")));
  EXPECT_THAT(smaller.changedPeaks, ElementsAre(2, 1.5, 1, 0.5));
}

TEST(WhatIf, PausesBetweenStepsCountInStepsASecond) {
  Timeline paused = oneFOneBRun();
  // Before the last step; the mean of the four that are known is taken to follow it.
  const Nanoseconds pause = 4'000'000;
  Nanoseconds end = 0;
  for (Track& track : paused.tracks) {
    for (Event& event : track.events) {
      if (event.step == 4) {
        event.begin += pause;
        event.end += pause;
      }
      end = std::max(end, event.end);
    }
  }
  // The run begins at 1 ms.
  const double seconds = static_cast<double>(end - 1'000'000 + pause / 4) / 1e9;
  EXPECT_NEAR(whatIf(asRun(paused), {}).measured.perSecond, 5 / seconds, 1e-3);
  WhatIfQuestion more;
  more.plan.microBatches = 16;
  const WhatIfAnswer answer = whatIf(asRun(paused), more);
  const double length = static_cast<double>(answer.changed.step) + 4e6 / 4;
  EXPECT_NEAR(answer.changed.perSecond, 2e9 / length, 1e-3) << "steps of as many samples";
  EXPECT_THAT(answer.assumptions, Contains(HasSubstr("as many samples as the run's")));
}

TEST(WhatIf, ActivationsAreWholeSharesOfARankWithVirtualStages) {
  const Costs costs = Costs::equal(8, {.forward = 500'000, .backward = 1'000'000});
  const auto answer = whatIf(asRun(runOf(buildSchedule("Interleaved1F1B", 4, 8), costs)), {});
  // Rank r warms up with 2 (4 - r - 1) + 4 chunks, and then holds one more; a chunk is a half.
  EXPECT_THAT(answer.peaks, ElementsAre(5.5, 4.5, 3.5, 2.5));
}

TEST(WhatIf, AnAnswerSaysHowItTakesHalvesAndCutsOfStages) {
  WhatIfQuestion question;
  question.plan = {.schedule = "InterleavedZeroBubble", .chunks = 2};
  const auto halves = HasSubstr("halves of a backward");
  EXPECT_THAT(whatIf(asRun(oneFOneBRun()), question).assumptions,
              testing::AllOf(Contains(halves), Contains(HasSubstr("cut evenly"))));
  question.plan.split = std::pair{2, 1};
  EXPECT_THAT(whatIf(asRun(oneFOneBRun()), question).assumptions, testing::Not(Contains(halves)));
}

TEST(WhatIf, ChangesThatWouldChangeNothingOrTakeForeverAreRefused) {
  const auto refusal = [](const PlanChanges& changes) -> std::string {
    try {
      whatIf(asRun(oneFOneBRun()), {.plan = changes});
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(refusal({.transfers = "torch"}), HasSubstr("--comm-streams puts them on lines"));
  EXPECT_EQ(refusal({.lines = CommStreams::kRank, .transfers = "torch"}), "none");
  EXPECT_THAT(refusal({.schedule = "GPipe", .split = std::pair{2, 1}}),
              HasSubstr("--split: GPipe does not split backwards"));
  EXPECT_THAT(refusal({.microBatches = 1'000'000}), HasSubstr("12000000 jobs"));
  EXPECT_THAT(refusal({.microBatches = 1'000'000, .depths = {3, 2, 1, 0}}),
              HasSubstr("12000000 jobs"));
  EXPECT_THAT(refusal({.schedule = "ZBV", .microBatches = 60'000}), HasSubstr("1440000 jobs"));
}

TEST(WhatIf, MessagesInLineAreModelledInTheRunsOrderAndMayBePutInTime) {
  const Plan plan = buildSchedule("Interleaved1F1B", 4, 8);
  Costs costs = Costs::equal(8, {.forward = 1'000'000, .backward = 2'000'000});
  costs.transfer = 300'000;
  const Plan torch = withMessagesOfTorch(CheckedPlan(plan));
  const Timeline run = runOf(torch, costs, CommStreams::kRank);
  const WhatIfAnswer same = whatIf(asRun(run), {});
  ASSERT_TRUE(same.modelError.has_value());
  EXPECT_NEAR(*same.modelError, 0, 0.002);
  const Plan inTime = withMessagesInTime(CheckedPlan(plan), costs);
  ASSERT_LT(stepOf(inTime, costs, CommStreams::kRank), same.measured.step);
  expectAnswer({.transfers = "in-time"}, inTime, costs, run, CommStreams::kRank);
}

TEST(WhatIf, FreeMessagesInLineHaveTorchsOrderWhereThatOfTheLogsDoesNotRun) {
  const Plan plan = buildSchedule("Interleaved1F1B", {4, 8, 3});
  const Costs costs = Costs::equal(12, {1'000'000, 2'000'000});
  const Plan torch = withMessagesOfTorch(CheckedPlan(plan));
  const WhatIfAnswer answer = whatIf(asRun(runOf(torch, costs, CommStreams::kRank)), {});
  EXPECT_EQ(answer.noModel, "");
  EXPECT_NEAR(answer.modelError.value_or(1), 0, 0.01);
}

TEST(WhatIf, FactorsOfStagesHoldUnderAnotherScheduleToo) {
  WhatIfQuestion question;
  question.plan.schedule = "GPipe";
  question.run.scales = {parseScale("stage=1:0.8"), parseScale("rank=0:2")};
  Costs costs = fourStages();
  costs.stages[1] = {.forward = 1'040'000, .backward = 2'080'000};
  costs.stages[0] = {.forward = 2'000'000, .backward = 4'000'000};
  EXPECT_EQ(whatIf(asRun(oneFOneBRun()), question).changed.step,
            stepOf(buildSchedule("GPipe", 4, 8), costs));
}

TEST(WhatIf, WhereTheModelIsOffByMoreThanATenthItGivesNoAnswerAboutAnotherPlan) {
  // One stage stands still for long, at another micro-batch in each step: no median has it.
  Timeline run = oneFOneBRun();
  Costs costs = fourStages();
  for (int step = 0; step < 5; ++step) {
    costs.faults.jobs.push_back(
        {.action = {JobKind::kForward, 1, step}, .step = step, .longer = 9'000'000});
  }
  run = runOf(buildSchedule("1F1B", 4, 8), costs);
  WhatIfQuestion question;
  question.plan.schedule = "GPipe";
  const WhatIfAnswer answer = whatIf(asRun(run), question);
  EXPECT_LT(answer.modelError.value_or(0), -0.1);
  EXPECT_THAT(answer.refusal, HasSubstr("no answer about another plan: the simulation of the run"));
  EXPECT_EQ(answer.run.timeline().eventCount(), 0U);
  question.plan = {};
  question.run.scales = {parseScale("stage=1:0.8")};
  EXPECT_EQ(whatIf(asRun(run), question).refusal, "") << "the run itself is no model";
}

std::string noModelOf(const Timeline& run) { return whatIf(asRun(run), {}).noModel; }

TEST(WhatIf, RunsWithoutAModelSayWhyAndAreAskedAboutTheirOwnJobs) {
  const Timeline asynchronous = runOf(buildSchedule("PipeDream", 4, 8), fourStages());
  EXPECT_THAT(noModelOf(asynchronous), HasSubstr("asynchronous"));
  Timeline missing = oneFOneBRun();
  std::erase_if(missing.tracks, [](const Track& track) { return track.rank == 1; });
  missing.ranks.erase(1);
  EXPECT_NE(noModelOf(missing), "");
  for (const Timeline* const run : {&asynchronous, static_cast<const Timeline*>(&missing)}) {
    WhatIfQuestion question;
    question.run.scales = {parseScale("stage=2:0.5")};
    const WhatIfAnswer answer = whatIf(asRun(*run), question);
    EXPECT_EQ(answer.refusal, "");
    EXPECT_EQ(answer.replayError, 0);
    EXPECT_THAT(answer.assumptions,
                Contains(testing::AnyOf(HasSubstr("asynchronous"), HasSubstr("missing"))));
    question.run = {};
    question.plan.schedule = "GPipe";
    EXPECT_NE(whatIf(asRun(*run), question).refusal, "");
  }
}

TEST(WhatIf, ReplicasAndTracesWithoutMessagesSayWhatTheAnswerRestsOn) {
  WhatIfQuestion question;
  question.plan.schedule = "GPipe";
  const WhatIfAnswer replicas =
      whatIf(asRun(runOf(withReplicas(buildSchedule("1F1B", 4, 8), 2), fourStages())), question);
  EXPECT_EQ(replicas.refusal, "");
  EXPECT_THAT(replicas.assumptions, Contains(HasSubstr("one of 2 replicas is simulated: 0")));
  EXPECT_EQ(replicas.changed.step, stepOf(buildSchedule("GPipe", 4, 8), fourStages()));

  Timeline silent = oneFOneBRun();
  std::erase_if(silent.tracks, [](const Track& track) { return track.lane != kComputeLane; });
  const WhatIfAnswer answer = whatIf(asRun(silent), question);
  EXPECT_EQ(answer.refusal, "");
  EXPECT_THAT(answer.assumptions, Contains(HasSubstr("the logs have no messages")));
  EXPECT_NEAR(answer.modelError.value_or(1), 0, 1e-9) << "the time between ranks is the transfer";
  question = {};
  question.run.scales = {parseScale("stage=2:0.9")};
  EXPECT_THAT(whatIf(asRun(silent), question).assumptions, Contains(HasSubstr("stays as it was")));
  question.run.scales = {parseScale("kind=transfer:0.5")};
  EXPECT_THROW(whatIf(asRun(silent), question), Error);

  Costs slow = fourStages();
  slow.transfer = 2'000'000;
  silent = runOf(buildSchedule("1F1B", 4, 8), slow);
  std::erase_if(silent.tracks, [](const Track& track) { return track.lane != kComputeLane; });
  question = {};
  question.run.leavesOutLaunches = true;
  EXPECT_EQ(whatIf(asRun(silent), question).change(), 0) << "they may have waited for messages";
}

TEST(WhatIf, StepsThatLackJobsAreLeftOut) {
  Timeline cut = oneFOneBRun();
  for (Track& track : cut.tracks) {
    if (track.rank == 1) std::erase_if(track.events, [](const Event& e) { return e.step >= 2; });
  }
  WhatIfQuestion question;
  question.run.scales = {parseScale("stage=1:0.8")};
  const WhatIfAnswer whole = whatIf(asRun(oneFOneBRun()), question);
  const WhatIfAnswer answer = whatIf(asRun(cut), question);
  EXPECT_EQ(answer.schedule, "1F1B");
  EXPECT_EQ(answer.changed.step, whole.changed.step);
  EXPECT_EQ(answer.changed.bubbleRatio, whole.changed.bubbleRatio);
  EXPECT_EQ(answer.modelError, 0.0);
  EXPECT_THAT(answer.assumptions, Contains("jobs are missing in 3 steps, which are left out"));
}

TEST(WhatIf, TheSlowestReplicaIsSimulated) {
  const Plan plan = withReductions(withReplicas(buildSchedule("1F1B", 4, 8), 2));
  Costs costs = fourStages();
  for (StageCosts& stage : costs.stages) stage.reduction = 700'000;
  const std::vector scales{parseScale("rank=5:1.5")};  // stage 1 of replica 1
  applyScales(scales, plan, costs);
  WhatIfQuestion question;
  question.plan.schedule = "GPipe";
  const WhatIfAnswer answer = whatIf(asRun(runOf(plan, costs)), question);
  EXPECT_EQ(answer.refusal, "");
  EXPECT_THAT(answer.assumptions, Contains(HasSubstr("one of 2 replicas is simulated: 1")));
  EXPECT_EQ(answer.modelError, 0.0);
  Costs slow = fourStages();
  slow.stages[1] = {.forward = 1'950'000, .backward = 3'900'000};
  slow.optimizer += 700'000;
  EXPECT_EQ(answer.unchanged.step, stepOf(buildSchedule("1F1B", 4, 8), slow));
  EXPECT_EQ(answer.changed.step, stepOf(buildSchedule("GPipe", 4, 8), slow));
}

TEST(WhatIf, TensorParallelPeersAreSimulatedOnceAndAllRunAgain) {
  Timeline peers = oneFOneBRun();
  for (const Track& track : std::vector<Track>(peers.tracks)) {
    Track& copy = peers.track(track.rank + 4, track.lane);
    copy.events = track.events;
    for (Event& event : copy.events) event.peer += event.peer >= 0 ? 4 : 0;
    RankInfo& info = peers.ranks[track.rank + 4] = peers.ranks.at(track.rank);
    info.rank = track.rank + 4;
    info.tensorParallelIndex = 1;
  }
  for (auto& [rank, info] : peers.ranks) {
    info.worldSize = 8;
    info.tensorParallelIndex = info.tensorParallelIndex > 0 ? 1 : 0;
  }
  peers.sort();
  WhatIfQuestion question;
  question.plan.schedule = "GPipe";
  const WhatIfAnswer answer = whatIf(asRun(peers), question);
  EXPECT_EQ(answer.refusal, "");
  EXPECT_THAT(answer.assumptions, Contains(HasSubstr("tensor-parallel peers run alike")));
  EXPECT_EQ(answer.changed.step, stepOf(buildSchedule("GPipe", 4, 8), fourStages()));
  question = {};
  question.run.scales = {parseScale("rank=5:2")};
  EXPECT_EQ(whatIf(asRun(peers), question).replayError, 0);
}

TEST(WhatIf, AnUnknownOrderIsSimulatedAsItIsAndTakesAScheduleByName) {
  Plan plan = buildSchedule("GPipe", 4, 8);
  for (auto& row : plan.ranks) {
    std::swap(row[2], row[5]);
    std::swap(row[1], row[7]);
    std::swap(row[9], row[12]);
    std::swap(row[8], row[15]);
  }
  const Timeline run = runOf(plan, fourStages());
  const WhatIfAnswer same = whatIf(asRun(run), {});
  EXPECT_EQ(same.modelError, 0.0);
  WhatIfQuestion question;
  question.plan.microBatches = 16;
  EXPECT_THROW(whatIf(asRun(run), question), Error) << "of which schedule";
  question.plan.schedule = "1F1B";
  EXPECT_EQ(whatIf(asRun(run), question).changed.step,
            stepOf(buildSchedule("1F1B", 4, 16), fourStages()));
}

TEST(WhatIf, SchedulesThatNeverEndAStepAreRefused) {
  WhatIfQuestion question;
  question.plan.schedule = "PipeDream";
  EXPECT_THROW(whatIf(asRun(oneFOneBRun()), question), Error);
  question.plan.schedule = "no such";
  EXPECT_THROW(whatIf(asRun(oneFOneBRun()), question), Error);
}

}  // namespace
}  // namespace pipetrace
