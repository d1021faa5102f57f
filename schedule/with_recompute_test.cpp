#include "schedule/with_recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/check/held_memory.h"
#include "schedule/closed_form.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/file/schedule_file.h"
#include "schedule/fingerprint.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/plan_texts.h"
#include "schedule/testing/random_plans.h"
#include "schedule/testing/second_clock.h"
#include "schedule/testing/simulated_events.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<bool> allStages(const Plan& plan) {
  return std::vector<bool>(static_cast<std::size_t>(plan.numStages), true);
}

Plan recomputed(const Plan& plan) { return withRecompute(plan, allStages(plan)); }

Plan read(std::string_view csv) { return readPlan(csv, "plan.csv"); }

TEST(WithRecompute, ARecomputeStandsRightBeforeItsBackward) {
  EXPECT_EQ(toCsv(withRecompute(buildSchedule("1F1B", 2, 2), {true, false})),
            "0F0,0F1,0R0,0B0,0R1,0B1\n1F0,1B0,1F1,1B1\n");
  EXPECT_EQ(toCsv(recomputed(read("0F0,0I0,0W0\n"))), "0F0,0R0,0I0,0W0\n");
  EXPECT_EQ(toCsv(recomputed(read("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n"))),
            "0F0,0R0,(0F1;0B0)OVERLAP_F_B,0R1,0B1\n");
}

TEST(WithRecompute, RecomputesThatAreThereStayAsTheyAre) {
  EXPECT_EQ(toCsv(recomputed(read("0F0,0R0,0F1,0B0,0B1\n"))), "0F0,0R0,0F1,0B0,0R1,0B1\n");
  const Plan part = forwardPart(recomputed(buildSchedule("ZB-H1", 3, 5)));
  EXPECT_EQ(part.ranks, forwardPart(buildSchedule("ZB-H1", 3, 5)).ranks);
  EXPECT_EQ(recomputed(part).ranks, part.ranks) << "no backward needs it";
}

TEST(WithRecompute, TheReceiveOfTheGradientStandsBeforeTheRecompute) {
  const Plan plan = withRecompute(buildSchedule("1F1B", 2, 2), {true, false});
  const char* const full =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0R0,0B0,0RECV_B1,0R1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
  EXPECT_EQ(toCsv(addTransfers(CheckedPlan(plan), {.ahead = 0})), full);
  const Plan before = addTransfers(buildSchedule("1F1B", 2, 2), {.ahead = 0});
  EXPECT_EQ(toCsv(withRecompute(before, {true, false})), full);
}

TEST(WithRecompute, SeveralRecomputesStandAfterTheReceiveOfWhatFollows) {
  EXPECT_EQ(toCsv(addTransfers(read("0F0,0F1,0R1,0R0,0B0,0B1\n1F0,1F1,1B0,1B1\n"), {.ahead = 0})),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0R1,0R0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1\n");
}

TEST(WithRecompute, MistakesAreNamed) {
  EXPECT_THAT(test::problemsOf("0F0,0R0,0B0\n"), IsEmpty());
  EXPECT_THAT(test::problemsOf("0R0,0F0,0B0\n"),
              ElementsAre("rank 0, cell 0: 0R0 comes before 0F0 (cell 1), which it needs"));
  EXPECT_THAT(test::problemsOf("0F0,0B0,0R0\n"),
              ElementsAre("rank 0, cell 2: 0R0 comes after 0B0 (cell 1), which needs it"));
  EXPECT_THAT(test::problemsOf("0F0,0I0,0R0,0W0\n"),
              ElementsAre("rank 0, cell 2: 0R0 comes after 0I0 (cell 1), which needs it"));
  EXPECT_THAT(test::problemsOf("0F0,(0F1;0B0)OVERLAP_F_B,0R0,0B1\n"),
              ElementsAre("rank 0, cell 2: 0R0 comes after (0F1;0B0)OVERLAP_F_B (cell 1), which "
                          "needs it"));
  EXPECT_THAT(test::problemsOf("0F0,0R0,0R0,0B0\n"),
              ElementsAre("rank 0, cell 2: 0R0 is done already by rank 0, cell 1 (0R0)"));
  EXPECT_THAT(test::problemsOf("0F0,1R0,0B0\n1F0,1B0\n"),
              ElementsAre("rank 0, cell 1: 1R0 is on the wrong rank: stage 1 belongs to rank 1"));
  EXPECT_THAT(test::problemsOf("0F0,0R0\n"),
              ElementsAre("rank 0, cell 1: 0R0 has no backward to recompute for: the plan has no "
                          "backward passes"));
  EXPECT_THAT(test::problemsOf("0F0,0F1,0B0,0R1\n"), ElementsAre("rank 0: 0B1 is missing"));
  EXPECT_THAT(test::problemsOf("0F0,0R7,0B0\n"),
              ElementsAre("rank 0, cell 1: 0R7 is out of range: no other stage has micro-batch 7"));
}

TEST(WithRecompute, FilesKeepIt) {
  for (const std::string& name : scheduleNames()) {
    const Plan plan = recomputed(buildSchedule(name, 4, 8));
    const Plan back = readPlan(toCsv(plan), plan.name);
    EXPECT_EQ(back.ranks, plan.ranks) << name;
    EXPECT_EQ(back.placement, plan.placement) << name;
    EXPECT_EQ(fingerprint(back), fingerprint(plan)) << name;
    if (plan.isForwardOnly()) continue;
    EXPECT_NE(fingerprint(plan), fingerprint(buildSchedule(name, 4, 8))) << name;
  }
}

TEST(WithRecompute, JobListsOfPaddlePaddleLeaveItToTheBackward) {
  const Plan plan = buildSchedule("1F1B", 2, 3);
  EXPECT_EQ(paddleJobList(recomputed(plan), 0), paddleJobList(plan, 0));
}

// p = 2, m = 3, F = 10, R = 8, B = 20, drawn by hand:
//   rank 0: F0 0-10 F1 10-20 R0 20-28        B0 48-68 F2 68-78 R1 78-86 B1 86-106
//           R2 106-114        B2 124-144
//   rank 1:         F0 10-20 R0 20-28 B0 28-48 F1 48-58 R1 58-66 B1 66-86 F2 86-96
//           R2 96-104 B2 104-124
TEST(WithRecompute, RecomputesHideWhereTheirRankWaitsForTheGradient) {
  const Costs costs = Costs::equal(2, {.forward = 10, .backward = 20, .recompute = 8});
  const Simulation run = simulate(recomputed(buildSchedule("1F1B", 2, 3)), costs);
  const auto begins = [&](int rank) {
    std::vector<Nanoseconds> times;
    for (const Event& event : test::eventsOf(run, rank)) times.push_back(event.begin);
    return times;
  };
  EXPECT_THAT(begins(0), ElementsAre(0, 10, 20, 48, 68, 78, 86, 106, 124));
  EXPECT_THAT(begins(1), ElementsAre(10, 20, 28, 48, 58, 66, 86, 96, 104));
  EXPECT_EQ(run.length, 144);
  EXPECT_EQ(run.criticalPath.length(), 144);
  EXPECT_EQ(run.ranks[0].busy, 3 * (10 + 8 + 20));
  EXPECT_EQ(test::eventsOf(run, 0)[2].kind, JobKind::kRecompute);
}

/// All of a rank's R are in its way in the steady state; at the edges they are hidden.
TEST(WithRecompute, LengthIsTheClosedFormForAllSizes) {
  for (const Nanoseconds recompute : {1, 3, 11}) {
    const StageCosts each{.forward = 3, .backward = 7, .recompute = recompute};
    for (const char* name :
         {"1F1B", "Eager1F1B", "FThenB", "GPipe", "PipeDream", "PipeDream-2BW"}) {
      for (int p = 1; p <= 8; ++p) {
        for (int m = 1; m <= 16; ++m) {
          const DryRun run = dryRun(recomputed(buildSchedule(name, p, m)), Costs::equal(p, each));
          const Nanoseconds expected = (m + p - 1) * (3 + 7) + m * recompute;
          ASSERT_EQ(run.length, expected) << name << " p=" << p << " m=" << m;
          ASSERT_EQ(closedForm(name, {p, m}, each)->length, expected);
        }
      }
    }
    EXPECT_FALSE(closedForm("ZB-H1", {4, 8}, each).has_value()) << "none is known";
  }
}

// The gradient of rank 1 is sent at 10 + 15 + 10 + 20 = 55 and is there at 70.
TEST(WithRecompute, ItHidesBehindASlowTransfer) {
  Costs costs = Costs::equal(2, {.forward = 10, .backward = 20, .recompute = 50});
  costs.transfer = 15;
  const Plan plan = buildSchedule("1F1B", 2, 1);
  const Plan withR = withRecompute(plan, {true, false});
  EXPECT_EQ(dryRun(CheckedPlan(plan), costs).length, 90);
  EXPECT_EQ(dryRun(CheckedPlan(withR), costs).length, 90);
  for (const int ahead : {0, 1}) {
    const Plan full = addTransfers(CheckedPlan(withR), {.ahead = ahead});
    EXPECT_EQ(dryRun(CheckedPlan(full), costs).length, 90) << "posted while R still runs";
  }
  costs.stages[0].recompute = 65;
  EXPECT_EQ(dryRun(CheckedPlan(withR), costs).length, 10 + 65 + 20) << "too long to hide";
}

Peaks peaks(std::string_view csv, const Costs& costs, int rank = 0) {
  return peaksOf(read(csv), HeldFor::kBackward, costs, 0, rank);
}

// The same p = 2, m = 3 as above: a forward takes 10 and keeps 2 of them when it ends. Rank 0 holds
// 2 + 10 while 0F1, and 2 + 10 while 0R0 and 0B0, and so on; without recomputes it would hold 20.
TEST(WithRecompute, PeakMemoryIsThatByHand) {
  const Costs costs = Costs::equal(
      2, {.forward = 10, .backward = 20, .recompute = 8, .activation = 10, .recomputed = 8});
  const Plan plan = buildSchedule("1F1B", 2, 3);
  const Simulation run = simulate(recomputed(plan), costs, {.counters = true});
  EXPECT_EQ(run.ranks[0].peakMemory, 12);
  EXPECT_EQ(run.ranks[1].peakMemory, 10);
  EXPECT_EQ(run.ranks[0].peakLive, 2) << "counted as held all the time";
  EXPECT_EQ(simulate(CheckedPlan(plan), costs).ranks[0].peakMemory, 20);
  EXPECT_EQ(dryRun(recomputed(plan), costs).ranks[0].peakMemory, 12);
  for (const CounterSeries& counter : run.timeline.counters) {
    if (counter.rank != 0 || counter.name != "memory") continue;
    std::vector<double> values;
    for (const auto& sample : counter.samples) values.push_back(sample.value);
    EXPECT_THAT(values, ElementsAre(10, 2, 12, 4, 12, 2, 12, 4, 12, 2, 10, 0));
  }
  const CheckOptions limit{.memoryLimit = 11, .costs = &costs};
  EXPECT_THAT(test::textsOf(check(recomputed(plan), limit)),
              ElementsAre("rank 0, cell 1: 0F1 makes 12 of memory that is held at once, and the "
                          "limit is 11; the rank's most is 12"));
}

// The same with 3 more while a backward runs.
TEST(WithRecompute, AJobThatRunsHasItsWorkingMemoryBesideWhatIsHeld) {
  const Costs costs = Costs::equal(2, {.forward = 10,
                                       .backward = 20,
                                       .recompute = 8,
                                       .activation = 10,
                                       .recomputed = 8,
                                       .working = 3});
  const CheckedPlan plan = recomputed(buildSchedule("1F1B", 2, 3));
  const Simulation run = simulate(plan, costs, {.counters = true});
  EXPECT_EQ(run.ranks[0].peakMemory, 15);
  EXPECT_EQ(dryRun(plan, costs).ranks[1].peakMemory, 13);
  for (const CounterSeries& counter : run.timeline.counters) {
    if (counter.rank != 1 || counter.name != "memory") continue;
    std::vector<double> values;
    for (const auto& sample : counter.samples) values.push_back(sample.value);
    // F, R and B of each micro-batch.
    EXPECT_THAT(values, ElementsAre(10, 2, 10, 13, 0, 10, 2, 10, 13, 0, 10, 2, 10, 13, 0));
  }
  // The pair runs while 30 are held, and jobs of stage 1 have 5.
  Costs both = Costs::equal(2, {.activation = 10, .working = 3});
  both.stages[1].working = 5;
  EXPECT_EQ(peaks("0F0,1F0,(0F1;1B0)OVERLAP_F_B,1F1,1B1,0B0,0B1\n", both).memory, 35);
}

TEST(WithRecompute, MemoryOfHalvesAndPairsIsThatByHand) {
  Costs costs = Costs::equal(1, {.activation = 10, .freedByInput = 6, .recomputed = 8});
  // 10, 2; 10 for R and I; 4 for W and F1: 14, 6 after it; 14 for R and I; 8.
  EXPECT_EQ(peaks("0F0,0R0,0I0,0F1,0R1,0I1,0W0,0W1\n", costs).memory, 14);
  // Without 0R0 its forward keeps all: 10 + 10.
  EXPECT_EQ(peaks("0F0,0F1,0R1,0B0,0B1\n", costs).memory, 20);
  // 10, 2; R 10; the pair 20, then 2 of its forward; R 10.
  EXPECT_EQ(peaks("0F0,0R0,(0F1;0B0)OVERLAP_F_B,0R1,0B1\n", costs).memory, 20);
  // All forwards first: 2 + 2 + 10; without any recompute 30.
  EXPECT_EQ(peaks("0F0,0F1,0F2,0R0,0B0,0R1,0B1,0R2,0B2\n", costs).memory, 14);
}

TEST(WithRecompute, EveryBuildersPlanRunsAsTheSecondClockSays) {
  for (const std::string& name : scheduleNames()) {
    for (const auto& [p, m] : {std::pair{1, 2}, {2, 4}, {4, 8}, {3, 5}}) {
      SCOPED_TRACE(name + " " + std::to_string(p) + " " + std::to_string(m));
      const Plan plan = buildSchedule(name, p, m);
      std::vector<bool> some = allStages(plan);
      some[0] = false;
      for (const auto& stages : {allStages(plan), some}) {
        const Plan withR = withRecompute(plan, stages);
        ASSERT_THAT(test::problemsOf(withR), IsEmpty());
        ASSERT_TRUE(test::secondOpinion(withR));
        Costs costs = Costs::equal(
            plan.numStages,
            {.forward = 3, .backward = 5, .backwardInput = 3, .backwardWeight = 2, .recompute = 4});
        costs.transfer = 2;
        for (const Plan& each : {withR, addTransfers(CheckedPlan(withR), {.ahead = 1}),
                                 withRecompute(addTransfers(CheckedPlan(plan)), stages)}) {
          ASSERT_THAT(test::problemsOf(each), IsEmpty());
          ASSERT_EQ(simulate(CheckedPlan(each), costs).length,
                    test::SecondClock(each, costs).length());
        }
        std::int64_t recomputes = 0;
        for (const auto& row : withR.ranks) {
          recomputes += std::count_if(row.begin(), row.end(), [](const Action& action) {
            return action.kind == JobKind::kRecompute;
          });
        }
        const std::int64_t wanted = std::count(stages.begin(), stages.end(), true) * m;
        ASSERT_EQ(recomputes, plan.isForwardOnly() ? 0 : wanted);
      }
    }
  }
}

TEST(WithRecompute, APlanStaysAsFreeOfDeadlocksAsItIs) {
  test::RandomPlans random(41);
  int stuck = 0;
  for (int round = 0; round < 300; ++round) {
    Plan plan = random.any();
    plan.credits = random.below(3);
    const Plan withR = recomputed(plan);
    for (const int buffers : {kUnboundedBuffers, kBlocking, 1, 2}) {
      const bool runs = check(plan, {.buffers = buffers}).empty();
      ASSERT_EQ(check(withR, {.buffers = buffers}).empty(), runs) << buffers << toCsv(withR);
      stuck += !runs;
    }
  }
  EXPECT_GT(stuck, 50);
}

TEST(WithRecompute, ABackwardForASearchLastsAsLongAsBoth) {
  const Costs costs = withRecomputeInBackwards(Costs::equal(
      1,
      {.forward = 10, .backward = 20, .backwardInput = 12, .backwardWeight = 8, .recompute = 7}));
  EXPECT_EQ(costs.stages[0].backward, 27);
  EXPECT_EQ(costs.stages[0].backwardInput, 19);
  EXPECT_EQ(costs.stages[0].backwardWeight, 8);
}

}  // namespace
}  // namespace pipetrace
