// Runs that are not as most are: numbers that are true, or a sentence why there are none. Expected
// numbers are counted by hand or follow from closed forms.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/hand_made_timeline.h"
#include "schedule/with_recompute.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr BubbleClass kOwnClasses[] = {BubbleClass::kWarmUp, BubbleClass::kSteady,
                                       BubbleClass::kDrain};

Nanoseconds timeIn(const ExplainedRank& rank, BubbleClass c) {
  return rank.bubbles[static_cast<std::size_t>(c)];
}

/// Expects that the idle time of each rank is the schedule's own, and of these classes.
void expectOwnAnd(const Explanation& run, const std::vector<BubbleClass>& others) {
  for (const ExplainedRank& rank : run.ranks) {
    Nanoseconds sum = 0;
    for (const BubbleClass c : kOwnClasses) sum += timeIn(rank, c);
    for (const BubbleClass c : others) sum += timeIn(rank, c);
    EXPECT_EQ(sum, rank.idle) << "rank " << rank.rank;
  }
}

ExplainedRun completeAndExplain(Timeline& timeline) {
  timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return explainRun(timeline, {});
}

/// Neither `lr` nor optimizers nor messages take time.
Costs workOnly(const Plan& plan) {
  Costs costs = test::costsOf(plan, 0);
  costs.lr = costs.optimizer = 0;
  return costs;
}

TEST(UnusualRun, OneRankWaitsForItselfOnly) {
  HandMadeTimeline made;
  for (const int step : {0, 1, 2}) {
    const Nanoseconds at = 40 * step;
    made.add(0, JobKind::kForward, at, at + 10, step).stage = 0;
    made.add(0, JobKind::kBackward, at + 15, at + 35, step).stage = 0;
  }
  const auto run = completeAndExplain(made.timeline);
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_EQ(run.ranks[0].idle, 3 * 5);
  EXPECT_EQ(timeIn(run.ranks[0], BubbleClass::kLateStart), 3 * 5);
  EXPECT_DOUBLE_EQ(run.steps[1].efficiency.parallel, 30.0 / 35);
  EXPECT_DOUBLE_EQ(run.steps[1].efficiency.loadBalance, 1);
  EXPECT_DOUBLE_EQ(run.steps[1].efficiency.schedule, 30.0 / 35);
  EXPECT_THAT(run.pathShares.byKind, UnorderedElementsAre(Pair("forward", 30), Pair("backward", 60),
                                                          Pair("late_start", 15)));
  EXPECT_DOUBLE_EQ(run.slowdown.total, 1);
  EXPECT_DOUBLE_EQ(run.slowdown.launch, 35.0 / 30);
}

/// Only some steps were recorded: 0 to 2, 7 and 8.
TEST(UnusualRun, StepsThatWereNotRecordedAreNoPause) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  Timeline timeline = test::completedRun(plan, test::costsOf(plan, 0), 9);
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [](const Event& e) { return e.step > 2 && e.step < 7; });
  }
  timeline.ranks.at(0).tokensPerStep = 1000;
  const auto run = explainRun(timeline, {});
  ASSERT_EQ(run.steps.size(), 5U);
  expectOwnAnd(run, {BubbleClass::kSync});
  for (const Finding& finding : run.findings)
    EXPECT_NE(finding.kind, FindingKind::kPauses) << findingText(finding);
  for (const ExplainedStep& step : run.steps) {
    EXPECT_EQ(step.summary.duration(), (5 * 30 + 2) * kNsPerMs);
    // `lr` comes before each step.
    const bool isFollowed = step.summary.step != 2 && step.summary.step != 8;
    EXPECT_EQ(step.summary.betweenSteps, isFollowed ? kNsPerMs / 10 : 0);
  }
  // Steps that none follows are taken to pause as long as the others.
  EXPECT_NEAR(run.tokensPerSecond.value(), 1000 / (0.152 + 0.0001), 1e-6);
}

TEST(UnusualRun, RankWithoutAStepLeavesThatStepWithoutCauses) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Timeline timeline = test::completedRun(plan, test::costsOf(plan, 0), 4);
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [&](const Event& e) { return track.rank == 2 && e.step == 2; });
  }
  const auto run = explainRun(timeline, {});
  for (const auto& bubbles : run.bubbles.byRank) {
    for (const Bubble& bubble : bubbles) {
      if (bubble.bubbleClass == BubbleClass::kSync) continue;
      const bool isOwn = std::find(std::begin(kOwnClasses), std::end(kOwnClasses),
                                   bubble.bubbleClass) != std::end(kOwnClasses);
      const bool isUnknown = bubble.bubbleClass == BubbleClass::kUnknown;
      EXPECT_TRUE(bubble.step == 2 ? isUnknown : isOwn)
          << "step " << bubble.step << ": " << bubbleClassName(bubble.bubbleClass);
    }
  }
  EXPECT_FALSE(run.steps[2].isWhole);
  EXPECT_EQ(run.steps[2].efficiency.planned, 0);
  EXPECT_EQ(run.slowdown.steps, (std::vector<std::int32_t>{0, 1, 3}));
}

/// Ranks go on with the next step by themselves. Windows are cut where the next step begins, so
/// that together they are the run.
TEST(UnusualRun, StepsThatOverlapHaveOnlyTheSchedulesOwnIdleTime) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Timeline timeline = simulate(CheckedPlan(plan), workOnly(plan), {.steps = 4}).timeline;
  const auto run = completeAndExplain(timeline);
  expectOwnAnd(run, {});
  ASSERT_EQ(run.steps.size(), 4U);
  Nanoseconds windows = 0;
  for (const ExplainedStep& step : run.steps) windows += step.summary.window();
  EXPECT_EQ(windows, timeline.span().end - timeline.span().begin);
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(rank.busy, 4 * 240 * kNsPerMs);
    EXPECT_EQ(rank.idle, windows - rank.busy);
  }
}

/// Rank 0 recomputes while it waits for the gradient.
TEST(UnusualRun, RecomputationsAreWorkThatWaitsForNobody) {
  HandMadeTimeline made;
  for (const int step : {0, 1, 2}) {
    const auto add = [&](int rank, JobKind kind, Nanoseconds begin) {
      begin += 50 * step;
      made.add(rank, kind, begin, begin + 10, step).stage = rank;
    };
    add(0, JobKind::kForward, 0);
    add(0, JobKind::kRecompute, 10);
    add(0, JobKind::kBackward, 40);
    add(1, JobKind::kForward, 10);
    add(1, JobKind::kRecompute, 20);
    add(1, JobKind::kBackward, 30);
  }
  for (const int rank : {0, 1}) made.timeline.ranks[rank].numStages = 2;
  const auto run = completeAndExplain(made.timeline);
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(timeIn(run.ranks[0], BubbleClass::kDrain), 3 * 20);
  EXPECT_EQ(run.ranks[0].idle, 3 * 20);
  EXPECT_EQ(timeIn(run.ranks[1], BubbleClass::kWarmUp), 3 * 10);
  EXPECT_EQ(timeIn(run.ranks[1], BubbleClass::kDrain), 3 * 10);
  EXPECT_EQ(run.ranks[1].idle, 3 * 20);
  EXPECT_DOUBLE_EQ(run.steps[1].efficiency.parallel, 0.6);
  EXPECT_DOUBLE_EQ(run.steps[1].efficiency.schedule, 1);
  EXPECT_DOUBLE_EQ(run.slowdown.total, 1);
}

TEST(UnusualRun, RecomputesOfAPlanLeaveTheScheduleItsNameAndItsIdleTime) {
  for (const std::string& name : scheduleNames()) {
    if (name == "auto") continue;
    SCOPED_TRACE(name);
    const Plan plan = buildSchedule(name, 4, 8);
    const Plan recomputed =
        withRecompute(plan, std::vector<bool>(static_cast<std::size_t>(plan.numStages), true));
    Costs costs = workOnly(plan);
    for (StageCosts& stage : costs.stages) stage.recompute = 7 * kNsPerMs;
    const auto run = explainRun(test::completedRun(recomputed, costs), {});
    EXPECT_THAT(run.schedule.recognised.names, testing::Contains(name));
    EXPECT_TRUE(run.schedule.recognised.isExact);
    EXPECT_EQ(run.schedule.deviationCount, 0);
    expectOwnAnd(run, {});
    if (name != "1F1B") continue;
    for (const ExplainedRank& rank : run.ranks) {
      EXPECT_EQ(timeIn(rank, BubbleClass::kSteady), 0) << "waits after its first R are warm-up";
    }
  }
}

/// As PyTorch's checkpoints do. The run without them, whose backward passes take both times, is the
/// judge.
TEST(UnusualRun, RecomputationsInBackwardPassesWaitForTheirGradients) {
  for (const double transferMs : {0.0, 4.0}) {
    for (const double factor : {1.0, 1.3}) {
      const Plan plan = buildSchedule("1F1B", {4, 8});
      Costs costs = test::costsOf(plan, transferMs);
      test::scaleRank(costs, plan, 2, factor);
      const Timeline together = test::completedRun(plan, costs);
      const Timeline apart = test::recomputing(together);
      const auto expected = explainRun(together, {});
      const auto run = explainRun(apart, {});
      for (std::size_t rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(run.ranks[rank].bubbles, expected.ranks[rank].bubbles)
            << "rank " << rank << ", transfers of " << transferMs << " ms, factor " << factor;
      }
    }
  }
}

TEST(UnusualRun, FusedPairsWithEqualCostsHaveOnlyTheSchedulesOwnIdleTime) {
  for (const char* schedule : {"DualPipe", "DualPipeV"}) {
    SCOPED_TRACE(schedule);
    const Plan plan = buildSchedule(schedule, {4, 8});
    const Timeline timeline = test::completedRun(plan, workOnly(plan));
    const auto run = explainRun(timeline, {});
    EXPECT_TRUE(std::any_of(
        run.graph->nodes().begin(), run.graph->nodes().end(),
        [](const JobGraph::Node& node) { return node.kind == JobKind::kForwardBackward; }));
    expectOwnAnd(run, {});
    EXPECT_EQ(toText(run.schedule.recognised), schedule);
    EXPECT_EQ(run.slowdown.reason, "");
    EXPECT_NEAR(run.slowdown.total, 1, 1e-9);
    for (const ExplainedStep& step : run.steps) EXPECT_DOUBLE_EQ(step.efficiency.schedule, 1);
  }
}

/// Pipelines of two ranks under 1F1B, each with its own micro-batches and costs.
Timeline replicasWith(const std::vector<int>& microBatches, const std::vector<double>& factors) {
  Timeline all;
  for (std::size_t r = 0; r < microBatches.size(); ++r) {
    const Plan plan = buildSchedule("1F1B", {2, microBatches[r]});
    Costs costs = workOnly(plan);
    for (const int rank : {0, 1}) test::scaleRank(costs, plan, rank, factors[r]);
    const Timeline one =
        simulate(CheckedPlan(plan), costs, {.steps = 3, .stepsStartTogether = true}).timeline;
    const int replica = static_cast<int>(r);
    for (const Track& track : one.tracks) {
      const int rank = 2 * replica + track.rank;
      for (Event event : track.events) {
        if (!isCompute(event.kind)) continue;
        event.name = 0;
        event.firstArgument = event.argumentCount = 0;
        all.track(rank, track.lane).events.push_back(event);
      }
      RankInfo& info = all.ranks[rank];
      info = one.ranks.at(track.rank);
      info.rank = rank;
      info.worldSize = 2 * static_cast<int>(microBatches.size());
      info.dataParallelIndex = replica;
    }
  }
  return all;
}

/// A step of replica 0 lasts (4 + 2 − 1) · 30 ms, one of replica 1 half as long again.
TEST(UnusualRun, SlowReplicaIsNamedByItsIndex) {
  Timeline timeline = replicasWith({4, 4}, {1, 1.5});
  const auto run = completeAndExplain(timeline);
  ASSERT_EQ(run.steps.size(), 6U);
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    EXPECT_EQ(run.steps[i].summary.duration(), (i < 3 ? 150 : 225) * kNsPerMs);
    EXPECT_DOUBLE_EQ(run.steps[i].efficiency.parallel, 4.0 / 5);
    // The usual length of a stage is that of the faster replica in both.
    EXPECT_DOUBLE_EQ(run.steps[i].efficiency.schedule, i < 3 ? 1 : 150.0 / 225);
  }
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(std::accumulate(rank.bubbles.begin(), rank.bubbles.end(), Nanoseconds{}), rank.idle);
    EXPECT_EQ(timeIn(rank, BubbleClass::kUnknown), 0);
  }
  ASSERT_EQ(run.slowdown.reason, "");
  EXPECT_DOUBLE_EQ(run.slowdown.tIdeal, 5 * 37.5e6);
  EXPECT_DOUBLE_EQ(run.slowdown.total, 225 / 187.5);
  EXPECT_DOUBLE_EQ(run.slowdown.byReplica.at(0), 1);
  EXPECT_DOUBLE_EQ(run.slowdown.byReplica.at(1), 225 / 187.5);
  // Its last position holds it up most: a forward and a backward of position 0 at their ideals, and
  // four of position 1 in between.
  EXPECT_THAT(run.slowdown.worstRanks, ElementsAre(3));
  EXPECT_DOUBLE_EQ(run.slowdown.ranks[3].score, (12.5 + 4 * 45 + 25) / 187.5);
}

TEST(UnusualRun, ReplicasMayHaveDifferentNumbersOfMicroBatches) {
  Timeline timeline = replicasWith({4, 8}, {1, 1});
  const auto run = completeAndExplain(timeline);
  ASSERT_EQ(run.steps.size(), 6U);
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const int microBatches = i < 3 ? 4 : 8;
    EXPECT_EQ(run.steps[i].summary.duration(), (microBatches + 1) * 30 * kNsPerMs);
    EXPECT_NEAR(run.steps[i].summary.bubbleRatio, 1.0 / (microBatches + 1), 1e-12);
    EXPECT_TRUE(run.steps[i].isWhole);
  }
  expectOwnAnd(run, {});
  for (const ExplainedRank& rank : run.ranks) EXPECT_EQ(rank.idle, 3 * 30 * kNsPerMs);
}

}  // namespace
}  // namespace pipetrace
