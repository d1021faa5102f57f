#include "schedule/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <type_traits>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/plan_timing.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/plan_texts.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::problemsOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Check, ValidPlansHaveNoProblems) {
  EXPECT_THAT(problemsOf("0F0,0B0\n"), IsEmpty());
  EXPECT_THAT(problemsOf("0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n"), IsEmpty());
  EXPECT_THAT(problemsOf("0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n"), IsEmpty());
}

TEST(Check, MissingWorkIsNamed) {
  EXPECT_THAT(problemsOf("0F0,0B0,0F1\n1F0,1B0,1B1\n"),
              ElementsAre("rank 0: 0B1 is missing", "rank 1: 1F1 is missing"));
}

TEST(Check, HalfABackwardPassIsNoBackwardPass) {
  EXPECT_THAT(problemsOf("0F0,0I0\n"),
              ElementsAre("rank 0: 0W0 is missing: the plan has only the half 0I0 of that "
                          "backward pass"));
  EXPECT_THAT(problemsOf("0F0,0F1,0B0,0W0,0B1\n"),
              ElementsAre("rank 0, cell 3: 0W0 is done already by the whole backward pass 0B0"));
}

TEST(Check, DoubledWorkIsNamedWithBothPlaces) {
  EXPECT_THAT(problemsOf("0F0,0F0,0B0\n"),
              ElementsAre("rank 0, cell 1: 0F0 is done already by rank 0, cell 0 (0F0)"));
  EXPECT_THAT(problemsOf("0F0,0B0,0I0,0W0\n"),
              testing::Contains("rank 0, cell 2: 0I0 is done already by rank 0, cell 1 (0B0)"));
}

TEST(Check, WorkOutOfRangeIsNamed) {
  Plan plan = buildSchedule("1F1B", 2, 2);
  plan.ranks[1].push_back({JobKind::kForward, 1, 2});
  plan.ranks[0].push_back({JobKind::kBackward, -1, 0});
  plan.ranks[0].push_back({JobKind::kSendForward, 0, 7});
  EXPECT_THAT(problemsOf(plan),
              ElementsAre("rank 0, cell 4: -1B0 is out of range: the plan has 2 stages and 2 "
                          "micro-batches",
                          "rank 0, cell 5: 0SEND_F7 is out of range: the plan has 2 stages and 2 "
                          "micro-batches",
                          "rank 1, cell 4: 1F2 is out of range: the plan has 2 stages and 2 "
                          "micro-batches"));
}

TEST(Check, BackwardBeforeItsForwardIsNamed) {
  EXPECT_THAT(problemsOf("0B0,0F0\n"),
              ElementsAre("rank 0, cell 0: 0B0 comes before 0F0 (cell 1), which it needs"));
  EXPECT_THAT(problemsOf("0F0,0W0,0I0\n"),
              ElementsAre("rank 0, cell 1: 0W0 comes before 0I0 (cell 2), which it needs"));
}

TEST(Check, FusedPairOfOneMicroBatchWaitsForItself) {
  EXPECT_THAT(problemsOf("(0F0;0B0)OVERLAP_F_B\n"),
              ElementsAre(HasSubstr("rank 0, cell 0: (0F0;0B0)OVERLAP_F_B comes before")));
}

TEST(Check, StageOnAnotherRankIsNamed) {
  Plan plan = buildSchedule("1F1B", 2, 1);
  std::swap(plan.ranks[0][1], plan.ranks[1][1]);
  EXPECT_THAT(problemsOf(plan),
              ElementsAre("rank 0, cell 1: 1B0 is on the wrong rank: stage 1 belongs to rank 1",
                          "rank 1, cell 1: 0B0 is on the wrong rank: stage 0 belongs to rank 0"));
}

TEST(Check, AllProblemsAreReportedAtOnce) {
  const auto problems = problemsOf("0B0,0F0,0F0\n1F0\n");
  EXPECT_THAT(problems,
              ElementsAre(HasSubstr("cell 2: 0F0 is done already"), HasSubstr("1B0 is missing"),
                          HasSubstr("0B0 comes before 0F0")));
}

TEST(Check, DeadlockIsReportedAsItsCycle) {
  // Rank 0 needs the gradient of micro-batch 0 before it sends micro-batch 1; rank 1 needs
  // micro-batch 1 before it makes that gradient.
  EXPECT_THAT(
      problemsOf("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"),
      ElementsAre(
          std::string("rank 0, cell 1: deadlock: 0B0 (rank 0, cell 1) waits for 1B0 (rank 1, "
                      "cell 2), which comes after 1F1; ") +
          "1F1 (rank 1, cell 1) waits for 0F1 "
          "(rank 0, cell 2), which comes after 0B0; that closes the cycle"));
}

TEST(Check, DeadlockOfRanksInTheMiddleIsFoundWhenOthersOnlyWaitForIt) {
  const auto problems = problemsOf("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n2F0,2F1,2B0,2B1\n");
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0], HasSubstr("1B0 (rank 1, cell 1) waits for 2B0 (rank 2, cell 2)"));
  EXPECT_THAT(problems[0], HasSubstr("2F1 (rank 2, cell 1) waits for 1F1 (rank 1, cell 2)"));
  EXPECT_THAT(problems[0], testing::Not(HasSubstr("rank 0")));
}

TEST(Check, NumberWithADigitTooManyIsNamedWithItsCellAlone) {
  EXPECT_THAT(problemsOf("0F0,0B0,0F9999999\n"),
              ElementsAre("rank 0, cell 2: 0F9999999 is out of range: no other stage has "
                          "micro-batch 9999999"));
  EXPECT_THAT(problemsOf("0F0,0B0\n1F0,1F99,1B0\n"),
              ElementsAre("rank 1, cell 1: 1F99 is out of range: no other stage has "
                          "micro-batch 99"));
  EXPECT_THAT(problemsOf("0F0,0B0\n1F0,99F0,1B0\n"),
              ElementsAre("rank 1, cell 1: 99F0 is out of range: no other micro-batch has stage "
                          "99"));
}

TEST(Check, WrongNumberLeavesItsOwnPlaceEmpty) {
  const auto problemsWith = [](const Plan& plan, const std::string& cell, const char* wrong) {
    std::string text = toCsv(plan);
    return problemsOf(text.replace(text.find(cell), cell.size(), wrong));
  };
  EXPECT_THAT(problemsWith(buildSchedule("1F1B", 4, 8), "2F3", "2F13"),
              ElementsAre("rank 2, cell 5: 2F13 is out of range: no other stage has micro-batch 13",
                          "rank 2: 2F3 is missing"));
  EXPECT_THAT(problemsWith(buildSchedule("DualPipe", 4, 8), "1F0", "1F90"),
              ElementsAre("rank 1, cell 0: 1F90 is out of range: no other stage has micro-batch 90",
                          "rank 1: 1F0 is missing"));
}

TEST(Check, NumbersThatAreTooLargeThroughoutAreNamedWithTheLargest) {
  EXPECT_THAT(problemsOf("0F0,0F9999,0F999999,0B0,0B999999\n"),
              ElementsAre(testing::AllOf(HasSubstr("rank 0, cell 2: 0F999999: "),
                                         HasSubstr("is a number too large?"))));
}

TEST(Check, MicroBatchesThatNoRankHasAreOneLine) {
  EXPECT_THAT(problemsOf("0F0,0B0,0F3,0B3,0F5,0B5\n"),
              ElementsAre("micro-batches 1 to 2 are missing: no rank has any work of them",
                          "micro-batch 4 is missing: no rank has any work of it"));
  Plan declared = buildSchedule("1F1B", 2, 2);
  declared.numMicroBatches = 3;
  EXPECT_THAT(problemsOf(declared),
              ElementsAre("micro-batch 2 is missing: no rank has any work of it"));
}

TEST(Check, LongListsAreCutShort) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "0F0\n";
  const auto problems = problemsOf(text);
  ASSERT_EQ(problems.size(), 101U);
  EXPECT_EQ(problems.back(), "and 9898 more");
}

TEST(Check, PlanWithoutStagesIsNamed) {
  EXPECT_THAT(problemsOf(Plan{}), ElementsAre("the plan is empty"));
  Plan homeless = buildSchedule("1F1B", 2, 1);
  homeless.placement = {};
  EXPECT_FALSE(check(homeless).empty());
}

/// A second opinion, which tries again and again instead of following the waits.
bool runsToItsEnd(const Plan& plan) {
  using Work = std::tuple<bool, int, int>;
  std::vector<Work> done;
  const auto has = [&](bool forward, int stage, int m) {
    return std::find(done.begin(), done.end(), Work{forward, stage, m}) != done.end();
  };
  std::vector<std::size_t> next(plan.ranks.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < next.size(); ++r) {
      if (next[r] == plan.ranks[r].size()) continue;
      const Action& a = plan.ranks[r][next[r]];
      const bool forward = a.kind == JobKind::kForward;
      const bool ready =
          forward ? a.stage == 0 || has(true, a.stage - 1, a.microBatch)
                  : has(true, a.stage, a.microBatch) &&
                        (a.stage + 1 == plan.numStages || has(false, a.stage + 1, a.microBatch));
      if (!ready) continue;
      done.emplace_back(forward, a.stage, a.microBatch);
      ++next[r];
      moved = true;
    }
  }
  for (std::size_t r = 0; r < next.size(); ++r) {
    if (next[r] != plan.ranks[r].size()) return false;
  }
  return true;
}

TEST(Check, AgreesWithASecondOpinionOnShuffledPlans) {
  std::mt19937 random(7);
  int valid = 0;
  for (int round = 0; round < 3000; ++round) {
    Plan plan = buildSchedule("1F1B", 2 + round % 3, 1 + round % 4);
    for (int swaps = 0; swaps <= round % 3; ++swaps) {
      auto& actions = plan.ranks[random() % plan.ranks.size()];
      std::swap(actions[random() % actions.size()], actions[random() % actions.size()]);
    }
    const bool expected = runsToItsEnd(plan);
    valid += expected;
    ASSERT_EQ(check(plan).empty(), expected) << round;
  }
  EXPECT_GT(valid, 300);
  EXPECT_LT(valid, 2700);
}

TEST(Check, FusedPairThatWaitsForBothMessagesAndItsOwnRankIsCheckedCompletely) {
  // (1F3;0B0) waits for two messages, each sent and received, for 0F0, and for the 1B0 that stands
  // on its rank by mistake.
  EXPECT_THAT(
      problemsOf("1RECV_F2,0F0,0SEND_F0,1F2,1RECV_F3,0F1,0SEND_F1,1B2,1SEND_B2,0RECV_B0,"
                 "(1F3;0B0)OVERLAP_F_B,0RECV_B1,1B3,1SEND_B3,0I1,0W1,1B0\n"
                 "1RECV_F0,0F2,0SEND_F2,1F0,1RECV_F1,0F3,0SEND_F3,1B0,1SEND_B0,0RECV_B2,"
                 "(1F1;0B2)OVERLAP_F_B,0RECV_B3,1B1,1SEND_B1,0I3,0W3\n"),
      ElementsAre("rank 1, cell 7: 1B0 is done already by rank 0, cell 16 (1B0)",
                  "rank 0, cell 16: 1B0 is on the wrong rank: stage 1 of micro-batch 0 belongs to "
                  "rank 1",
                  "rank 0, cell 10: (1F3;0B0)OVERLAP_F_B comes before 1B0 (cell 16), which it "
                  "needs"));
}

// Functions that need a plan which can run take no other kind, so that a plan is checked once.
static_assert(!std::is_invocable_v<decltype(simulate), const Plan&, const Costs&, SimulateOptions>);
static_assert(!std::is_invocable_v<decltype(dryRun), const Plan&, const Costs&>);
static_assert(!std::is_invocable_v<decltype(addTransfers), const Plan&, AddTransfersOptions>);
static_assert(!std::is_constructible_v<PlanTiming, const Plan&, const Costs&>);

TEST(CheckedPlan, ListsTheProblemsOfAPlanThatCannotRun) {
  EXPECT_NO_THROW(CheckedPlan(buildSchedule("1F1B", 4, 8)));
  EXPECT_THROW(CheckedPlan(readPlan("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", "deadlock")), Error);
  try {
    CheckedPlan(readPlan("0F0,0B0,0F1\n1F0,1B0,1B1\n", "plan.csv"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the plan plan.csv cannot run:\n  rank 0: 0B1 is missing\n"
                 "  rank 1: 1F1 is missing");
  }
}

}  // namespace
}  // namespace pipetrace
