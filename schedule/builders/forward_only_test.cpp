// Plans without backward passes: built, taken from others, checked, and simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/closed_form.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/file/schedule_file.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/plan_texts.h"
#include "schedule/testing/random_plans.h"
#include "schedule/testing/simulated_events.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::problemsOf;
using test::RandomPlans;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(ForwardOnly, OneChunkRunsItsMicroBatchesInOrder) {
  EXPECT_EQ(toCsv(buildSchedule("ForwardOnly", 3, 2)),
            "# name = ForwardOnly, credits = 2\n0F0,0F1\n1F0,1F1\n2F0,2F1\n");
}

TEST(ForwardOnly, SeveralChunksTakeRoundsAsInterleaved1F1BDoes) {
  EXPECT_EQ(toCsv(buildSchedule("ForwardOnly", {2, 4, 2})),
            "# name = ForwardOnly, credits = 2\n0F0,0F1,2F0,2F1,0F2,0F3,2F2,2F3\n"
            "1F0,1F1,3F0,3F1,1F2,1F3,3F2,3F3\n");
  for (const auto& [p, m, v] : {std::tuple{4, 8, 2}, {4, 7, 3}, {3, 11, 2}, {1, 3, 4}}) {
    EXPECT_EQ(buildSchedule("ForwardOnly", {p, m, v}).ranks,
              forwardPart(buildSchedule("Interleaved1F1B", p, m, v)).ranks);
  }
}

TEST(ForwardOnly, OtherProjectsNamesAreKnown) {
  for (const char* name : {"_ScheduleForwardOnly", "forward_only", "InferenceSchedule", "eval"}) {
    EXPECT_EQ(scheduleInfo(name).name, "ForwardOnly") << name;
  }
}

TEST(ForwardOnly, LengthAndBubbleAreThoseOfTheFormula) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 20; ++m) {
      const Plan plan = buildSchedule("ForwardOnly", p, m);
      const DryRun run = dryRun(CheckedPlan(plan), Costs::equal(p, {.forward = 3}));
      ASSERT_EQ(run.length, 3 * (m + p - 1));
      Nanoseconds busy = 0;
      for (const DryRun::Rank& rank : run.ranks) busy += rank.busy;
      const double bubble = 1 - static_cast<double>(busy) / static_cast<double>(p * run.length);
      ASSERT_NEAR(bubble, (p - 1.0) / (m + p - 1.0), 1e-12);
    }
  }
}

TEST(ForwardOnly, ItsOwnCreditsHoldBackNothingWhereAllStagesTakeAsLong) {
  for (int p = 1; p <= 6; ++p) {
    for (int m = 1; m <= 17; ++m) {
      for (int v = 1; v <= 4; ++v) {
        Plan plan = buildSchedule("ForwardOnly", {p, m, v});
        const Costs costs = Costs::equal(p * v, {.forward = 5});
        const Nanoseconds length = dryRun(CheckedPlan(plan), costs).length;
        plan.credits = 0;
        ASSERT_EQ(dryRun(CheckedPlan(plan), costs).length, length) << p << " " << m << " " << v;
      }
    }
  }
}

TEST(ForwardOnly, ActivationsAreHeldUntilTheirOutputIsUsedOrSent) {
  const Costs costs = Costs::equal(4, {.forward = 1, .activation = 10});
  const auto peaks = [&](const Plan& plan) {
    std::vector<std::int64_t> most;
    for (const DryRun::Rank& rank : dryRun(CheckedPlan(plan), costs).ranks) {
      EXPECT_EQ(rank.peakMemory, 10 * rank.peakLive);
      most.push_back(rank.peakLive);
    }
    return most;
  };
  // One at a time, with and without its sends.
  EXPECT_THAT(peaks(buildSchedule("ForwardOnly", 4, 6)), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(peaks(addTransfers(buildSchedule("ForwardOnly", 4, 6))), ElementsAre(1, 1, 1, 1));
  // A send that comes late holds it longer: 0F0 and 0F1 until their sends.
  EXPECT_THAT(peaks(readPlan("0F0,0F1,0SEND_F0,0SEND_F1\n1RECV_F0,1F0,1RECV_F1,1F1\n", "late")),
              ElementsAre(2, 1));
  // Rank 1 hands 1F0 and 1F1 to its own stage 2, which uses them later: three with 2F0.
  EXPECT_THAT(peaks(readPlan("0F0,0F1,3F0,3F1\n1F0,1F1,2F0,2F1\n", "v")), ElementsAre(1, 3));
  // One rank with four stages: a stage's input and its output.
  EXPECT_THAT(peaks(readPlan("0F0,1F0,2F0,3F0,0F1,1F1,2F1,3F1\n", "one")), ElementsAre(2));
}

TEST(ForwardOnly, NothingIsHeldInTheEnd) {
  RandomPlans random(31);
  for (int round = 0; round < 200; ++round) {
    Plan plan = random.forwardOnly();
    plan.credits = 0;
    if (round % 2 == 1) plan = addTransfers(std::move(plan), {.ahead = random.below(3)});
    const Costs costs = Costs::equal(plan.numStages, {.forward = 1, .activation = 7});
    const Simulation simulation = simulate(CheckedPlan(plan), costs, {.counters = true});
    for (const CounterSeries& series : simulation.timeline.counters) {
      ASSERT_EQ(series.samples.back().value, 0) << series.name << "\n" << toCsv(plan);
      for (const auto& sample : series.samples) ASSERT_GE(sample.value, 0) << toCsv(plan);
    }
  }
}

TEST(ForwardOnly, AStepHasNeitherLrNorOptimizer) {
  Costs costs = Costs::equal(2, {.forward = 10});
  costs.lr = 1;
  costs.optimizer = 5;
  const Simulation simulation = simulate(buildSchedule("ForwardOnly", 2, 3), costs, {.steps = 2});
  EXPECT_EQ(simulation.length, 70);
  EXPECT_EQ(simulation.length, simulation.ranks[1].last);
  for (const Event& event : test::eventsOf(simulation, 0)) {
    EXPECT_EQ(event.kind, JobKind::kForward);
  }
  EXPECT_EQ(dryRun(buildSchedule("ForwardOnly", 2, 3), costs).length, 40);
}

TEST(ForwardOnly, HalfMissingBackwardsAreMissing) {
  EXPECT_THAT(problemsOf("0F0,0F1\n1F0,1F1\n"), IsEmpty());
  EXPECT_THAT(problemsOf("0F0,0F1,0B0\n1F0,1B0,1F1\n"),
              ElementsAre("rank 0: 0B1 is missing", "rank 1: 1B1 is missing"));
  EXPECT_THAT(
      problemsOf("0F0,0F1\n1F0,1F1,1B1\n"),
      ElementsAre("rank 0: 0B0 is missing", "rank 0: 0B1 is missing", "rank 1: 1B0 is missing"));
  EXPECT_THAT(problemsOf("0F0\n1F0,1F1\n"), ElementsAre("rank 0: 0F1 is missing"));
}

TEST(ForwardOnly, MessagesOfGradientsHaveNothingToMove) {
  EXPECT_THAT(problemsOf("0F0,0SEND_F0,0RECV_B0\n1RECV_F0,1F0,1SEND_B0\n"),
              ElementsAre(HasSubstr("0RECV_B0 has no message to move: the plan has no backward"),
                          HasSubstr("1SEND_B0 has no message to move: the plan has no backward")));
}

TEST(ForwardOnly, APlanWithoutBackwardsIsNotAsynchronous) {
  EXPECT_THAT(problemsOf("# update_every = 1\n0F0,0F1\n"),
              ElementsAre(HasSubstr("has no backward passes, so its weights do not change")));
}

TEST(ForwardOnly, RandomPlansAndTheirMistakesAreJudgedAsByTheSecondOpinion) {
  RandomPlans random(32);
  for (int round = 0; round < 400; ++round) {
    Plan plan = random.forwardOnly();
    plan.credits = 0;
    if (round % 2 == 1) plan = addTransfers(std::move(plan), {.ahead = random.below(3)});
    const auto problems = check(plan);
    ASSERT_TRUE(problems.empty()) << toText(problems.front()) << "\n" << toCsv(plan);
    ASSERT_TRUE(test::secondOpinion(plan)) << toCsv(plan);
    for (std::vector<Action>& actions : plan.ranks) {
      for (std::size_t i = 0; i < actions.size(); ++i) {
        const std::vector<Action> kept = actions;
        const std::size_t other =
            static_cast<std::size_t>(random.below(static_cast<int>(kept.size())));
        std::swap(actions[i], actions[other]);
        ASSERT_EQ(check(plan).empty(), test::secondOpinion(plan)) << toCsv(plan);
        actions = kept;
        actions[i].kind = JobKind::kBackward;
        ASSERT_EQ(check(plan).empty(), test::secondOpinion(plan)) << toCsv(plan);
        actions = kept;
        actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(i));
        ASSERT_EQ(check(plan).empty(), test::secondOpinion(plan)) << toCsv(plan);
        actions = kept;
      }
    }
  }
}

TEST(ForwardPart, EveryScheduleHasOneThatRuns) {
  for (const std::string& name : scheduleNames()) {
    for (const auto& [p, m] : {std::pair{1, 2}, {2, 4}, {4, 3}, {4, 8}}) {
      const Plan whole = buildSchedule(name, p, m);
      const Plan part = forwardPart(whole);
      SCOPED_TRACE(part.name);
      ASSERT_THAT(problemsOf(part), IsEmpty());
      EXPECT_TRUE(part.isForwardOnly());
      EXPECT_EQ(part.placement, whole.placement);
      std::size_t forwards = 0;
      for (const auto& actions : part.ranks) forwards += actions.size();
      EXPECT_EQ(forwards, static_cast<std::size_t>(whole.numStages * m));
      const Costs costs = Costs::equal(whole.numStages, {1, 2, 1, 1});
      EXPECT_LE(dryRun(CheckedPlan(part), costs).length, dryRun(CheckedPlan(whole), costs).length);
    }
  }
}

TEST(ForwardPart, MessagesOfAFullPlanStayWhereTheyAreForward) {
  const Plan full = readPlan(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0I0,0W0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1RECV_F1,(1F1;1B0)OVERLAP_F_B,1SEND_B0,1B1,1SEND_B1\n",
      "full");
  const Plan part = forwardPart(full);
  EXPECT_EQ(toCsv(part), "0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1F0,1RECV_F1,1F1\n");
  EXPECT_EQ(part.name, "forward part of full");
  EXPECT_EQ(forwardPart(part).name, part.name);
}

TEST(ForwardPart, UpdatesOfAnAsynchronousPlanAreDropped) {
  EXPECT_EQ(forwardPart(buildSchedule("PipeDream-2BW", 4, 8)).updates, WeightUpdates{});
}

TEST(ForwardOnly, PaddlesJobListsRefuseIt) {
  EXPECT_THAT([] { paddleJobList(buildSchedule("ForwardOnly", 2, 2), 0); },
              ThrowsMessage<Error>(HasSubstr("its passes schedule training only")));
}

}  // namespace
}  // namespace pipetrace
