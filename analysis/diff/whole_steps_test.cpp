// Runs whose steps have other numbers of micro-batches: what is said of whole steps.
#include <gmock/gmock.h>

#include "analysis/present/diff_report.h"
#include "analysis/testing/noisy_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using test::costsOf;
using test::noisyRun;
using test::scaleRank;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

Timeline runOfMicroBatches(int microBatches, double factor, unsigned seed,
                           std::optional<double> tokens) {
  const Plan plan = buildSchedule("1F1B", {4, microBatches});
  Costs costs = costsOf(plan, 0);
  costs.lr = costs.optimizer = 0;
  for (int rank = 0; rank < 4; ++rank) scaleRank(costs, plan, rank, factor);
  Timeline run = noisyRun(plan, costs, 20, seed);
  for (auto& [rank, info] : run.ranks) info.tokensPerStep = tokens;
  return run;
}

/// B has twice as many micro-batches, each of which takes 0.7 times as long. A step of 1F1B on four
/// ranks takes as long as m + 3 micro-batches: in A 11, in B 19 · 0.7 = 13.3.
RunDiff diffOfHalves(std::optional<double> tokensOfA, std::optional<double> tokensOfB) {
  return diffOf(asRun(runOfMicroBatches(8, 1, 1, tokensOfA)),
                asRun(runOfMicroBatches(16, 0.7, 2, tokensOfB)), {});
}

TEST(WholeSteps, AreComparedBesideMicroBatches) {
  const RunDiff diff = diffOfHalves({}, {});
  ASSERT_TRUE(diff.wholeStep);
  EXPECT_NEAR(static_cast<double>(diff.wholeStep->b) / static_cast<double>(diff.wholeStep->a),
              13.3 / 11, 0.02);
  EXPECT_NEAR(static_cast<double>(diff.step.b) / static_cast<double>(diff.step.a),
              13.3 / 16 / (11.0 / 8), 0.01);
  EXPECT_EQ(diffVerdict(diff), "faster");
  EXPECT_FALSE(diff.isSlower());
  const std::string answer = diffAnswer(diff);
  EXPECT_THAT(answer, StartsWith("a micro-batch of B takes "));
  EXPECT_THAT(answer, ContainsRegex("; a step of B, of 16 micro-batches in place of 8, takes "
                                    "[0-9.]+ ms more \\(\\+2[0-3]\\.. %, 95 % "));
}

TEST(WholeSteps, AreJudgedWhereTheyHaveAsManyTokens) {
  const RunDiff diff = diffOfHalves(4096, 4096);
  EXPECT_EQ(diffVerdict(diff), "slower");
  EXPECT_TRUE(diff.isSlower());
  const std::string answer = diffAnswer(diff);
  EXPECT_THAT(answer,
              StartsWith("a step of B, of 16 micro-batches in place of 8 and as many tokens, "
                         "takes "));
  EXPECT_THAT(answer, HasSubstr("; a micro-batch of B takes "));
  EXPECT_THAT(diffText({diff, "a", "b"}), HasSubstr("\n   steps of A and B have 4096 tokens\n"));
}

TEST(WholeSteps, AreJudgedWhereTheUserSaysThatTheBatchIsTheSame) {
  EXPECT_THAT(diffText({diffOfHalves({}, {}), "a", "b"}), HasSubstr("; --same-batch says so"));
  const RunDiff diff = diffOf(asRun(runOfMicroBatches(8, 1, 1, {})),
                              asRun(runOfMicroBatches(16, 0.7, 2, {})), {.sameBatch = true});
  EXPECT_EQ(diffVerdict(diff), "slower");
  EXPECT_THAT(diffText({diff, "a", "b"}), Not(HasSubstr("--same-batch")));
}

TEST(WholeSteps, AreNotJudgedWhereTheyHaveOtherTokens) {
  const RunDiff diff = diffOfHalves(4096, 8192);
  EXPECT_EQ(diffVerdict(diff), "faster");
  EXPECT_THAT(diffAnswer(diff), Not(HasSubstr("tokens")));
}

TEST(WholeSteps, AreNotComparedOnceMoreWhereStepsAreCompared) {
  const RunDiff diff = diffOf(asRun(runOfMicroBatches(8, 1, 1, 4096)),
                              asRun(runOfMicroBatches(8, 0.7, 2, 4096)), {});
  EXPECT_FALSE(diff.wholeStep);
  EXPECT_THAT(diffAnswer(diff), StartsWith("B's steps take "));
}

/// Steps of both take as long, but those of B are of two replicas, with eight micro-batches each.
RunDiff diffOfReplicas(const DiffOptions& options) {
  const auto runOf = [](int replicas, unsigned seed) {
    const Plan plan = withReplicas(buildSchedule("1F1B", {4, 8}), replicas);
    return noisyRun(plan, costsOf(plan, 0), 20, seed);
  };
  return diffOf(asRun(runOf(1, 1)), asRun(runOf(2, 2)), options);
}

TEST(WholeSteps, HaveMoreMicroBatchesWithMoreReplicas) {
  const RunDiff diff = diffOfReplicas({});
  EXPECT_THAT(diffNotes(diff),
              IsSupersetOf({HasSubstr("B has 2 replicas, A 1: its steps have twice the "
                                      "micro-batches"),
                            HasSubstr("; --same-batch says so, and then whole steps are judged")}));
  EXPECT_THAT(diffAnswer(diff),
              HasSubstr("a step of B, of 16 micro-batches in place of 8, takes "));
  EXPECT_EQ(&diff.judged(), &diff.unit());
}

TEST(WholeSteps, AreJudgedWithMoreReplicasWhereTheUserSaysThatTheBatchIsTheSame) {
  const RunDiff diff = diffOfReplicas({.sameBatch = true});
  ASSERT_TRUE(diff.wholeStep);
  EXPECT_EQ(&diff.judged(), &*diff.wholeStep);
  EXPECT_THAT(diffText({diff, "a", "b"}), Not(HasSubstr("--same-batch")));
}

}  // namespace
}  // namespace pipetrace
