// Credits hold a fast rank back: check() and simulate() against hand-made tables, and against a
// second opinion and a second clock that share no code with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/plan_texts.h"
#include "schedule/testing/random_plans.h"
#include "schedule/testing/second_clock.h"
#include "schedule/testing/simulated_events.h"
#include "trace/testing/is_sanitized.h"

namespace pipetrace {
namespace {

using test::RandomPlans;
using test::SecondClock;
using test::secondOpinion;
using testing::ElementsAre;

/// Two ranks, the second slower.
Plan chain(int credits, int microBatches = 4) {
  std::string csv;
  for (const char* stage : {"0F", "1F"}) {
    for (int m = 0; m < microBatches; ++m) {
      csv += (m > 0 ? "," : "") + std::string(stage) + std::to_string(m);
    }
    csv += "\n";
  }
  Plan plan = readPlan(csv, "chain");
  plan.credits = credits;
  return plan;
}

Costs unequal(Nanoseconds first, Nanoseconds second, Nanoseconds transfer) {
  Costs costs = Costs::equal(2, {.forward = first});
  costs.stages[1].forward = second;
  costs.transfer = transfer;
  return costs;
}

std::vector<Nanoseconds> begins(const Plan& plan, const Costs& costs, int rank) {
  std::vector<Nanoseconds> times;
  const Simulation simulation = simulate(CheckedPlan(plan), costs);
  for (const Event& event : test::eventsOf(simulation, rank)) times.push_back(event.begin);
  return times;
}

TEST(Credits, AFastRankWaitsUntilItsMessagesAreUsed) {
  // Rank 0 takes 1 for a forward, rank 1 takes 4: message n may go when 1F(n - credits) has ended.
  EXPECT_THAT(begins(chain(0), unequal(1, 4, 0), 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(begins(chain(1), unequal(1, 4, 0), 0), ElementsAre(0, 1, 5, 9));
  EXPECT_THAT(begins(chain(2), unequal(1, 4, 0), 0), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(begins(chain(3), unequal(1, 4, 0), 0), ElementsAre(0, 1, 2, 3));
  for (const int credits : {0, 1, 2, 3}) {
    EXPECT_THAT(begins(chain(credits), unequal(1, 4, 0), 1), ElementsAre(1, 5, 9, 13)) << credits;
  }
}

TEST(Credits, AnAcknowledgementTakesTheWayBack) {
  // Forwards of 10 and 10, 3 each way. With one credit message 1 leaves at 10 + 3 + 10 + 3.
  EXPECT_THAT(begins(chain(1), unequal(10, 10, 3), 0), ElementsAre(0, 10, 26, 42));
  EXPECT_THAT(begins(chain(1), unequal(10, 10, 3), 1), ElementsAre(13, 29, 45, 61));
  // It holds no line: message 1 has the only one of both ranks, too, as soon as it may leave.
  Plan full = addTransfers(CheckedPlan(chain(1)));
  const Simulation inLine =
      simulate(CheckedPlan(full), unequal(10, 10, 3), {.commStreams = CommStreams::kRank});
  EXPECT_EQ(inLine.length, 71);
  // With two it is there in time.
  EXPECT_THAT(begins(chain(2), unequal(10, 10, 3), 0), ElementsAre(0, 10, 20, 30));
  EXPECT_THAT(begins(chain(2), unequal(10, 10, 3), 1), ElementsAre(13, 23, 33, 43));
}

TEST(Credits, TheNextStepWaitsForTheLastMessagesOfTheOneBefore) {
  const Simulation simulation = simulate(chain(1, 2), unequal(1, 4, 0), {.steps = 2});
  std::vector<Nanoseconds> first;
  for (const Event& event : test::eventsOf(simulation, 0)) first.push_back(event.begin);
  // 1F1 of step 0 ends at 9: then the first message of step 1 leaves, and 0F1 begins.
  EXPECT_THAT(first, ElementsAre(0, 1, 5, 9));
}

TEST(Credits, TheCriticalPathNamesTheAcknowledgement) {
  const Simulation simulation = simulate(chain(1), unequal(10, 10, 3));
  const CriticalPath& path = simulation.criticalPath;
  std::vector<std::string> links;
  for (const CriticalPath::Link& link : path.links) {
    links.push_back(std::string(link.name()) + " " + link.text + " " + std::to_string(link.end) +
                    ": " + std::string(toText(link.reason)));
  }
  EXPECT_THAT(
      links,
      ElementsAre("forward 0F0 10: start of the step", "send_forward 0SEND_F0 13: made then",
                  "forward 1F0 23: message", "ack 1F0 26: made then",
                  "send_forward 0SEND_F1 29: waited for a credit", "forward 1F1 39: message",
                  "ack 1F1 42: made then", "send_forward 0SEND_F2 45: waited for a credit",
                  "forward 1F2 55: message", "ack 1F2 58: made then",
                  "send_forward 0SEND_F3 61: waited for a credit", "forward 1F3 71: message"));
  EXPECT_EQ(path.length(), simulation.length);
  EXPECT_EQ(path.totals().back(), std::pair(std::string_view("ack"), Nanoseconds{9}));
}

TEST(Credits, ADeadlockIsNamedWithTheCreditThatNeverComes) {
  // Rank 1 uses message 1 first, which cannot leave before a message is used.
  Plan plan = readPlan("0F0,0F1\n1F1,1F0\n", "crossed");
  plan.credits = 1;
  const std::string send = "0SEND_F1 (rank 0, after cell 1)";
  const std::string job = "1F1 (rank 1, cell 0)";
  EXPECT_THAT(test::problemsOf(plan),
              ElementsAre("rank 0, cell 1: deadlock: " + send + " waits for a credit from " + job +
                          "; " + job + " waits for " + send + "; that closes the cycle"));
  plan.credits = 2;
  EXPECT_THAT(test::problemsOf(plan), ElementsAre());
}

TEST(Credits, NegativeCreditsAreRefused) {
  EXPECT_THAT(test::problemsOf(chain(-1)),
              ElementsAre("the plan has -1 credits; they are 1 or more, or 0 for any number"));
}

TEST(Credits, GradientsTakeNone) {
  // Both directions of a V share a channel: rank 1 sends 2F0, 1B0 to rank 0 with one credit.
  Plan plan = readPlan("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", "v");
  plan.credits = 1;
  EXPECT_THAT(test::problemsOf(plan), ElementsAre());
}

TEST(Credits, EnoughOfThemChangeNoSchedule) {
  for (const std::string& name : scheduleNames()) {
    Plan plan = buildSchedule(name, 4, 8);
    const Costs costs = Costs::equal(plan.numStages, {3, 7, 4, 3});
    plan.credits = 0;
    const Nanoseconds free = dryRun(CheckedPlan(plan), costs).length;
    plan.credits = 16;
    EXPECT_EQ(dryRun(CheckedPlan(plan), costs).length, free) << name;
  }
}

TEST(Credits, PipeDreamOnASlowStageIsHeldBack) {
  Plan plan = buildSchedule("PipeDream", 4, 12);
  Costs costs = Costs::equal(4, {.forward = 2, .backward = 4});
  costs.stages[1] = {.forward = 10, .backward = 20};
  const auto secondForward = [&](int credits) {
    plan.credits = credits;
    return dryRun(CheckedPlan(plan), costs).ranks[0].begin[2];
  };
  EXPECT_EQ(secondForward(0), 4);
  EXPECT_EQ(secondForward(1), 12);  // 1F0 ends at 2 + 10
}

// A message without a credit is not sent, so nobody receives it either.
TEST(Credits, ABlockingReceiveWaitsForTheCreditOfItsMessage) {
  Plan plan = readPlan(
      "0F0,0SEND_F0,0F1,0SEND_F1\n"
      "1RECV_F0,1RECV_F1,1F0,1F1\n",
      "early");
  plan.credits = 1;
  EXPECT_THAT(check(plan), testing::IsEmpty());
  const std::vector<Problem> problems = check(plan, {.buffers = kBlocking});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(toText(problems.front()),
              testing::HasSubstr("0SEND_F1 (rank 0, cell 3) waits for a credit from 1F0 (rank 1, "
                                 "cell 2), which comes after 1RECV_F1"));
  plan.credits = 2;
  EXPECT_THAT(check(plan, {.buffers = kBlocking}), testing::IsEmpty());
}

/// Random plans with credits, many of which have a deadlock.
class CreditProperties : public testing::Test {
 protected:
  explicit CreditProperties() : random_(11) {}

  Plan next() {
    Plan plan = random_.below(3) > 0 ? random_.forwardOnly() : random_.computeOnly();
    const int ahead = random_.below(4);
    if (random_.below(2) == 0) plan = addTransfers(withoutCredits(plan), {.ahead = ahead});
    plan.credits = 1 + random_.below(3);
    return plan;
  }
  static CheckedPlan withoutCredits(Plan plan) {
    plan.credits = 0;
    return CheckedPlan(std::move(plan));
  }
  Costs costsFor(const Plan& plan) {
    Costs costs = Costs::equal(plan.numStages, {});
    for (StageCosts& stage : costs.stages) {
      stage = {.forward = random_.below(5),
               .backward = random_.below(8),
               .backwardInput = random_.below(5),
               .backwardWeight = random_.below(4),
               .recompute = random_.below(5)};
    }
    costs.transfer = random_.below(4);
    return costs;
  }

  RandomPlans random_;
};

TEST_F(CreditProperties, DeadlocksAreThoseOfTheSecondOpinion) {
  int stuck = 0;
  int free = 0;
  for (int round = 0; round < test::drawn(1500); ++round) {
    const Plan plan = next();
    const auto problems = check(plan);
    ASSERT_EQ(problems.empty(), secondOpinion(plan))
        << (problems.empty() ? "" : toText(problems.front())) << "\n"
        << toCsv(plan);
    ++(problems.empty() ? free : stuck);
    for (const int buffers : {kBlocking, kPostedOnly, 1, 2}) {
      const Plan lazy = problems.empty() && toCsv(plan).find("SEND") == std::string::npos
                            ? addTransfers(CheckedPlan(plan), {.ahead = 0})
                            : plan;
      if (toCsv(lazy).find("SEND") == std::string::npos) continue;
      ASSERT_EQ(check(plan, {.buffers = buffers}).empty(), secondOpinion(lazy, buffers))
          << buffers << "\n"
          << toCsv(plan);
    }
  }
  EXPECT_GT(stuck, test::drawn(100));
  EXPECT_GT(free, test::drawn(500));
}

TEST_F(CreditProperties, TimesAreThoseOfTheSecondClock) {
  int held = 0;
  for (int round = 0; round < test::drawn(1500); ++round) {
    const Plan plan = next();
    if (!check(plan).empty()) continue;
    const Costs costs = costsFor(plan);
    const DryRun run = dryRun(CheckedPlan(plan), costs);
    const SecondClock clock(plan, costs);
    ASSERT_EQ(run.length, clock.length()) << toCsv(plan);
    for (int rank = 0; rank < plan.numRanks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      std::vector<Nanoseconds> begun;
      for (std::size_t i = 0; i < plan.ranks[r].size(); ++i) {
        if (!isTransfer(plan.ranks[r][i].kind)) begun.push_back(run.ranks[r].begin[i]);
      }
      ASSERT_EQ(begun, clock.begins(rank)) << rank << "\n" << toCsv(plan);
    }
    const Simulation simulation = simulate(CheckedPlan(plan), costs);
    ASSERT_EQ(simulation.length, run.length) << toCsv(plan);
    ASSERT_EQ(simulation.criticalPath.length(), run.length) << toCsv(plan);
    const int steps = 1 + random_.below(3);
    ASSERT_EQ(simulate(CheckedPlan(plan), costs, {.steps = steps}).length,
              SecondClock(plan, costs, steps).length())
        << steps << " steps\n"
        << toCsv(plan);
    held += run.length > dryRun(withoutCredits(plan), costs).length;
  }
  EXPECT_GT(held, test::drawn(50));
}

TEST_F(CreditProperties, TheCriticalPathLeavesNoTimeOut) {
  int acknowledged = 0;
  for (int round = 0; round < 1500; ++round) {
    Plan plan = next();
    if (!plan.isForwardOnly() && !plan.isBidirectional() && random_.below(2) == 0) {
      plan.updates = WeightUpdates::alike(plan.numStages, 1 + random_.below(2));
    }
    if (!check(plan).empty()) continue;
    Costs costs = costsFor(plan);
    costs.lr = random_.below(2);
    costs.optimizer = random_.below(3);
    if (random_.below(2) == 0) costs.bandwidth = 1e9;
    for (StageCosts& stage : costs.stages) stage.message = random_.below(4);
    if (random_.below(2) == 0) {
      costs.faults.links.push_back({.rank = 0, .peer = 1, .transfer = random_.below(9)});
      costs.faults.jobs.push_back({.action = plan.ranks[0].back(), .late = random_.below(3)});
    }
    const Simulation simulation = simulate(CheckedPlan(plan), costs);
    ASSERT_EQ(simulation.length, dryRun(CheckedPlan(plan), costs).length) << toCsv(plan);
    Nanoseconds now = 0;
    for (const CriticalPath::Link& link : simulation.criticalPath.links) {
      ASSERT_EQ(link.begin, now) << link.text << "\n" << toCsv(plan);
      now = link.end;
      acknowledged += link.isAcknowledgement;
    }
    ASSERT_EQ(now, simulation.length) << toCsv(plan);
  }
  EXPECT_GT(acknowledged, 100);
}

TEST_F(CreditProperties, MessagesOnLinesOfTheirOwnTakeAsLongAsThoseSentWhenMade) {
  int stuck = 0;
  int held = 0;
  for (int round = 0; round < 1500; ++round) {
    Plan plan = random_.below(3) > 0 ? random_.forwardOnly() : random_.computeOnly();
    Plan full = addTransfers(withoutCredits(plan), {.ahead = 0});
    if (!full.hasAny(isTransfer)) continue;
    plan.credits = full.credits = 1 + random_.below(3);
    const bool runs = check(plan).empty();
    ASSERT_EQ(check(full, {.commStreams = CommStreams::kMessage}).empty(), runs) << toCsv(full);
    if (!runs) {
      ++stuck;
      continue;
    }
    const Costs costs = costsFor(plan);
    const Simulation inLine =
        simulate(CheckedPlan(full), costs, {.commStreams = CommStreams::kMessage});
    ASSERT_EQ(inLine.length, SecondClock(plan, costs).length()) << toCsv(full);
    ASSERT_EQ(inLine.criticalPath.length(), inLine.length) << toCsv(full);
    held += inLine.length > dryRun(withoutCredits(plan), costs).length;
  }
  EXPECT_GT(stuck, 50);
  EXPECT_GT(held, 20);
}

TEST_F(CreditProperties, MessagesInTimeNeverWaitForEachOtherForEver) {
  int held = 0;
  for (int round = 0; round < 500; ++round) {
    Plan plan = random_.below(3) > 0 ? random_.forwardOnly() : random_.computeOnly();
    plan.credits = 1 + random_.below(3);
    if (!check(plan).empty()) continue;
    const Costs costs = costsFor(plan);
    const Plan inTime = withMessagesInTime(CheckedPlan(plan), costs);
    if (!inTime.hasAny(isTransfer)) continue;
    ASSERT_TRUE(check(inTime, {.commStreams = CommStreams::kRank}).empty()) << toCsv(inTime);
    const Simulation inLine =
        simulate(CheckedPlan(inTime), costs, {.commStreams = CommStreams::kRank});
    ASSERT_EQ(inLine.criticalPath.length(), inLine.length) << toCsv(inTime);
    held += inLine.criticalPath.totals().back().first == "ack";
  }
  EXPECT_GT(held, 20);
}

TEST_F(CreditProperties, MoreCreditsNeverTakeLonger) {
  for (int round = 0; round < 300; ++round) {
    Plan plan = next();
    const Costs costs = costsFor(plan);
    Nanoseconds before = -1;
    for (plan.credits = 1; plan.credits < 6; ++plan.credits) {
      if (!check(plan).empty()) {
        ASSERT_EQ(before, -1) << "fewer credits were enough\n" << toCsv(plan);
        continue;
      }
      const Nanoseconds length = dryRun(CheckedPlan(plan), costs).length;
      if (before >= 0) {
        ASSERT_LE(length, before) << toCsv(plan);
      }
      before = length;
    }
  }
}

TEST_F(CreditProperties, ReceivesPostedByCreditsTakeAsLongAsThePlanWithoutThem) {
  int held = 0;
  for (int round = 0; round < 400; ++round) {
    Plan plan = random_.forwardOnly();
    plan.credits = 1 + random_.below(3);
    if (!check(plan).empty()) continue;
    const Costs costs = costsFor(plan);
    const Plan full = addTransfers(CheckedPlan(plan));
    ASSERT_EQ(full.credits, plan.credits);
    ASSERT_EQ(check(full).size(), 0U) << toCsv(full);
    const Nanoseconds length = dryRun(CheckedPlan(plan), costs).length;
    ASSERT_EQ(dryRun(CheckedPlan(full), costs).length, length) << toCsv(full);
    held += length > dryRun(withoutCredits(plan), costs).length;
  }
  EXPECT_GT(held, 20);
}

}  // namespace
}  // namespace pipetrace
