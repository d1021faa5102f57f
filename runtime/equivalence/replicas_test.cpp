// Stages on several ranks: replicas of a pipeline, and plans whose stages have ranks of their own.
// Training gives the bits of one process that adds up each rank's gradients in the order of ranks.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/testing/run_ranks.h"
#include "runtime/testing/schedule_names.h"
#include "runtime/testing/training_case.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/forward_part.h"
#include "schedule/with_recompute.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RankResult;
using testing::TrainingCase;
using testing::Wiring;

/// "" if all ranks have the bits of one process.
std::string differenceOf(Wiring wiring, const TrainingCase& training, const CheckedPlan& plan) {
  std::vector<RankResult> results(plan->ranks.size());
  const auto errors = runConnected(wiring, plan->numRanks(), [&](Transport& transport) {
    results[static_cast<std::size_t>(transport.rank())] = trainRank(training, plan, transport);
  });
  for (const std::string& error : errors) {
    if (!error.empty()) return error;
  }
  return testing::firstDifference(results, trainAlone(training, *plan));
}

CheckedPlan replicated(const std::string& name, int ranks, int microBatches, int replicas) {
  return CheckedPlan(withReplicas(buildSchedule(name, ranks, microBatches), replicas));
}

class EveryScheduleInReplicas : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryScheduleInReplicas, HasTheBitsOfOneProcess) {
  const CheckedPlan plan = replicated(GetParam(), 4, 7, 2);
  const TrainingCase training{
      .numStages = plan->numStages, .microBatches = 7, .rows = 21, .steps = 2};
  EXPECT_EQ(differenceOf(Wiring::kInProcess, training, plan), "");
}

INSTANTIATE_TEST_SUITE_P(All, EveryScheduleInReplicas,
                         ::testing::ValuesIn(testing::synchronousSchedules()),
                         [](const auto& test) { return testing::asTestName(test.param); });

TEST(Replicas, HaveTheBitsOfOneProcessOverGloo) {
  for (const char* const name : {"1F1B", "DualPipe"}) {
    const CheckedPlan plan = replicated(name, 2, 4, 2);
    const TrainingCase training{.numStages = plan->numStages, .microBatches = 4};
    EXPECT_EQ(differenceOf(Wiring::kGloo, training, plan), "") << name;
  }
}

TEST(Replicas, ThreeOfThemAndOneStageEachHaveThem) {
  for (const int ranks : {1, 2}) {
    const CheckedPlan plan = replicated("1F1B", ranks, 4, 3);
    const TrainingCase training{.numStages = ranks, .microBatches = 4, .rows = 12};
    EXPECT_EQ(differenceOf(Wiring::kInProcess, training, plan), "") << ranks;
  }
}

TEST(Replicas, ARichModelWithTiesDropoutAndRecomputesHasThem) {
  for (const double recompute : {0.0, 0.6}) {
    const TrainingCase training{
        .rows = 16, .model = testing::CaseModel::kRich, .recompute = recompute};
    const std::vector<bool> again(4, recompute > 0);
    const CheckedPlan plan(withReplicas(withRecompute(buildSchedule("1F1B", 4, 8), again), 2));
    EXPECT_EQ(differenceOf(Wiring::kInProcess, training, plan), "");
  }
}

TEST(Replicas, InMixedPrecisionWithALossScaleHaveTheBitsOfOneProcessUnderAutocast) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    const TrainingCase training{.rows = 16,
                                .model = testing::CaseModel::kRich,
                                .recompute = 0.6,
                                .precision = precision,
                                .lossScale = precision == Precision::kFp16 ? 1000.0 : 1.0};
    const CheckedPlan plan(
        withReplicas(withRecompute(buildSchedule("1F1B", 4, 8), std::vector<bool>(4, true)), 2));
    EXPECT_EQ(differenceOf(Wiring::kInProcess, training, plan), "");
  }
}

// Shows that the order of ranks matters to the bits, so that the tests above can fail.
TEST(Replicas, InAnotherOrderGiveOtherBits) {
  const TrainingCase training{.numStages = 2, .microBatches = 4};
  Plan plan = *replicated("1F1B", 2, 4, 3);
  const auto bits = trainAlone(training, plan);
  // Replica 1 runs the micro-batches of replica 2.
  for (std::vector<Action>& row : plan.ranks) {
    for (Action& action : row) {
      if (action.microBatch >= 4)
        action.microBatch = action.microBatch < 8 ? action.microBatch + 4 : action.microBatch - 4;
    }
  }
  EXPECT_NE(testing::firstDifference(bits, trainAlone(training, plan)), "");
}

// Stage 0 on ranks 0 and 1 in turn, stage 1 on rank 2; and stage 1 on two ranks for runs of two.
constexpr const char* kUneven[] = {
    "0F0,0F2,0B0,0F4,0B2,0B4\n0F1,0B1,0F3,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3,1F4,1B4\n"
    "# ranks_of_stage = 0,1/2, run = 1\n",
    "0F0,0F1,0F2,0B0,0F3,0B1,0F4,0B2,0B3,0B4\n1F0,1F1,1B0,1B1\n1F2,1F3,1B2,1F4,1B3,1B4\n"
    "# ranks_of_stage = 0/1,2, run = 2\n"};

TEST(StagesOnSeveralRanks, HaveTheBitsOfOneProcess) {
  for (const char* const text : kUneven) {
    const CheckedPlan plan(readPlan(text, "uneven"));
    const TrainingCase training{.numStages = 2, .microBatches = 5, .rows = 17};
    for (const Wiring wiring : {Wiring::kInProcess, Wiring::kGloo}) {
      EXPECT_EQ(differenceOf(wiring, training, plan), "") << text;
    }
    const CheckedPlan twice(withReplicas(*plan, 2));
    EXPECT_EQ(differenceOf(Wiring::kInProcess, training, twice), "") << text;
  }
}

/// The loss of the first step of the plan without its backwards.
double lossOfForwards(Wiring wiring, const TrainingCase& training, const CheckedPlan& plan) {
  const CheckedPlan forwards(forwardPart(*plan));
  at::Tensor loss;
  const auto errors = runConnected(wiring, plan->numRanks(), [&](Transport& transport) {
    const RankResult own = trainRank(training, forwards, transport, {}, {.readsGradients = false});
    if (transport.rank() == plan->lastRankOf(0)) loss = own.at(0);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  return loss.item<double>();
}

/// The loss of the first step before any weight has changed, as one process has it.
double lossOfOneProcess(const TrainingCase& training, const CheckedPlan& plan) {
  const auto ofRanks = trainAlone(training, *plan);
  return ofRanks.at(static_cast<std::size_t>(plan->lastRankOf(0))).at(0).item<double>();
}

TEST(StagesOnSeveralRanks, WithoutBackwardsGiveTheMeanLossOfAll) {
  const auto expectSame = [](const CheckedPlan& plan, int microBatches, int rows) {
    const TrainingCase training{
        .numStages = plan->numStages, .microBatches = microBatches, .rows = rows, .steps = 1};
    const double loss = lossOfOneProcess(training, plan);
    EXPECT_NEAR(lossOfForwards(Wiring::kInProcess, training, plan), loss, 1e-6) << plan->name;
    EXPECT_NEAR(lossOfForwards(Wiring::kGloo, training, plan), loss, 1e-6) << plan->name;
  };
  expectSame(replicated("1F1B", 2, 4, 3), 4, 12);
  expectSame(replicated("DualPipe", 2, 4, 1), 4, 16);
  expectSame(replicated("DualPipe", 2, 4, 2), 4, 16);
  for (const char* const text : kUneven) expectSame(CheckedPlan(readPlan(text, text)), 5, 17);
}

// Three micro-batches of a replica with 16 rows count with 16, those of one with 20 rows with 20.
TEST(Replicas, WithoutBackwardsMayHaveOtherNumbersOfRows) {
  const auto lossWith = [](int rowsOfFirst, int rowsOfSecond) {
    const CheckedPlan plan = replicated("1F1B", 2, 3, 2);
    const CheckedPlan forwards(forwardPart(*plan));
    double loss = 0;
    const auto errors = runConnected(Wiring::kInProcess, 4, [&](Transport& transport) {
      const TrainingCase training{.numStages = 2,
                                  .microBatches = 3,
                                  .rows = transport.rank() < 2 ? rowsOfFirst : rowsOfSecond,
                                  .steps = 1};
      const auto own = trainRank(training, forwards, transport, {}, {.readsGradients = false});
      if (transport.rank() == plan->lastRankOf(0)) loss = own.at(0).item<double>();
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    return loss;
  };
  const auto lossAlone = [](int rows) {
    const CheckedPlan plan = replicated("1F1B", 2, 3, 1);
    return lossOfOneProcess({.numStages = 2, .microBatches = 3, .rows = rows, .steps = 1}, plan);
  };
  // With equal rows the mean of the two is known, and from it the loss of the second replica.
  const double first = lossAlone(16);
  const double second = 2 * lossWith(20, 20) - lossAlone(20);
  EXPECT_NEAR(lossWith(16, 20), (16 * first + 20 * second) / 36, 1e-6);
}

TEST(Replicas, WithOtherNumbersOfRowsAreRefusedBeforeAnyBackward) {
  const CheckedPlan plan = replicated("1F1B", 2, 4, 2);
  std::vector<int> backwards(4);
  const auto errors = runConnected(Wiring::kInProcess, 4, [&](Transport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    const TrainingCase training{
        .numStages = 2, .microBatches = 4, .rows = transport.rank() < 2 ? 16 : 20};
    trainRank(training, plan, transport, [&, rank](int, int) { ++backwards[rank]; });
  });
  EXPECT_THAT(errors,
              Contains(HasSubstr("replica 1 has a batch of 20 rows in step 0, and replica 0 "
                                 "one of 16")));
  EXPECT_EQ(backwards[0] + backwards[1], 0);
}

}  // namespace
}  // namespace pipetrace
