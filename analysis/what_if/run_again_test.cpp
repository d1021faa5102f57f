// A run again is compared with simulations (schedule/simulate), which know nothing of job graphs: a
// simulated run with changes must be the simulation with changed costs, to the nanosecond.
#include "analysis/what_if/run_again.h"

#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <random>

#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run, ready to run again.
struct GivenRun {
  explicit GivenRun(Timeline made) : run(completed(std::move(made))), again(run, counted) {}

  static Timeline completed(Timeline timeline) {
    Diagnostics diagnostics;
    completeTimeline(timeline, diagnostics);
    return timeline;
  }

  pipetrace::Run run;
  CountedSteps counted;
  RunAgain again;
};

/// Stages that differ, and jobs that do: some are longer, some begin late.
Costs unevenCosts(const Plan& plan, bool withFaults = true) {
  Costs costs;
  for (int stage = 0; stage < plan.numStages; ++stage) {
    costs.stages.push_back({.forward = 1'000'000 + stage * 70'001,
                            .backward = 2'100'003 - stage * 30'000,
                            .backwardInput = 1'100'003 - stage * 30'000,
                            .backwardWeight = 1'000'000,
                            .recompute = 900'000,
                            .reduction = 400'000});
  }
  costs.transfer = 150'000;
  costs.lr = 50'000;
  costs.optimizer = 320'000;
  if (plan.numRanks() > 1) costs.faults.links.push_back({0, 1, 410'000});
  if (!withFaults) return costs;
  std::mt19937 random(3);  // NOLINT: the same run every time
  for (const auto& row : plan.ranks) {
    for (const Action& action : row) {
      if (!isCompute(action.kind) || random() % 4 != 0) continue;
      costs.faults.jobs.push_back({.action = action,
                                   .longer = static_cast<Nanoseconds>(random() % 300'000),
                                   .late = static_cast<Nanoseconds>(random() % 90'000)});
    }
  }
  return costs;
}

constexpr Nanoseconds kStart = 5'000'000;

Timeline simulatedRun(const Plan& plan, const Costs& costs,
                      CommStreams lines = CommStreams::kAsReached) {
  return simulate(CheckedPlan(plan), costs, {.steps = 3, .begin = kStart, .commStreams = lines})
      .timeline;
}

/// By how much the run with changes is off the simulation with other costs.
Nanoseconds differenceFrom(const Timeline& expected, const GivenRun& run,
                           const RunChanges& changes) {
  return largestDifference(expected, run.again.run(changes));
}

TEST(RunAgain, WithoutChangesEveryScheduleIsTheRunItself) {
  for (const ScheduleInfo& info : knownSchedules()) {
    SCOPED_TRACE(info.name);
    Plan plan = buildSchedule(info.name, 4, 8);
    const GivenRun run(simulatedRun(plan, unevenCosts(plan)));
    EXPECT_EQ(differenceFrom(run.run.timeline(), run, {}), 0);
  }
}

TEST(RunAgain, WithoutChangesReplicasRecomputationsAndLinesAreTheRunItself) {
  const Plan replicas = withReductions(withReplicas(buildSchedule("1F1B", 4, 8), 2));
  const Plan recomputes = withRecompute(buildSchedule("1F1B", 4, 8), {true, false, true, true});
  for (const Plan& plan : {replicas, recomputes}) {
    const GivenRun run(simulatedRun(plan, unevenCosts(plan)));
    EXPECT_EQ(differenceFrom(run.run.timeline(), run, {}), 0);
  }
  const Plan torch = withMessagesOfTorch(CheckedPlan(buildSchedule("Interleaved1F1B", 4, 8)));
  for (const CommStreams lines : {CommStreams::kPeer, CommStreams::kRank}) {
    const GivenRun run(simulatedRun(torch, unevenCosts(torch), lines));
    ASSERT_TRUE(run.run.graph().hasLines());
    EXPECT_EQ(differenceFrom(run.run.timeline(), run, {}), 0);
  }
}

/// Clocks that are off make messages arrive before they are sent, and jobs begin before their data.
TEST(RunAgain, WithoutChangesARunWithWrongClocksIsTheRunItself) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Timeline timeline = simulatedRun(plan, unevenCosts(plan));
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      event.begin += track.rank * 3'000'000;
      event.end += track.rank * 3'000'000;
    }
  }
  const GivenRun run(std::move(timeline));
  EXPECT_EQ(differenceFrom(run.run.timeline(), run, {}), 0);
}

TEST(RunAgain, AStageThatIsScaledGivesTheSimulationOfItsScaledCosts) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = unevenCosts(plan, false);
  costs.faults.jobs.push_back({.action = {JobKind::kBackward, 1, 2}, .late = 33'000});
  const GivenRun run(simulatedRun(plan, costs));
  for (const char* const text : {"stage=2:0.8", "stage=0:1.7", "kind=backward:0.5", "rank=3:2"}) {
    SCOPED_TRACE(text);
    const ScaleOption scale = parseScale(text);
    Costs scaled = costs;
    applyScales({&scale, 1}, plan, scaled);
    const Timeline expected = simulatedRun(plan, scaled);
    EXPECT_EQ(differenceFrom(expected, run, {.scales = {scale}}), 0);
    EXPECT_GT(largestDifference(expected, run.run.timeline()), 0);
  }
}

TEST(RunAgain, MessagesOfAnotherLengthGiveTheSimulationWithThem) {
  const Plan plan = buildSchedule("Interleaved1F1B", 4, 8);
  const Costs costs = unevenCosts(plan);
  const GivenRun run(simulatedRun(plan, costs));
  Costs other = costs;
  other.faults.links.push_back({1, 2, 777'777});
  EXPECT_EQ(differenceFrom(simulatedRun(plan, other), run, {.links = {{2, 1, 777'777, ""}}}), 0);
  const ScaleOption half = parseScale("link=0-1:0.5");
  other = costs;
  applyScales({&half, 1}, plan, other);
  EXPECT_EQ(differenceFrom(simulatedRun(plan, other), run, {.scales = {half}}), 0);
}

TEST(RunAgain, MessagesInLineWaitForThoseBeforeThemOnTheirLines) {
  const Plan plan = withMessagesOfTorch(CheckedPlan(buildSchedule("Interleaved1F1B", 4, 8)));
  Costs costs = unevenCosts(plan, false);
  costs.faults.jobs.push_back({.action = {JobKind::kForward, 3, 2}, .late = 77'000});
  for (const CommStreams lines : {CommStreams::kPeer, CommStreams::kRank}) {
    const GivenRun run(simulatedRun(plan, costs, lines));
    for (const char* const text : {"kind=transfer:0.5", "kind=transfer:3", "stage=5:0.6"}) {
      SCOPED_TRACE(text);
      const ScaleOption scale = parseScale(text);
      Costs scaled = costs;
      applyScales({&scale, 1}, plan, scaled);
      const Timeline expected = simulatedRun(plan, scaled, lines);
      const Timeline changed = run.again.run({.scales = {scale}});
      // Only jobs: a receive that waits for its line is posted when that is free.
      const auto jobsOf = [](Timeline timeline) {
        std::erase_if(timeline.tracks,
                      [](const Track& track) { return track.lane != kComputeLane; });
        return timeline;
      };
      EXPECT_EQ(largestDifference(jobsOf(expected), jobsOf(changed)), 0);
    }
  }
}

/// Forwards of a pipeline, and their messages from rank to rank; times in us.
struct ForwardsByHand : HandMadeTimeline {
  void add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, int microBatch,
           std::string_view lane = kComputeLane) {
    Event& event =
        HandMadeTimeline::add(rank, kind, begin * kNsPerUs, end * kNsPerUs, 0, microBatch, lane);
    event.stage = rank;
    event.peer = isSend(kind) ? rank + 1 : isRecv(kind) ? rank - 1 : kNotGiven;
  }
  /// Both ends of a message from a rank to the next one, as they are posted.
  void message(int from, int microBatch, Nanoseconds sent, Nanoseconds received, Nanoseconds end) {
    add(from, JobKind::kSendForward, sent, end, microBatch, kSendLane);
    add(from + 1, JobKind::kRecvForward, received, end, microBatch, kRecvLane);
  }
  GivenRun givenRun(int ranks) {
    timeline.sort();
    for (int rank = 0; rank < ranks; ++rank) {
      timeline.ranks[rank] = {.rank = rank, .numStages = ranks};
    }
    return GivenRun(std::move(timeline));
  }
};

/// When the jobs of a rank begin in a run with changes, in us. Without changes it is as it was.
std::vector<Nanoseconds> beginsOn(int rank, const GivenRun& run, const RunChanges& changes) {
  EXPECT_EQ(differenceFrom(run.run.timeline(), run, {}), 0);
  std::vector<Nanoseconds> begins;
  const Timeline changed = run.again.run(changes);
  for (const Event& job : changed.findTrack(rank, kComputeLane)->events) {
    begins.push_back(job.begin / kNsPerUs);
  }
  return begins;
}

/// The receive of job 1 is posted when job 0 has ended, long after the one before it on its line.
/// That of job 2 waits for its turn.
TEST(RunAgain, AReceiveOnALineWaitsForTheJobAfterWhichItWasPosted) {
  ForwardsByHand made;
  made.add(0, JobKind::kForward, 0, 10, 0);
  made.add(0, JobKind::kForward, 10, 20, 1);
  made.add(0, JobKind::kForward, 20, 30, 2);
  made.add(0, JobKind::kSendForward, 10, 12, 0, kSendLane);
  made.add(0, JobKind::kSendForward, 20, 54, 1, kSendLane);
  made.add(0, JobKind::kSendForward, 54, 56, 2, kSendLane);
  made.add(1, JobKind::kRecvForward, 0, 12, 0, kRecvLane);
  made.add(1, JobKind::kForward, 12, 52, 0);
  made.add(1, JobKind::kRecvForward, 52, 54, 1, kRecvLane);
  made.add(1, JobKind::kRecvForward, 54, 56, 2, kRecvLane);
  made.add(1, JobKind::kForward, 54, 94, 1);
  made.add(1, JobKind::kForward, 94, 134, 2);
  made.timeline.sort();
  for (const int rank : {0, 1}) {
    made.timeline.ranks[rank] = {.rank = rank, .numStages = 2};
    made.timeline.ranks[rank].lines = std::string(rank == 0 ? kSendLane : kRecvLane);
  }
  const GivenRun run(std::move(made.timeline));
  ASSERT_TRUE(run.run.graph().areLinesHeld());
  const Timeline changed = run.again.run({.scales = {parseScale("rank=1:0.5")}});
  EXPECT_EQ(changed.findTrack(1, kComputeLane)->events[1].begin, 34 * kNsPerUs)
      << "half as long after job 0, and 2 for the message";
}

TEST(RunAgain, BalancedStagesKeepTheWorkAndAreTheSimulationOfEqualOnes) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = Costs::equal(4, {.forward = 1000, .backward = 2000});
  costs.transfer = 10;
  costs.stages[1] = {.forward = 1400, .backward = 2800};
  costs.stages[2] = {.forward = 600, .backward = 2400};
  const GivenRun run(simulatedRun(plan, costs));
  Costs balanced = Costs::equal(4, {.forward = 1000, .backward = 2300});
  balanced.transfer = 10;
  EXPECT_EQ(differenceFrom(simulatedRun(plan, balanced), run, {.balancesStages = true}), 0);
}

TEST(RunAgain, AnIdealStageLosesItsWorkAndTheOthersKeepTheirs) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = Costs::equal(4, {.forward = 1000, .backward = 2000});
  costs.transfer = 10;
  costs.stages[2] = {.forward = 1400, .backward = 2800};
  const GivenRun run(simulatedRun(plan, costs));
  Costs ideal = costs;
  ideal.stages[2] = {.forward = 1100, .backward = 2200};  // the means
  EXPECT_EQ(
      differenceFrom(simulatedRun(plan, ideal), run, {.ideals = {IdealSet::parse("stage=2")}}), 0);
  for (StageCosts& stage : ideal.stages) stage = {.forward = 1100, .backward = 2200};
  EXPECT_EQ(differenceFrom(simulatedRun(plan, ideal), run, {.ideals = {IdealSet::parse("all")}}),
            0);
}

TEST(RunAgain, WithoutLaunchesNothingBeginsLate) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = unevenCosts(plan);
  const GivenRun run(simulatedRun(plan, costs));
  for (Faults::Job& job : costs.faults.jobs) job.late = 0;
  EXPECT_EQ(differenceFrom(simulatedRun(plan, costs), run, {.leavesOutLaunches = true}), 0);
}

TEST(RunAgain, ARankThatBeginsLateBeginsAsTheOthersDoWithUsualLaunches) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = unevenCosts(plan, false);
  Costs usual = costs;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    Nanoseconds varies = 0;
    for (const Action& action : plan.ranks[rank]) {
      if (!isCompute(action.kind)) continue;
      varies = (varies + 3'000) % 7'000;  // 0 to 6 us, 3 in the median
      const Nanoseconds late = 10'000 + varies;
      usual.faults.jobs.push_back({.action = action, .late = late});
      costs.faults.jobs.push_back({.action = action, .late = late + (rank == 2 ? 250'000 : 0)});
    }
  }
  const GivenRun run(simulatedRun(plan, costs));
  EXPECT_THAT(run.again.lateRanks().ranks, ElementsAre(2));
  EXPECT_FALSE(run.again.lateRanks().sendLate);
  const Timeline expected = simulatedRun(plan, usual);
  EXPECT_GT(differenceFrom(expected, run, {}), 1'000'000);
  EXPECT_LE(differenceFrom(expected, run, {.usualLaunches = {2}}), 50'000)
      << "of the medians, over 48 jobs";
  EXPECT_THROW(run.again.run({.usualLaunches = {7}}), Error);
  EXPECT_THAT(GivenRun(simulatedRun(plan, usual)).again.lateRanks().ranks, IsEmpty());
}

/// Three forwards of three ranks, 10 us each. Rank 0 sends 3 us after each of its own, and goes on
/// when it has sent. Messages take 1 us; receives are posted long before.
TEST(RunAgain, ARankThatSendsLateHoldsUpItsReceiverOnlyUntilItSendsAsOthersDo) {
  ForwardsByHand made;
  for (int m = 0; m < 3; ++m) {
    const Nanoseconds at = 13 * m;
    made.add(0, JobKind::kForward, at, at + 10, m);
    made.add(0, JobKind::kSendForward, at + 13, at + 14, m, kSendLane);
    made.add(1, JobKind::kRecvForward, 0, at + 14, m, kRecvLane);
    made.add(1, JobKind::kForward, at + 14, at + 24, m);
    made.add(1, JobKind::kSendForward, at + 24, at + 25, m, kSendLane);
    made.add(2, JobKind::kRecvForward, 0, at + 25, m, kRecvLane);
    made.add(2, JobKind::kForward, at + 25, at + 35, m);
  }
  const GivenRun run = made.givenRun(3);
  EXPECT_THAT(run.again.lateRanks().ranks, ElementsAre(0));
  EXPECT_TRUE(run.again.lateRanks().sendLate);
  EXPECT_EQ(differenceFrom(run.run.timeline(), run, {}), 0);
  const Timeline changed = run.again.run({.usualLaunches = {0}});
  const std::vector<Event>& jobs = changed.findTrack(1, kComputeLane)->events;
  EXPECT_EQ(jobs[0].begin, 11 * kNsPerUs);
  EXPECT_EQ(jobs[1].begin, 21 * kNsPerUs);
  EXPECT_EQ(jobs[2].begin, 31 * kNsPerUs) << "one after the other, as rank 0 makes them";
}

/// Rank 2 begins its forwards 250 us late, and its backwards as the others do.
TEST(RunAgain, WhatOfARankIsLateIsKnownByKindOfJob) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = unevenCosts(plan, false);
  Costs usual = costs;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    for (const Action& action : plan.ranks[rank]) {
      if (!isCompute(action.kind)) continue;
      const bool isLate = rank == 2 && action.kind == JobKind::kForward;
      usual.faults.jobs.push_back({.action = action, .late = 10'000});
      costs.faults.jobs.push_back({.action = action, .late = isLate ? 260'000 : 10'000});
    }
  }
  const GivenRun run(simulatedRun(plan, costs));
  const Timeline expected = simulatedRun(plan, usual);
  EXPECT_GT(differenceFrom(expected, run, {}), 500'000);
  EXPECT_EQ(differenceFrom(expected, run, {.usualLaunches = {2}}), 0);
}

/// Four forwards of two ranks, 10 us each, of which rank 0 sends each 16 us after its end: the next
/// one has ended by then, 6 us before.
TEST(RunAgain, WhoSendsLateWhateverItDoesSendsNoLaterForLongerJobs) {
  ForwardsByHand made;
  for (int m = 0; m < 4; ++m) {
    const Nanoseconds at = 10 * m;
    made.add(0, JobKind::kForward, at, at + 10, m);
    made.add(0, JobKind::kSendForward, at + 26, at + 27, m, kSendLane);
    made.add(1, JobKind::kRecvForward, 0, at + 27, m, kRecvLane);
    made.add(1, JobKind::kForward, at + 27, at + 37, m);
  }
  const GivenRun run = made.givenRun(2);
  const Timeline changed = run.again.run({.usualLaunches = {0}});
  EXPECT_EQ(changed.findTrack(1, kComputeLane)->events[0].begin, 11 * kNsPerUs);
}

/// Rank 0 sends each message 3 us after its data are there. Rank 1 posts the receive of each but
/// the first one meanwhile, 1 us after them, when its job before has ended.
TEST(RunAgain, WhatIsSentLateIsSentAsOthersDoThoughItsReceiveIsPostedMeanwhile) {
  ForwardsByHand made;
  for (int m = 0; m < 3; ++m) {
    const Nanoseconds at = 13 * m;
    made.add(0, JobKind::kForward, at, at + 10, m);
    made.message(0, m, at + 13, m == 0 ? 0 : at + 11, at + 14);
    made.add(1, JobKind::kForward, at + 14, at + 24, m);
    const Nanoseconds last = 15 * m;
    made.message(1, m, at + 24, m == 0 ? 0 : last + 24, last + 25);
    made.add(2, JobKind::kForward, last + 25, last + 39, m);
  }
  const GivenRun run = made.givenRun(3);
  EXPECT_THAT(beginsOn(1, run, {.usualLaunches = {0}}), ElementsAre(11, 22, 33))
      << "each is sent when the job before has ended and its receive is posted";
}

/// Rank 1 posts each receive but the first one 3 us after its job before has ended, when the
/// message was sent already: a thread that does something else meanwhile. Rank 2 posts its own at
/// once.
TEST(RunAgain, WhatIsReceivedLateByARankIsReceivedAsOthersDo) {
  ForwardsByHand made;
  for (int m = 0; m < 3; ++m) {
    made.add(0, JobKind::kForward, 8 * m, 8 * m + 8, m);
    const Nanoseconds at = 8 + 14 * m;
    made.message(0, m, 8 * m + 8, m == 0 ? 0 : at, at + 1);
    made.add(1, JobKind::kForward, at + 1, at + 11, m);
    const Nanoseconds last = 19 + 21 * m;
    made.message(1, m, at + 11, m == 0 ? 0 : last, last + 1);
    made.add(2, JobKind::kForward, last + 1, last + 21, m);
  }
  const GivenRun run = made.givenRun(3);
  EXPECT_THAT(beginsOn(1, run, {.usualLaunches = {1}}), ElementsAre(9, 20, 31))
      << "each is received when the job before has ended";
}

/// On rank 2 a job begins 250 us late where the one before it made data for another rank, as weight
/// halves do not: one thread sends before it goes on.
TEST(RunAgain, WhatOfARankIsLateIsKnownByWhetherTheJobBeforeHasAMessageToSend) {
  const Plan plan = buildSchedule("ZB-H1", 4, 8);
  Costs costs = unevenCosts(plan, false);
  Costs usual = costs;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    bool sends = false;
    for (const Action& action : plan.ranks[rank]) {
      if (!isCompute(action.kind)) continue;
      const bool isLate = rank == 2 && sends;
      usual.faults.jobs.push_back({.action = action, .late = 10'000});
      costs.faults.jobs.push_back({.action = action, .late = isLate ? 260'000 : 10'000});
      sends = action.kind != JobKind::kBackwardWeight;
    }
  }
  const GivenRun run(simulatedRun(plan, costs));
  const Timeline expected = simulatedRun(plan, usual);
  EXPECT_GT(differenceFrom(expected, run, {}), 500'000);
  EXPECT_EQ(differenceFrom(expected, run, {.usualLaunches = {2}}), 0);
}

TEST(RunAgain, OfTwoRanksTheOneThatBeginsFarLaterIsLate) {
  const Plan plan = buildSchedule("1F1B", 2, 8);
  Costs costs = unevenCosts(plan, false);
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    for (const Action& action : plan.ranks[rank]) {
      if (!isCompute(action.kind)) continue;
      costs.faults.jobs.push_back({.action = action, .late = rank == 1 ? 250'000 : 10'000});
    }
  }
  EXPECT_THAT(GivenRun(simulatedRun(plan, costs)).again.lateRanks().ranks, ElementsAre(1));
}

/// Only the first message is logged. Jobs of rank 1 begin 3 us after their inputs, and the third
/// begins 13 us after: what it waited for may have been its message.
TEST(RunAgain, WithoutLaunchesOnlyThatOfAJobWhoseMessageMayHaveBeenLateStays) {
  ForwardsByHand made;
  for (int m = 0; m < 3; ++m) made.add(0, JobKind::kForward, 10 * m, 10 * m + 10, m);
  made.add(0, JobKind::kSendForward, 10, 11, 0, kSendLane);
  made.add(1, JobKind::kRecvForward, 0, 11, 0, kRecvLane);
  made.add(1, JobKind::kForward, 14, 24, 0);
  made.add(1, JobKind::kForward, 27, 37, 1);
  made.add(1, JobKind::kForward, 50, 60, 2);
  const GivenRun run = made.givenRun(2);
  EXPECT_THAT(beginsOn(1, run, {.leavesOutLaunches = true}), ElementsAre(11, 21, 31 + 13));
}

/// Replica 1 begins each step 500 us later than replica 0 does, which waits for it at the
/// end. What jobs begin late besides stays.
TEST(RunAgain, AReplicaThatBeginsAStepLateBeginsAsTheOthersDoWithUsualLaunches) {
  const Plan plan = withReductions(withReplicas(buildSchedule("1F1B", 4, 8), 2));
  Costs costs = unevenCosts(plan, false);
  const Timeline expected = simulatedRun(plan, costs);
  costs.faults.jobs.push_back({.action = {JobKind::kForward, 0, 8}, .late = 500'000});
  const GivenRun run(simulatedRun(plan, costs));
  EXPECT_THAT(run.again.lateOpenings(), ElementsAre(4));
  EXPECT_GE(differenceFrom(expected, run, {}), 500'000);
  EXPECT_EQ(differenceFrom(expected, run, {.usualLaunches = {4}}), 0);
  EXPECT_EQ(differenceFrom(run.run.timeline(), run, {.usualLaunches = {0}}), 0);
  EXPECT_THAT(GivenRun(Timeline(expected)).again.lateOpenings(), IsEmpty());
}

/// Every second micro-batch computes 1.25 times as long on stages 1 and 2.
TEST(RunAgain, WithoutContentionJobsTakeAsLongAsThoseBesideWhichNothingRuns) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = unevenCosts(plan, false);
  const Timeline expected = simulatedRun(plan, costs);
  for (const int stage : {1, 2}) {
    for (int m = 0; m < 8; m += 2) {
      const Nanoseconds forward = costs.stages[static_cast<std::size_t>(stage)].forward;
      costs.faults.jobs.push_back({.action = {JobKind::kForward, stage, m}, .longer = forward / 4});
    }
  }
  const GivenRun run(simulatedRun(plan, costs));
  RunChanges::Contended contended{.jobs = {}, .factor = 0.8};
  for (JobGraph::Id id = 0; id < run.run.graph().jobCount(); ++id) {
    const JobGraph::Node& job = run.run.graph().node(id);
    const bool isOfStage = job.stage == 1 || job.stage == 2;
    if (job.kind == JobKind::kForward && isOfStage && job.microBatch % 2 == 0)
      contended.jobs.push_back(id);
  }
  EXPECT_GT(differenceFrom(expected, run, {}), 100'000);
  EXPECT_LE(differenceFrom(expected, run, {.contended = contended}), 10) << "rounded quarters";
}

TEST(RunAgain, WithoutVariationJobsTakeTheMeanOfTheirRankStageAndKind) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = unevenCosts(plan, false);
  Costs steady = costs;
  for (int stage = 0; stage < 4; ++stage) {
    for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
      for (int m = 0; m < 8; ++m) {  // 0 to 70 us longer, 35 in the mean
        const int place = (3 * m + stage + (kind == JobKind::kForward ? 0 : 5)) % 8;
        costs.faults.jobs.push_back({.action = {kind, stage, m}, .longer = 10'000 * place});
      }
    }
    StageCosts& each = steady.stages[static_cast<std::size_t>(stage)];
    each.forward += 35'000;
    each.backward += 35'000;
  }
  const GivenRun run(simulatedRun(plan, costs));
  const Timeline expected = simulatedRun(plan, steady);
  EXPECT_GT(differenceFrom(expected, run, {}), 50'000);
  EXPECT_LE(differenceFrom(expected, run, {.isSteady = true}), 10'000) << "over 48 jobs";
}

/// Four stages that are alike, whose jobs are 0 to 90 us longer by chance: no stage becomes another
/// one by that.
TEST(RunAgain, StagesThatDifferByChanceAloneAreAlikeWithoutVariation) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs;
  costs.stages.assign(4, {.forward = 1'000'000, .backward = 2'000'000});
  Costs steady = costs;
  std::mt19937 random(5);  // NOLINT: the same run every time
  double sum = 0;
  int count = 0;
  for (const auto& row : plan.ranks) {
    for (const Action& action : row) {
      if (!isCompute(action.kind)) continue;
      const auto longer = static_cast<Nanoseconds>(random() % 90'000);
      costs.faults.jobs.push_back({.action = action, .longer = longer});
      sum += static_cast<double>(longer);
      ++count;
    }
  }
  const auto mean = static_cast<Nanoseconds>(sum / count);
  for (StageCosts& stage : steady.stages) {
    stage.forward += mean;
    stage.backward += mean;
  }
  const GivenRun run(simulatedRun(plan, costs));
  EXPECT_LE(differenceFrom(simulatedRun(plan, steady), run, {.isSteady = true}), 150'000)
      << "forwards and backwards apart, 96 jobs of each";
}

/// Each micro-batch is as long as drawn, and jobs vary besides.
TEST(RunAgain, EvenMicroBatchesLeaveWhatJobsVaryByThemselves) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs;
  costs.stages.assign(4, {.forward = 1'000'000, .backward = 2'000'000});
  Costs even = costs;
  std::mt19937 random(5);  // NOLINT: the same run every time
  std::vector<double> lengths;
  for (int m = 0; m < 8; ++m) lengths.push_back(m % 2 == 0 ? 1.3 : 0.7);
  for (const auto& row : plan.ranks) {
    for (const Action& action : row) {
      if (!isCompute(action.kind)) continue;
      const double usual = action.kind == JobKind::kForward ? 1e6 : 2e6;
      const double own = usual * (1 + static_cast<double>(random() % 100) / 1000);
      const auto longer = [&](double length) { return std::llround(own * length - usual); };
      const double length = lengths[static_cast<std::size_t>(action.microBatch)];
      costs.faults.jobs.push_back({.action = action, .longer = longer(length)});
      even.faults.jobs.push_back({.action = action, .longer = longer(1)});
    }
  }
  const GivenRun run(simulatedRun(plan, costs));
  const auto lengthOf = [](const Timeline& timeline) {
    Nanoseconds end = 0;
    for (const Event& job : timeline.findTrack(0, kComputeLane)->events)
      end = std::max(end, job.end);
    return static_cast<double>(end - kStart);
  };
  const double expected = lengthOf(simulatedRun(plan, even));
  EXPECT_GT(lengthOf(run.run.timeline()), 1.04 * expected);
  EXPECT_NEAR(lengthOf(run.again.run({.evenStages = {0, 1, 2, 3}})), expected, 0.01 * expected);
}

TEST(RunAgain, PausesBetweenStepsStayWithoutLaunches) {
  HandMadeTimeline made;
  for (const int step : {0, 1}) {
    made.add(0, JobKind::kForward, 1000 * step, 1000 * step + 100, step).stage = 0;
    made.add(0, JobKind::kBackward, 1000 * step + 130, 1000 * step + 300, step).stage = 0;
  }
  made.timeline.sort();
  made.timeline.ranks[0] = {.rank = 0, .numStages = 1};
  const GivenRun run(std::move(made.timeline));
  const Timeline changed = run.again.run({.leavesOutLaunches = true});
  const std::vector<Event>& jobs = changed.findTrack(0, kComputeLane)->events;
  EXPECT_EQ(jobs[1].begin, 100);
  EXPECT_EQ(jobs[2].begin, 970) << "700 after the end of step 0, as before";
}

TEST(RunAgain, OtherLanesAndCountersMoveWithTheJobsOfTheirRank) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 1000, 1100, 0).stage = 0;
  made.add(0, JobKind::kKernel, 1050, 1060, 0, -1, "kernels");
  made.add(0, JobKind::kForward, 1200, 1300, 0, 1).stage = 0;
  made.add(0, JobKind::kKernel, 1400, 1410, 0, -1, "kernels");
  made.timeline.counters.push_back({.rank = 0, .name = "memory", .samples = {{1250, 7}}});
  made.timeline.sort();
  made.timeline.ranks[0] = {.rank = 0, .numStages = 1};
  const GivenRun run(std::move(made.timeline));
  const Timeline changed = run.again.run({.scales = {parseScale("kind=forward:2")}});
  const std::vector<Event>& kernels = changed.findTrack(0, "kernels")->events;
  EXPECT_EQ(kernels[0].begin, 1100) << "in the middle of a job that is twice as long";
  EXPECT_EQ(kernels[0].end, 1120);
  EXPECT_EQ(kernels[1].begin, 1600) << "100 behind the last job";
  EXPECT_EQ(changed.counters.front().samples.front().time, 1400);
}

TEST(RunAgain, ChangesOfWhatTheRunDoesNotHaveAreErrorsThatSayWhat) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Costs costs = unevenCosts(plan);
  const GivenRun run(simulatedRun(plan, costs));
  const auto refusalOfChange = [&](const RunChanges& changes) -> std::string {
    try {
      run.again.run(changes);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusalOfChange({.scales = {parseScale("stage=7:2")}}),
              HasSubstr("--scale stage=7:2: the logs of the run have no such work; its stages are "
                        "0 to 3"));
  EXPECT_THAT(refusalOfChange({.scales = {parseScale("rank=9:2")}}), HasSubstr("no rank 9"));
  EXPECT_THAT(refusalOfChange({.links = {{0, 2, 5, "--link 0-2=5ns"}}}),
              HasSubstr("--link 0-2=5ns: the logs have no message between ranks 0 and 2"));
  EXPECT_THAT(refusalOfChange({.ideals = {IdealSet::parse("replica=1")}}),
              HasSubstr("--make-ideal replica=1: the run has no such work"));
}

TEST(IdealSet, TextsThatAreNoSetAreErrorsThatSayWhatIs) {
  EXPECT_EQ(IdealSet::parse("rank=5").number, 5);
  EXPECT_EQ(IdealSet::parse("worst=3%").share, 0.03);
  EXPECT_EQ(IdealSet::parse("kind=transfer").kinds.size(), 4U);
  for (const char* const text : {"", "stage", "stage=", "stage=x", "worst=3", "worst=0%",
                                 "worst=101%", "kind=fast", "half", "rank=-1"}) {
    EXPECT_THROW(IdealSet::parse(text), Error) << text;
  }
}

}  // namespace
}  // namespace pipetrace
