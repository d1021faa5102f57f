// Reductions of replicas, and the agreement of all ranks, are rehearsed as they are simulated, and
// reductions are hidden as much on each rank.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "apps/pipe_run/testing/rehearsed.h"
#include "schedule/backward_parts.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/text/display_name.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

constexpr int kMostRehearsals = 5;

/// "" if the rehearsal has the lengths of the simulation's steps, and hides as much.
std::string differenceOf(const CheckedPlan& plan, const Costs& costs) {
  const Simulation simulation = simulate(plan, costs, {.steps = 2});
  const Timeline timeline = testing::rehearsed({.plan = plan, .costs = costs, .steps = 2});
  const PlanComparison compared = compareWithPlan(asRun(timeline), plan, costs);
  if (!compared.agrees()) return compared.findings().front();
  const auto planned = testing::exposedOf(simulation.timeline, 1);
  const auto most = std::max<double>(0.3 * kNsPerMs, 0.005 * simulation.length);
  for (const auto& [rank, exposed] : testing::exposedOf(timeline, 1)) {
    const Nanoseconds of = planned.at(rank);
    if (std::abs(static_cast<double>(exposed - of)) <= most) continue;
    return "rank " + std::to_string(rank) + " shows " + std::to_string(exposed) + " ns, not " +
           std::to_string(of);
  }
  return "";
}

void expectSimulated(const CheckedPlan& plan, const Costs& costs) {
  std::string difference;
  for (int i = 0; i < kMostRehearsals; ++i) {
    difference = differenceOf(plan, costs);
    if (difference.empty()) return;
  }
  ADD_FAILURE() << difference;
}

Costs costsWith(const Plan& plan, Nanoseconds reduction) {
  return testing::withReductionsOf(reduction, testing::costsByStage(plan));
}

class ReductionsRehearsal : public ::testing::TestWithParam<const char*> {};

TEST_P(ReductionsRehearsal, ReplicasKeepToTheSimulation) {
  const CheckedPlan plan(withReductions(withReplicas(buildSchedule(GetParam(), 4, 8), 2)));
  const Costs costs = costsWith(*plan, 20 * kNsPerMs);
  Costs free = costs;
  for (StageCosts& stage : free.stages) stage.reduction = 0;
  ASSERT_GT(simulate(plan, costs).length, simulate(plan, free).length + 10 * kNsPerMs);
  expectSimulated(plan, costs);
}

INSTANTIATE_TEST_SUITE_P(All, ReductionsRehearsal,
                         ::testing::Values("1F1B", "Interleaved1F1B", "ZBV", "DualPipe"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ReductionsRehearsalTest, TheTwoCopiesOfDualPipeKeepToTheSimulation) {
  const CheckedPlan plan(withReductions(buildSchedule("DualPipe", 4, 8)));
  expectSimulated(plan, costsWith(*plan, 20 * kNsPerMs));
}

TEST(ReductionsRehearsalTest, ThreeBucketsOfAStageFollowEachOther) {
  const CheckedPlan plan(withReductions(withReplicas(buildSchedule("1F1B", 2, 4), 2), 3));
  expectSimulated(plan, costsWith(*plan, 10 * kNsPerMs));
}

/// The plan with its last backwards in that many parts, and a reduction behind each.
CheckedPlan inParts(const char* schedule, int parts) {
  Plan plan = withReplicas(buildSchedule(schedule, 4, 8), 2);
  return CheckedPlan(withReductions(withLastBackwardParts(std::move(plan), parts)));
}

/// The time of reductions that is under jobs of their ranks, over all ranks of a step.
Nanoseconds hiddenOf(const Timeline& timeline, int step) {
  Nanoseconds hidden = 0;
  for (const auto& [rank, info] : timeline.ranks) {
    const Track* const jobs = timeline.findTrack(rank, kComputeLane);
    const Track* const reductions = timeline.findTrack(rank, kReductionLane);
    for (const Event& reduction : reductions->events) {
      if (reduction.step != step) continue;
      for (const Event& job : jobs->events) {
        if (!isCompute(job.kind) || job.step != step) continue;
        hidden += std::max<Nanoseconds>(
            0, std::min(job.end, reduction.end) - std::max(job.begin, reduction.begin));
      }
    }
  }
  return hidden;
}

class PartsRehearsal : public ::testing::TestWithParam<const char*> {};

TEST_P(PartsRehearsal, LastBackwardsInPartsKeepToTheSimulation) {
  const CheckedPlan plan = inParts(GetParam(), 2);
  expectSimulated(plan, costsWith(*plan, 20 * kNsPerMs));
}

// 20 ms at once, or 10 ms for each of two parts.
TEST_P(PartsRehearsal, TwoPartsHideMoreOfTheSameReductionsThanNone) {
  const auto hidden = [](const CheckedPlan& plan, Nanoseconds reduction) {
    const Costs costs = costsWith(*plan, reduction);
    const Nanoseconds planned = hiddenOf(simulate(plan, costs, {.steps = 2}).timeline, /*step=*/1);
    Nanoseconds found = 0;
    for (int i = 0; i < kMostRehearsals; ++i) {
      found = hiddenOf(testing::rehearsed({.plan = plan, .costs = costs, .steps = 2}), 1);
      // A job may begin up to 0.2 ms late on each of eight ranks.
      if (std::abs(static_cast<double>(found - planned)) < 1.6 * kNsPerMs) break;
    }
    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(planned), 1.6 * kNsPerMs);
    return found;
  };
  const Nanoseconds parts = hidden(inParts(GetParam(), 2), 10 * kNsPerMs);
  const Nanoseconds whole = hidden(inParts(GetParam(), 1), 20 * kNsPerMs);
  // On each rank the first part's reduction begins half a job earlier: 2 to 3.5 ms of it.
  EXPECT_GT(parts, whole + 12 * kNsPerMs);
}

INSTANTIATE_TEST_SUITE_P(All, PartsRehearsal, ::testing::Values("1F1B", "ZB-H1"),
                         [](const auto& test) {
                           return test.param[0] == '1' ? std::string("OneFOneB") : "ZBH1";
                         });

TEST(PartsRehearsalTest, LogsNumberThePartsOfOneBackward) {
  const CheckedPlan plan = inParts("1F1B", 3);
  const Timeline timeline =
      testing::rehearsed({.plan = plan, .costs = costsWith(*plan, kNsPerMs), .steps = 1});
  for (int rank = 0; rank < 8; ++rank) {
    std::vector<std::string> last;
    for (const Event& job : timeline.findTrack(rank, kComputeLane)->events) {
      if (job.part == kNotGiven) continue;
      EXPECT_EQ(job.kind, JobKind::kBackward);
      EXPECT_EQ(job.microBatch, 7);
      last.push_back(actionName(job));
    }
    const std::string stage = std::to_string(rank % 4);
    EXPECT_THAT(last, ::testing::ElementsAre(stage + "B7.0", stage + "B7.1", stage + "B7.2"));
  }
  const auto run = explainRun(timeline, {});
  EXPECT_EQ(run.schedule.recognised.names.front(), "1F1B");
  EXPECT_TRUE(run.schedule.recognised.isExact);
  EXPECT_EQ(run.schedule.deviationCount, 0);
}

TEST(ReductionsRehearsalTest, OneSlowReplicaHoldsUpTheOther) {
  const CheckedPlan plan(withReductions(withReplicas(buildSchedule("1F1B", 2, 4), 2)));
  Costs costs = costsWith(*plan, 5 * kNsPerMs);
  costs.optimizer = kNsPerMs;
  for (int microBatch = 4; microBatch < 8; ++microBatch) {
    costs.faults.jobs.push_back(
        {.action = {JobKind::kForward, 1, microBatch}, .longer = 4 * kNsPerMs});
  }
  expectSimulated(plan, costs);
}

// PipeDream's {0: [0, 1], 1: [2]}: updates wait for the gradients of both ranks, also where adding
// them takes no time.
TEST(ReductionsRehearsalTest, UpdatesWithoutAFlushKeepToTheSimulation) {
  const CheckedPlan plan(withReductions(buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 7)));
  for (const Nanoseconds reduction : {Nanoseconds{0}, 8 * kNsPerMs}) {
    Costs costs = costsWith(*plan, reduction);
    costs.optimizer = kNsPerMs;
    costs.faults.jobs.push_back({.action = {JobKind::kBackward, 0, 3}, .longer = 6 * kNsPerMs});
    expectSimulated(plan, costs);
  }
}

TEST(ReductionsRehearsalTest, TheAgreementOfAllRanksComesAfterTheReductions) {
  const CheckedPlan plan(
      withScalarAllReduce(withReductions(withReplicas(buildSchedule("1F1B", 2, 4), 2))));
  Costs costs = costsWith(*plan, 5 * kNsPerMs);
  costs.scalarAllReduce = 10 * kNsPerMs;
  Costs free = costs;
  free.scalarAllReduce = 0;
  ASSERT_EQ(simulate(plan, costs).length, simulate(plan, free).length + 10 * kNsPerMs);
  expectSimulated(plan, costs);
}

TEST(ReductionsRehearsalTest, LogsNameTheRanksOfEach) {
  const CheckedPlan plan(withReductions(withReplicas(buildSchedule("1F1B", 2, 2), 2)));
  const Timeline timeline =
      testing::rehearsed({.plan = plan, .costs = costsWith(*plan, kNsPerMs), .steps = 1});
  for (int rank = 0; rank < 4; ++rank) {
    const Track* const track = timeline.findTrack(rank, kReductionLane);
    ASSERT_NE(track, nullptr);
    ASSERT_EQ(track->events.size(), 1U);
    const Event& event = track->events[0];
    EXPECT_EQ(event.kind, JobKind::kAllReduce);
    EXPECT_EQ(event.stage, rank % 2);
    // After the job before it, by the clock.
    const auto& jobs = timeline.findTrack(rank, kComputeLane)->events;
    EXPECT_GE(event.begin, jobs[jobs.size() - 2].end);
    EXPECT_GE(jobs.back().begin, event.end) << "the optimizer comes after it";
    std::string members;
    for (const Argument& argument : timeline.argumentsOf(event)) {
      if (timeline.strings[argument.key] == "members") members = timeline.strings[argument.text];
    }
    EXPECT_EQ(members, rank % 2 == 0 ? "0 2" : "1 3");
  }
}

/// Rank 2 has the stage of rank 0, and takes 7 ms where that takes 5.
TEST(ReductionsRehearsalTest, TheReportOfARunNamesItsSlowRankFirst) {
  const CheckedPlan plan(withReductions(withReplicas(buildSchedule("1F1B", 2, 4), 2)));
  Costs costs = testing::withReductionsOf(3 * kNsPerMs, testing::equalCosts(*plan));
  for (int microBatch = 4; microBatch < 8; ++microBatch) {
    for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
      costs.faults.jobs.push_back({.action = {kind, 0, microBatch}, .longer = 2 * kNsPerMs});
    }
  }
  std::string wrong;
  for (int i = 0; i < kMostRehearsals; ++i) {
    const Timeline timeline = testing::rehearsed({.plan = plan, .costs = costs, .steps = 3});
    const auto run = explainRun(timeline, {});
    wrong = findingText(run.findings.front());
    const auto unknown = static_cast<std::size_t>(BubbleClass::kUnknown);
    for (const ExplainedRank& rank : run.ranks) {
      EXPECT_EQ(rank.bubbles[unknown], 0) << "rank " << rank.rank;
    }
    if (wrong.starts_with("rank 2 takes ") && run.findings.front().culprit.rank == 2) return;
  }
  ADD_FAILURE() << wrong;
}

TEST(ReductionsRehearsalTest, LogsOfAMapSayWhichRanksShareAStage) {
  const CheckedPlan plan(withReductions(buildOnStageRanks("1F1B", {{0, 1}, {2}}, 6)));
  const Timeline timeline =
      testing::rehearsed({.plan = plan, .costs = costsWith(*plan, 3 * kNsPerMs), .steps = 2});
  EXPECT_EQ(statedStageRanks(timeline), plan->placement.ranksOfStage);
  const auto run = explainRun(timeline, {});
  EXPECT_EQ(run.schedule.recognised.names.front(), "1F1B");
  EXPECT_TRUE(run.schedule.recognised.isExact);
  EXPECT_EQ(run.schedule.ranksOfStage, plan->placement.ranksOfStage);
  EXPECT_EQ(run.schedule.deviationCount, 0);
}

}  // namespace
}  // namespace pipetrace
