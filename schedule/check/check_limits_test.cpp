// check() with buffers and limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/testing/plan_texts.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::textsOf;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The problems that check() finds. For a plan that can run, checkSize() and checkLimits() must
/// find the same.
std::vector<std::string> problemsWithin(const Plan& plan, const CheckOptions& options) {
  const std::vector<std::string> all = textsOf(check(plan, options));
  if (!check(plan).empty()) return all;
  const CheckedPlan checked(plan);
  std::vector<std::string> added = textsOf(checkSize(checked, options));
  const std::vector<std::string> limits = textsOf(checkLimits(checked, options));
  added.insert(added.end(), limits.begin(), limits.end());
  EXPECT_EQ(added, all);
  return all;
}

std::vector<std::string> problemsWithin(std::string_view csv, const CheckOptions& options = {}) {
  return problemsWithin(readPlan(csv, "plan.csv"), options);
}

constexpr const char* kFull =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
    "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";

TEST(CheckTransfers, SendWithoutItsReceiveAndReceiveWithoutItsSendAreNamed) {
  EXPECT_THAT(problemsWithin(kFull), IsEmpty());
  EXPECT_THAT(problemsWithin("0F0,0SEND_F0,0B0\n1F0,1B0,1SEND_B0\n"),
              ElementsAre("rank 0, cell 1: 0SEND_F0 has no receive: 1RECV_F0 is missing",
                          "rank 1, cell 2: 1SEND_B0 has no receive: 0RECV_B0 is missing"));
  EXPECT_THAT(problemsWithin("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0\n"),
              ElementsAre("rank 0, cell 2: 0B0 gets no input: 1SEND_B0 and 0RECV_B0 are missing"));
}

TEST(CheckTransfers, SendBeforeItsMakerAndReceiveAfterItsUserAreNamed) {
  EXPECT_THAT(problemsWithin("0SEND_F0,0F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0\n"),
              ElementsAre("rank 0, cell 0: 0SEND_F0 comes before 0F0 (cell 1), which it needs",
                          "rank 1, cell 0: 1F0 comes before 1RECV_F0 (cell 1), which it needs"));
}

TEST(CheckTransfers, TransferThereTwiceOrWithoutAMessageIsNamed) {
  EXPECT_THAT(problemsWithin("0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n"),
              ElementsAre("rank 0, cell 2: 0SEND_F0 is done already by rank 0, cell 1 "
                          "(0SEND_F0)"));
  EXPECT_THAT(problemsWithin("0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n"),
              ElementsAre("rank 0, cell 1: 0SEND_F0 has no message to move: stage 1 is on the same "
                          "rank",
                          "rank 0, cell 2: 1RECV_F0 has no message to move: stage 0 is on the same "
                          "rank"));
}

// The reason for Megatron's send_forward_recv_backward: rank 0 sends micro-batch 1 before it takes
// the gradient of 0, which rank 1 sends before it takes micro-batch 1.
TEST(CheckBuffers, OneFOneBDeadlocksWithoutBuffersAndTheCycleIsPrinted) {
  EXPECT_THAT(
      problemsWithin(kFull, {.buffers = kBlocking}),
      ElementsAre(
          std::string(
              "rank 0, cell 3: deadlock: 0SEND_F1 (rank 0, cell 3) waits for 1RECV_F1 (rank 1, "
              "cell 4), which comes after 1SEND_B0; ") +
          "1SEND_B0 (rank 1, cell 3) waits for "
          "0RECV_B0 (rank 0, cell 4), which comes after 0SEND_F1; that closes the cycle"));
  EXPECT_THAT(problemsWithin(kFull, {.buffers = 1}), IsEmpty());
}

TEST(CheckBuffers, CellsOfAComputeOnlyPlanAreThoseOfItsOwnActions) {
  EXPECT_THAT(
      problemsWithin(buildSchedule("1F1B", 2, 2), {.buffers = kBlocking}),
      ElementsAre(
          std::string(
              "rank 0, cell 1: deadlock: 0SEND_F1 (rank 0, after cell 1) waits for 1RECV_F1 "
              "(rank 1, before cell 2), which comes after 1SEND_B0; ") +
          "1SEND_B0 (rank 1, after "
          "cell 1) waits for 0RECV_B0 (rank 0, before cell 2), which comes after 0SEND_F1; "
          "that closes the cycle"));
  EXPECT_THAT(problemsWithin(buildSchedule("1F1B", 2, 2), {.buffers = 1}), IsEmpty());
  EXPECT_THAT(problemsWithin(buildSchedule("FThenB", 4, 8), {.buffers = kBlocking}), IsEmpty());
}

// Rank 0 sends three messages before it takes the first gradient; rank 1 takes them after that.
TEST(CheckBuffers, PlanNeedsABufferForEveryMessageThatWaits) {
  const std::string plan =
      "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n"
      "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n";
  EXPECT_THAT(problemsWithin(plan, {.buffers = 1}), ElementsAre(HasSubstr("deadlock")));
  EXPECT_THAT(problemsWithin(plan, {.buffers = 2}), testing::Each(HasSubstr("deadlock")));
  EXPECT_THAT(problemsWithin(plan, {.buffers = 3}), IsEmpty());
}

TEST(CheckLimits, ActivationsOverTheLimitAreNamedWhereTheyAreFirst) {
  EXPECT_THAT(problemsWithin(buildSchedule("1F1B", 4, 8), {.mostLive = 4}), IsEmpty());
  EXPECT_THAT(problemsWithin(buildSchedule("1F1B", 4, 8), {.mostLive = 3}),
              ElementsAre("rank 0, cell 3: 0F3 makes 4 activations that are held at once, and the "
                          "limit is 3; the rank's most is 4"));
  EXPECT_THAT(problemsWithin(buildSchedule("GPipe", 2, 5), {.mostLive = 2}),
              ElementsAre(AllOf(HasSubstr("rank 0, cell 2: 0F2 makes 3"), HasSubstr("most is 5")),
                          HasSubstr("rank 1, cell 2: 1F2 makes 3")));
}

TEST(CheckLimits, MemoryOverTheLimitIsNamedWithHowMuch) {
  Costs costs = Costs::equal(2, {.activation = 100, .freedByInput = 60, .weights = 1000});
  CheckOptions options{.memoryLimit = 1150, .costs = &costs};
  EXPECT_THAT(problemsWithin("0F0,0I0,0F1,0W0,0I1,0W1\n", options), IsEmpty());
  options.memoryLimit = 1139;
  EXPECT_THAT(problemsWithin("0F0,0I0,0F1,0W0,0I1,0W1\n", options),
              ElementsAre("rank 0, cell 2: 0F1 makes 1140 of memory that is held at once, and the "
                          "limit is 1139; the rank's most is 1140"));
  EXPECT_THROW(check(buildSchedule("1F1B", 3, 3), options), Error);
  options.costs = nullptr;
  EXPECT_THROW(check(buildSchedule("1F1B", 1, 1), options), Error);
}

TEST(CheckLimits, LimitsAreReportedTogetherWithADeadlock) {
  EXPECT_THAT(problemsWithin("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", {.mostLive = 1}),
              ElementsAre(HasSubstr("deadlock"), HasSubstr("rank 1, cell 1: 1F1 makes 2")));
}

TEST(CheckVersions, StageThatKeepsMoreThanTheLimitIsNamed) {
  Plan plan = buildSchedule("1F1B", 3, 8);
  plan.updates = WeightUpdates::alike(3, 1);
  EXPECT_THAT(problemsWithin(plan, {.mostVersions = 3, .mostDistance = 2}), IsEmpty());
  EXPECT_THAT(
      problemsWithin(plan, {.mostVersions = 2}),
      ElementsAre(HasSubstr("stage 0 keeps 3 versions of its weights, and the limit is 2")));
  EXPECT_THAT(problemsWithin(plan, {.mostDistance = 1}),
              ElementsAre(HasSubstr("stage 0 applies a gradient that is 2 updates out of date")));
}

TEST(CheckVersions, DoubleBufferedPlanMustNotNeedAThirdVersion) {
  Plan plan = buildSchedule("1F1B", 3, 9);
  plan.updates = WeightUpdates::alike(3, 3, true);
  EXPECT_THAT(problemsWithin(plan, {.mostVersions = 2, .mostDistance = 1}), IsEmpty());
  // With an update after each micro-batch, 0F2 needs what 0B0 leaves, and is planned before it.
  plan.updates = WeightUpdates::alike(3, 1, true);
  EXPECT_THAT(problemsWithin(plan, {}),
              testing::Contains("rank 0, cell 2: 0F2 needs the weights that micro-batches up to 0 "
                                "leave, and these are not all done: stage 0 would need a third "
                                "version"));
}

TEST(CheckVersions, ThirdVersionIsReportedUnderAnyBuffers) {
  const Plan plan = readPlan(
      "# update_every = 1, double_buffered = 1\n"
      "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n",
      "file");
  for (const int buffers : {kUnboundedBuffers, kBlocking, 1, 2}) {
    const std::vector<Problem> problems = check(plan, {.buffers = buffers});
    ASSERT_EQ(problems.size(), 1u) << buffers;
    EXPECT_THAT(problems[0].message, HasSubstr("stage 0 would need a third version"));
    EXPECT_EQ(problems[0].cell, 2);
  }
}

TEST(CheckVersions, UpdatesThatDoNotTakeAsManyOfEachRankAreRefused) {
  Plan plan = readPlan("0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n", "plan.csv");
  plan.updates = WeightUpdates::alike(2, 1);
  EXPECT_THAT(problemsWithin(plan, {}),
              ElementsAre(HasSubstr("stage 0 is on 2 ranks and changes its weights after 1 "
                                    "micro-batches; make that a multiple of 2")));
}

TEST(CheckVersions, UpdatesThatCannotBeAreNamed) {
  const auto problemOf = [](const std::string& header) {
    const Plan plan = readPlan("# " + header + "\n0F0,0B0\n0F1,0B1\n1F0,1B0,1F1,1B1\n", "file");
    const std::vector<Problem> problems = check(plan);
    return problems.size() == 1 ? problems[0].message : std::to_string(problems.size());
  };
  EXPECT_EQ(problemOf("update_every = 2,1, ranks_of_stage = 0,1/2"), "0");
  EXPECT_THAT(problemOf("update_every = 3,1, ranks_of_stage = 0,1/2"),
              HasSubstr("stage 0 is on 2 ranks and changes its weights after 3 micro-batches"));
  Plan plan = readPlan("0F0,0B0\n1F0,1B0\n", "file");
  plan.updates = WeightUpdates::alike(3, 1);
  EXPECT_THAT(problemsWithin(plan, {}), ElementsAre(HasSubstr("says of 3 stages")));
  plan.updates.every = {1, 0};
  EXPECT_THAT(problemsWithin(plan, {}),
              ElementsAre(HasSubstr("stage 1 changes its weights after 0 micro-batches")));
  const Plan runs = readPlan(
      "# update_every = 2, ranks_of_stage = 0,1, run = 2\n0F0,0F1,0B0,0B1\n0F2,0B2\n", "file");
  EXPECT_THAT(problemsWithin(runs, {}), ElementsAre(HasSubstr("ranks take turns (run = 1)")));
}

// Rank 0 has done 0B0 and waits for 0B1. That waits for 1F1, and this for 0F2 of rank 0.
TEST(CheckVersions, RanksThatWaitForEachOtherAtAnUpdateAreADeadlock) {
  const std::string rows = "0F0,0B0,0F2,0B2\n0F1,0B1\n1F0,1B0,1F2,1F1,1B1,1B2\n";
  EXPECT_THAT(check(readPlan("# ranks_of_stage = 0,1/2\n" + rows, "file")), IsEmpty());
  EXPECT_THAT(
      problemsWithin(readPlan("# update_every = 2,1, ranks_of_stage = 0,1/2\n" + rows, "file"), {}),
      ElementsAre(AllOf(HasSubstr("deadlock: 0F2 (rank 0, cell 2) waits for 0B1 (rank 1, cell 1)"),
                        HasSubstr("closes the cycle"))));
}

TEST(CheckSize, LastRankThatIsMissingIsNamedWhereTheSizeIsKnown) {
  Plan plan = buildSchedule("1F1B", 4, 8);
  EXPECT_THAT(problemsWithin(plan, {.ranks = 4, .microBatches = 8}), IsEmpty());
  const std::string text = toCsv(plan);
  const std::string cut = text.substr(0, text.rfind('\n', text.size() - 2) + 1);
  EXPECT_THAT(problemsWithin(cut, {.ranks = 4, .microBatches = 8}),
              ElementsAre("rank 3 is missing: the plan has 3 ranks, and 4 were asked for"));
  EXPECT_THAT(problemsWithin(cut, {.ranks = 6}),
              ElementsAre("ranks 3 to 5 are missing: the plan has 3 ranks, and 6 were asked for"));
  EXPECT_THAT(problemsWithin(cut, {.ranks = 1}),
              ElementsAre("the plan has 3 ranks, and 1 was asked for"));
}

TEST(CheckSize, LastMicroBatchThatIsMissingIsNamedWhereTheSizeIsKnown) {
  EXPECT_THAT(problemsWithin(buildSchedule("1F1B", 2, 1), {.microBatches = 2}),
              ElementsAre("micro-batch 1 is missing: the plan has 1 micro-batch, and 2 were asked "
                          "for"));
  EXPECT_THAT(problemsWithin(buildSchedule("1F1B", 2, 3), {.microBatches = 2}),
              ElementsAre("the plan has 3 micro-batches, and 2 were asked for"));
}

}  // namespace
}  // namespace pipetrace
