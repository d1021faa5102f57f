// Runs of replicas that add up gradients, and of stages that several ranks share.
#include <gmock/gmock.h>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using test::completedRun;
using test::costsOf;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A plan with two replicas of four ranks, whose gradients take 3 ms to add up.
Plan twoReplicas() { return withReductions(withReplicas(buildSchedule("1F1B", 4, 8), 2)); }

Costs costsWithReductions(const Plan& plan) {
  Costs costs = costsOf(plan, 0);
  for (StageCosts& stage : costs.stages) stage.reduction = 3 * kNsPerMs;
  return costs;
}

/// Makes the jobs of replica 1 on a stage half as long again.
void slowDown(Costs& costs, int stage) {
  for (int microBatch = 8; microBatch < 16; ++microBatch) {
    costs.faults.jobs.push_back(
        {.action = {JobKind::kForward, stage, microBatch}, .longer = 5 * kNsPerMs});
    costs.faults.jobs.push_back(
        {.action = {JobKind::kBackward, stage, microBatch}, .longer = 10 * kNsPerMs});
  }
}

Nanoseconds idleIn(const ExplainedRank& rank, BubbleClass bubbleClass) {
  return rank.bubbles[static_cast<std::size_t>(bubbleClass)];
}

/// Planned begins of collectives may be before the ends of jobs that the clock showed.
Timeline withEarlyCollectives(Timeline run) {
  for (Track& track : run.tracks) {
    for (Event& event : track.events) {
      if (event.kind == JobKind::kAllReduce) event.begin -= 900;
    }
  }
  return run;
}

TEST(SlowReplica, IsTheFirstFindingAndTheOneThatTheOthersWaitFor) {
  const Plan plan = twoReplicas();
  Costs costs = costsWithReductions(plan);
  for (int stage = 0; stage < 4; ++stage) slowDown(costs, stage);
  const Timeline timeline = withEarlyCollectives(completedRun(plan, costs));
  const auto run = explainRun(timeline, {});
  EXPECT_THAT(findingText(run.findings[0]),
              StartsWith("pipeline 1 (ranks 4 to 7) takes 1.50 times as long as the others: "
                         "waiting for it costs "));
  // A step takes 11 · 30 ms in one replica and half as long again in the other. So each rank of the
  // fast one waits 165 ms in each of 3 steps. Its path there has 11 jobs that are 55 ms too long,
  // the reduction, and the optimizer; the last two are sync.
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(idleIn(rank, BubbleClass::kUnknown), 0);
    EXPECT_EQ(idleIn(rank, BubbleClass::kLateStart), 0) << "rank " << rank.rank;
    if (rank.rank >= 4) continue;
    const Nanoseconds wait = idleIn(rank, BubbleClass::kPeerWait);
    EXPECT_NEAR(static_cast<double>(wait), 3 * 165e6, 3 * 5e6) << "rank " << rank.rank;
  }
}

/// Other ranks mostly wait for the first backward pass of rank 4, which stands for its other jobs.
TEST(SlowRank, InOneStepIsNoLongJobThoughMostWaitForOne) {
  const Plan plan = withReductions(withReplicas(buildSchedule("GPipe", 4, 8), 2));
  Costs costs = costsWithReductions(plan);
  slowDown(costs, 0);
  for (Faults::Job& job : costs.faults.jobs) job.step = 2;
  const auto run = explainRun(completedRun(plan, costs, 5), {});
  EXPECT_THAT(findingText(run.findings[0]),
              AllOf(StartsWith("rank 4 takes 1.50 times as long as "), HasSubstr("in step 2")));
}

TEST(SlowReplica, WithOneSlowRankIsBlamedOnThatRank) {
  const Plan plan = twoReplicas();
  Costs costs = costsWithReductions(plan);
  slowDown(costs, 2);
  const auto run = explainRun(completedRun(plan, costs), {});
  EXPECT_THAT(findingText(run.findings[0]),
              StartsWith("rank 6 takes 1.50 times as long as the other ranks of stage 2: "));
  EXPECT_EQ(run.findings[0].culprit.rank, 6);
}

/// Rank 0 begins its next step as soon as its optimizer, the last of the step, has ended. Its wait
/// is as long in the first steps as in the last one.
TEST(SlowReplica, IsWaitedForAlsoByTheRankThatBeginsTheNextStepAtOnce) {
  const Plan plan = twoReplicas();
  Costs costs = costsWithReductions(plan);
  costs.lr = 0;
  slowDown(costs, 2);
  Timeline timeline = simulate(CheckedPlan(plan), costs, {.steps = 3}).timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  const auto run = explainRun(timeline, {});
  Nanoseconds waits[3] = {};
  for (const Bubble& bubble : run.bubbles.byRank[0]) {
    EXPECT_NE(bubble.bubbleClass, BubbleClass::kUnknown);
    EXPECT_NE(bubble.bubbleClass, BubbleClass::kLateStart);
    if (bubble.bubbleClass != BubbleClass::kPeerWait) continue;
    waits[bubble.step] += bubble.end - bubble.begin;
  }
  EXPECT_GT(waits[0], 100 * kNsPerMs);
  EXPECT_EQ(waits[1], waits[0]);
  EXPECT_EQ(waits[2], waits[0]);
}

/// In a plan without a flush ranks add up gradients between the jobs of a step, so that a slow rank
/// holds up its peer many times a step.
TEST(SlowReplica, IsBlamedForTheWaitsOfTheOtherInAPlanWithoutAFlush) {
  const Plan plan = withReductions(withReplicas(buildSchedule("PipeDream", 4, 16), 2));
  Costs costs = costsOf(plan, 0);
  for (StageCosts& stage : costs.stages) stage.reduction = 3 * kNsPerMs;
  for (int microBatch = 16; microBatch < 32; ++microBatch) {
    costs.faults.jobs.push_back(
        {.action = {JobKind::kForward, 2, microBatch}, .longer = 5 * kNsPerMs});
    costs.faults.jobs.push_back(
        {.action = {JobKind::kBackward, 2, microBatch}, .longer = 10 * kNsPerMs});
  }
  const auto run = explainRun(completedRun(plan, costs, 1), {});
  EXPECT_THAT(findingText(run.findings[0]),
              StartsWith("rank 6 takes 1.50 times as long as the other ranks of stage 2: "));
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(idleIn(rank, BubbleClass::kUnknown), 0) << "rank " << rank.rank;
    EXPECT_EQ(idleIn(rank, BubbleClass::kLateStart), 0) << "rank " << rank.rank;
    EXPECT_EQ(idleIn(rank, BubbleClass::kImbalance), 0) << "rank " << rank.rank;
  }
}

/// Replica 1 begins each of 3 steps 60 ms late, and replica 0 waits for it at the end. Messages
/// take a millisecond on both. `loads`: rank 4 loads data in that time.
Timeline withALateReplica(bool loads) {
  const Plan plan = twoReplicas();
  Costs costs = costsWithReductions(plan);
  costs.transfer = kNsPerMs;
  costs.faults.jobs.push_back({.action = {JobKind::kForward, 0, 8}, .late = 60 * kNsPerMs});
  Timeline timeline = completedRun(plan, costs);
  for (Track& track : timeline.tracks) {
    if (!loads || track.rank != 4 || track.lane != kComputeLane) continue;
    std::vector<Event> added;
    for (const Event& event : track.events) {
      if (event.kind != JobKind::kForward || event.microBatch % 8 != 0) continue;
      Event& load = added.emplace_back();
      load.kind = JobKind::kData;
      load.begin = event.begin - 60 * kNsPerMs;
      load.end = event.begin;
      load.step = event.step;
    }
    track.events.insert(track.events.end(), added.begin(), added.end());
  }
  timeline.sort();
  return timeline;
}

TEST(LateReplica, IsWhatTheOthersWaitForAtTheEndOfTheStep) {
  const auto run = explainRun(withALateReplica(false), {});
  EXPECT_THAT(findingText(run.findings[0]),
              StartsWith("rank 4 begins 0F0, the first job of its step, later than other pipelines "
                         "do: late starts cost "));
  EXPECT_THAT(remedyText(run.findings[0]), HasSubstr("most often it loads data"));
  for (const ExplainedRank& rank : run.ranks) {
    if (rank.rank >= 4) continue;
    const auto late = static_cast<double>(idleIn(rank, BubbleClass::kLateStart));
    // Of the last wait a part is that for messages of its own pipeline.
    EXPECT_NEAR(late, 3 * 60e6, 6e6) << "rank " << rank.rank;
  }
}

TEST(LateReplica, ThatLoadsDataIsOneFindingAboutItsLoader) {
  const auto run = explainRun(withALateReplica(true), {});
  EXPECT_THAT(findingText(run.findings[0]), StartsWith("rank 4's data loader: 60.00 ms a step"));
  const auto data = std::ranges::count_if(run.findings, [](const Finding& finding) {
    return findingText(finding).find("data loader") != std::string::npos;
  });
  EXPECT_EQ(data, 1);
  EXPECT_GT(run.findings[0].shareOfSteps, 0.08) << "its own pipeline pauses, too";
}

TEST(SharedStage, WithASlowRankInAPlanWithoutAFlushIsNamed) {
  const Plan plan = withReductions(buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 16));
  Costs costs = costsOf(plan, 0);
  costs.stages[0].reduction = 3 * kNsPerMs;
  costs.stages[1].forward /= 2;
  costs.stages[1].backward /= 2;
  for (int microBatch = 0; microBatch < 16; microBatch += 2) {
    for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
      costs.faults.jobs.push_back({.action = {kind, 0, microBatch}, .longer = 8 * kNsPerMs});
    }
  }
  const auto run = explainRun(completedRun(plan, costs, 1), {});
  EXPECT_THAT(findingText(run.findings[0]),
              StartsWith("rank 0 takes 1.53 times as long as the other ranks of stage 0: "));
  for (const Finding& finding : run.findings)
    EXPECT_THAT(findingText(finding), Not(HasSubstr("message")));
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(idleIn(rank, BubbleClass::kUnknown), 0) << "rank " << rank.rank;
    EXPECT_EQ(idleIn(rank, BubbleClass::kLateStart), 0) << "rank " << rank.rank;
  }
}

/// The two ranks of the stage meet at each update, and the plan has one come later than the other.
/// That is sync: launches of some microseconds, which every run has, are no reason for it.
TEST(SharedStage, MeetsWithoutAFlushAndLaunchesThatAreALittleLateAreNotBlamed) {
  const Plan plan = withReductions(buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 12));
  Costs costs = costsOf(plan, 0);
  costs.stages[0].reduction = 3 * kNsPerMs;
  costs.stages[1].forward /= 2;
  costs.stages[1].backward /= 2;
  Timeline timeline = completedRun(plan, costs, 1);
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      if (isCompute(event.kind)) event.begin += 5 * kNsPerUs;
    }
  }
  const auto run = explainRun(timeline, {});
  Nanoseconds sync = 0;
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_LT(idleIn(rank, BubbleClass::kLateStart), kNsPerMs) << "rank " << rank.rank;
    sync += idleIn(rank, BubbleClass::kSync);
  }
  EXPECT_GT(sync, 20 * kNsPerMs);
}

TEST(SharedStage, WhoseJobsAreAsMuchLongerAsItHasRanksIsNotSlow) {
  Plan plan = buildOnStageRanks("1F1B", {{0, 1}, {2}}, 8);
  Costs costs = costsOf(plan, 0);
  StageCosts& shared = costs.stages[0];
  shared.forward *= 2;
  shared.backward *= 2;
  const auto run = explainRun(completedRun(plan, costs), {});
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(idleIn(rank, BubbleClass::kImbalance), 0) << "rank " << rank.rank;
  }
  EXPECT_EQ(run.schedule.recognised.names.front(), "1F1B");
  EXPECT_EQ(run.schedule.deviationCount, 0);
  EXPECT_EQ(run.schedule.ranksOfStage, plan.placement.ranksOfStage);
}

TEST(SharedStage, ThatIsSlowerThanItsShareIsNamed) {
  const Plan plan = buildOnStageRanks("1F1B", {{0}, {1, 2}, {3}}, 12);
  Costs costs = costsOf(plan, 0);
  StageCosts& shared = costs.stages[1];
  shared.forward *= 3;
  shared.backward *= 3;
  const auto run = explainRun(completedRun(plan, costs), {});
  EXPECT_THAT(findingText(run.findings[0]),
              AllOf(StartsWith("stage 1 (ranks 1 and 2) takes 1.50 times as long"),
                    HasSubstr("imbalance")));
}

TEST(SharedStage, OneSlowRankOfItIsNamed) {
  const Plan plan = buildOnStageRanks("1F1B", {{0}, {1, 2}, {3}}, 12);
  Costs costs = costsOf(plan, 0);
  costs.stages[1].forward *= 2;
  costs.stages[1].backward *= 2;
  for (int microBatch = 1; microBatch < 12; microBatch += 2) {
    costs.faults.jobs.push_back(
        {.action = {JobKind::kBackward, 1, microBatch}, .longer = 30 * kNsPerMs});
  }
  const auto run = explainRun(completedRun(plan, costs), {});
  EXPECT_THAT(findingText(run.findings[0]),
              StartsWith("rank 2 takes 1.50 times as long as the other ranks of stage 1: "));
}

TEST(SharedStage, WithARankWithoutALogKeepsTheSchedulesOwnShare) {
  const Plan plan = buildOnStageRanks("1F1B", {{0}, {1, 2}, {3}}, 12);
  Costs costs = costsOf(plan, 0);
  costs.stages[1].forward *= 2;
  costs.stages[1].backward *= 2;
  Timeline timeline = completedRun(plan, costs);
  const auto whole = explainRun(timeline, {});
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 2; });
  timeline.ranks.erase(2);
  const auto run = explainRun(timeline, {});
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(idleIn(rank, BubbleClass::kUnknown), 0) << "rank " << rank.rank;
    for (const ExplainedRank& other : whole.ranks) {
      if (other.rank != rank.rank) continue;
      EXPECT_EQ(rank.bubbles, other.bubbles) << "rank " << rank.rank;
    }
  }
}

/// Rank 1 has stages 1, 3, 5 and 7. Stage 7 is slow, stage 1 hardly.
TEST(SlowStagesOfRanks, TheStageThatIsSlowByItselfIsNamed) {
  const Plan plan = buildSchedule("Interleaved1F1B", {2, 8, 4});
  Costs costs = costsOf(plan, 0);
  costs.stages[7] = {.forward = 40 * kNsPerMs, .backward = 80 * kNsPerMs};
  costs.stages[1] = {.forward = 15 * kNsPerMs, .backward = 30 * kNsPerMs};
  const auto run = explainRun(completedRun(plan, costs), {});
  const auto found = std::find_if(run.findings.begin(), run.findings.end(), [](const auto& each) {
    return each.bubbleClass == BubbleClass::kImbalance;
  });
  ASSERT_NE(found, run.findings.end());
  // (120 + 45) / (2 · 30) = 2.75
  EXPECT_THAT(findingText(*found),
              StartsWith("stage 7 takes 4.00 times as long as the median of stages, so stages 1 "
                         "and 7 of rank 1 together take 2.75 times as long: imbalance costs "));
  EXPECT_THAT(remedyText(*found), StartsWith("give that stage fewer layers: "));
}

/// The findings about the ends of steps.
std::vector<Finding> findingsOfUpdates(const Plan& plan) {
  Costs costs = costsOf(plan, 0);
  for (StageCosts& stage : costs.stages) stage.reduction = 5 * kNsPerMs;
  costs.stages[1].forward *= 2;
  std::vector<Finding> findings = explainRun(completedRun(plan, costs), {}).findings;
  std::erase_if(findings, [](const Finding& each) {
    return each.bubbleClass != BubbleClass::kSync || each.culprit.job != JobGraph::kNone;
  });
  return findings;
}

TEST(Updates, CollectivesAreNamedInRunsThatHaveSome) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const std::vector<Finding> alone = findingsOfUpdates(plan);
  ASSERT_FALSE(alone.empty());
  EXPECT_THAT(findingText(alone.back()), StartsWith("of the idle time optimizers take "));
  EXPECT_THAT(remedyText(alone.back()), testing::Not(HasSubstr("gradients")));
  const std::vector<Finding> reduced = findingsOfUpdates(withReductions(withReplicas(plan, 2)));
  ASSERT_FALSE(reduced.empty());
  EXPECT_THAT(findingText(reduced.back()),
              StartsWith("of the idle time optimizers and collectives take "));
  EXPECT_THAT(remedyText(reduced.back()), HasSubstr("gradients can be reduced"));
}

}  // namespace
}  // namespace pipetrace
