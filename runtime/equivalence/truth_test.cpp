// Training under a schedule gives the same bits as one process that runs the same micro-batches in
// the same order: every loss, every gradient, and the parameters after several steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/serialize.h>

#include <chrono>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/testing/rank_processes.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/schedule_names.h"
#include "runtime/testing/training_case.h"
#include "schedule/build_schedule.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::asTestName;
using testing::BeforeBackward;
using testing::firstDifference;
using testing::RankResult;
using testing::synchronousSchedules;
using testing::TrainingCase;
using testing::Wiring;

const std::string kSchedules[] = {"FThenB", "GPipe", "1F1B"};

std::string self() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::vector<RankResult> train(Wiring wiring, const TrainingCase& training,
                              const CheckedPlan& plan) {
  std::vector<RankResult> results(plan->ranks.size());
  const auto errors = runConnected(wiring, plan->numRanks(), [&](Transport& transport) {
    results[static_cast<std::size_t>(transport.rank())] = trainRank(training, plan, transport);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  return results;
}

struct Connected {
  Wiring wiring;
  std::string schedule;
  TrainingCase training;
};

std::string nameOf(const Connected& connected) {
  const TrainingCase& training = connected.training;
  return std::string(connected.wiring == Wiring::kGloo ? "Gloo" : "InProcess") + "_" +
         connected.schedule + "_p" + std::to_string(training.numStages) + "_m" +
         std::to_string(training.microBatches) + "_rows" + std::to_string(training.rows);
}

void PrintTo(const Connected& connected, std::ostream* out) { *out << nameOf(connected); }

std::vector<Connected> allCases() {
  const TrainingCase cases[] = {
      {.numStages = 4, .microBatches = 8, .rows = 32},
      {.numStages = 3, .microBatches = 5, .rows = 13},  // micro-batches of 3 and of 2 rows
      {.numStages = 4, .microBatches = 2, .rows = 7},   // fewer micro-batches than stages
      {.numStages = 1, .microBatches = 3, .rows = 6},
  };
  std::vector<Connected> all;
  for (const Wiring wiring : {Wiring::kInProcess, Wiring::kGloo}) {
    for (const std::string& schedule : kSchedules) {
      for (const TrainingCase& training : cases) all.push_back({wiring, schedule, training});
    }
  }
  return all;
}

class TruthTest : public ::testing::TestWithParam<Connected> {};

TEST_P(TruthTest, LossAndEveryGradientEqualThoseOfOneProcess) {
  const auto& [wiring, name, training] = GetParam();
  const CheckedPlan plan = buildSchedule(name, training.numStages, training.microBatches);
  EXPECT_EQ(firstDifference(train(wiring, training, plan), trainAlone(training, *plan)), "");
}

INSTANTIATE_TEST_SUITE_P(All, TruthTest, ::testing::ValuesIn(allCases()),
                         [](const auto& test) { return nameOf(test.param); });

class ProcessTruthTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ProcessTruthTest, FourProcessesOverGlooEqualOne) {
  const TrainingCase training{.numStages = 4, .microBatches = 8, .rows = 30};
  const CheckedPlan plan = buildSchedule(GetParam(), 4, 8);
  const testing::ScratchFolder folder;
  const auto ends = testing::runProcesses(
      4, {self(), "--train-rank", GetParam(), "4", "8", "30", folder.path("result.{rank}")});
  const auto alone = trainAlone(training, *plan);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    ASSERT_EQ(ends[rank].exitCode, 0) << ends[rank].output;
    RankResult result;
    torch::load(result, folder.path("result." + std::to_string(rank)));
    EXPECT_EQ(firstDifference(result, alone[rank]), "") << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProcessTruthTest, ::testing::ValuesIn(kSchedules),
                         [](const auto& test) { return test.param; });

// fp32 gradients that are scaled by a power of two and back keep their bits.
TEST(TruthCheckTest, ALossScaleOfAPowerOfTwoChangesNoBitInFp32) {
  const CheckedPlan plan = buildSchedule("1F1B", 4, 8);
  const TrainingCase plain{.model = testing::CaseModel::kRich};
  TrainingCase scaled = plain;
  scaled.lossScale = 4096;
  EXPECT_EQ(firstDifference(train(Wiring::kInProcess, scaled, plan), trainAlone(plain, *plan)), "");
}

TEST(TruthCheckTest, MixedPrecisionGivesOtherBitsThanFp32) {
  const TrainingCase fp32;
  TrainingCase bf16 = fp32;
  bf16.precision = Precision::kBf16;
  TrainingCase fp16 = fp32;
  fp16.precision = Precision::kFp16;
  const Plan plan = buildSchedule("1F1B", 4, 8);
  const auto in32 = trainAlone(fp32, plan);
  EXPECT_NE(firstDifference(trainAlone(bf16, plan), in32), "");
  EXPECT_NE(firstDifference(trainAlone(fp16, plan), in32), "");
  EXPECT_NE(firstDifference(trainAlone(fp16, plan), trainAlone(bf16, plan)), "");
}

// Shows that the tests above can fail: the order of the backwards changes the bits.
TEST(TruthCheckTest, AnotherOrderOfBackwardsGivesOtherBits) {
  const TrainingCase training;
  const Plan oldestFirst = buildSchedule("FThenB", 4, 8);
  const Plan newestFirst = buildSchedule("GPipe", 4, 8);
  EXPECT_NE(firstDifference(trainAlone(training, oldestFirst), trainAlone(training, newestFirst)),
            "");
}

TEST(TruthCheckTest, TwoSwappedBackwardsOfOneRankGiveOtherBits) {
  const TrainingCase training;
  const CheckedPlan plan = buildSchedule("FThenB", 4, 8);
  Plan swapped = *plan;
  // Rank 0 is the last to run backward, so it may do so in any order. (Two swapped neighbours can
  // leave the sum as it is: a + b = b + a. So the first and the last are swapped.)
  std::swap(swapped.ranks[0][8], swapped.ranks[0][15]);
  const auto results = train(Wiring::kInProcess, training, CheckedPlan(swapped));
  const auto alone = trainAlone(training, *plan);
  EXPECT_NE(firstDifference(results[0], alone[0]), "");
  EXPECT_EQ(results[3].size(), alone[3].size());
}

// Several stages on a rank: messages between ranks and hand-overs on the rank itself.
Plan chunked(std::vector<int> rankOfStage, int microBatches) {
  Plan plan{.name = "chunked",
            .numStages = static_cast<int>(rankOfStage.size()),
            .numMicroBatches = microBatches,
            .ranks = std::vector<std::vector<Action>>(2),
            .placement = Placement::ofRanks(rankOfStage)};
  const auto add = [&](JobKind kind, int stage) {
    for (int mb = 0; mb < microBatches; ++mb) {
      const auto rank = static_cast<std::size_t>(rankOfStage[static_cast<std::size_t>(stage)]);
      plan.ranks[rank].push_back({.kind = kind, .stage = stage, .microBatch = mb});
    }
  };
  for (int s = 0; s < plan.numStages; ++s) add(JobKind::kForward, s);
  for (int s = plan.numStages - 1; s >= 0; --s) add(JobKind::kBackward, s);
  return plan;
}

class ChunkedTruthTest : public ::testing::TestWithParam<std::vector<int>> {};

TEST_P(ChunkedTruthTest, SeveralStagesOnARankEqualOneProcess) {
  const TrainingCase training{.numStages = 4, .microBatches = 3, .rows = 10};
  const CheckedPlan plan = chunked(GetParam(), 3);
  const auto alone = trainAlone(training, *plan);
  EXPECT_EQ(firstDifference(train(Wiring::kInProcess, training, plan), alone), "");
  EXPECT_EQ(firstDifference(train(Wiring::kGloo, training, plan), alone), "");
}

INSTANTIATE_TEST_SUITE_P(All, ChunkedTruthTest,
                         ::testing::Values(std::vector{0, 1, 0, 1},   // interleaved
                                           std::vector{0, 0, 1, 1},   // neighbours together
                                           std::vector{0, 1, 1, 0}),  // a V
                         [](const auto& test) {
                           std::string name = "Ranks";
                           for (const int rank : test.param) name += std::to_string(rank);
                           return name;
                         });

/// The stages that run blocks again.
std::vector<bool> recomputing(const TrainingCase& training) {
  const Partition partition = partitionOf(training);
  std::vector<bool> stages;
  for (int s = 0; s < partition.numStages(); ++s) stages.push_back(partition.recomputed(s) > 0);
  return stages;
}

class EveryScheduleTruthTest : public ::testing::TestWithParam<std::string> {};

// Halves, fused pairs, several stages on a rank, stages on two ranks: uneven micro-batches.
TEST_P(EveryScheduleTruthTest, LossAndEveryGradientEqualThoseOfOneProcess) {
  const CheckedPlan plan = buildSchedule(GetParam(), 4, 8);
  const TrainingCase training{
      .numStages = plan->numStages, .microBatches = 8, .rows = 19, .steps = 2};
  const auto alone = trainAlone(training, *plan);
  EXPECT_EQ(firstDifference(train(Wiring::kInProcess, training, plan), alone), "");
  EXPECT_EQ(firstDifference(train(Wiring::kGloo, training, plan), alone), "");
}

// Weight halves with work, blocks that run again, tensors past stages, tied weights.
TEST_P(EveryScheduleTruthTest, ARichModelHasTheBitsOfOneProcess) {
  const CheckedPlan plan = buildSchedule(GetParam(), 4, 8);
  const TrainingCase training{.numStages = plan->numStages,
                              .microBatches = 8,
                              .rows = 19,
                              .steps = 1,
                              .model = testing::CaseModel::kRich,
                              .recompute = 0.5};
  const auto alone = trainAlone(training, *plan);
  EXPECT_EQ(firstDifference(train(Wiring::kInProcess, training, plan), alone), "");
  const CheckedPlan again = withRecompute(*plan, recomputing(training));
  EXPECT_EQ(firstDifference(train(Wiring::kInProcess, training, again), alone), "");
}

// Matrices are decayed, biases and those of the second block are not.
TEST_P(EveryScheduleTruthTest, AnOptimizerOfTwoGroupsHasTheBitsOfOneProcess) {
  const CheckedPlan plan = buildSchedule(GetParam(), 4, 8);
  TrainingCase training{
      .numStages = plan->numStages, .microBatches = 8, .rows = 19, .steps = 2, .decays = true};
  const auto alone = trainAlone(training, *plan);
  EXPECT_EQ(firstDifference(train(Wiring::kInProcess, training, plan), alone), "");
  training.decays = false;
  EXPECT_NE(firstDifference(trainAlone(training, *plan), alone), "") << "the groups do something";
}

// Blocks under autocast: weight halves, blocks that run again, tied weights, messages of both
// types.
TEST_P(EveryScheduleTruthTest, MixedPrecisionHasTheBitsOfOneProcessUnderAutocast) {
  const CheckedPlan plan = buildSchedule(GetParam(), 4, 8);
  for (const testing::CaseModel model : {testing::CaseModel::kMlp, testing::CaseModel::kRich}) {
    const TrainingCase training{.numStages = plan->numStages,
                                .microBatches = 8,
                                .rows = 19,
                                .steps = 2,
                                .model = model,
                                .recompute = 0.5,
                                .precision = Precision::kBf16};
    const auto alone = trainAlone(training, *plan);
    EXPECT_EQ(firstDifference(train(Wiring::kInProcess, training, plan), alone), "");
    const CheckedPlan again = withRecompute(*plan, recomputing(training));
    EXPECT_EQ(firstDifference(train(Wiring::kGloo, training, again), alone), "");
  }
}

// The scale is no power of two: a place where it is missing or doubled shows.
TEST_P(EveryScheduleTruthTest, ALossScaleAndClippingHaveTheBitsOfOneProcessWithThem) {
  const CheckedPlan plan = buildSchedule(GetParam(), 4, 8);
  TrainingCase training{.numStages = plan->numStages,
                        .microBatches = 8,
                        .rows = 19,
                        .steps = 2,
                        .model = testing::CaseModel::kRich,
                        .precision = Precision::kFp16,
                        .lossScale = 1000,
                        .clipNorm = 0.5};
  const auto alone = trainAlone(training, *plan);
  EXPECT_EQ(firstDifference(train(Wiring::kInProcess, training, plan), alone), "");
}

// ‖difference‖ ≤ 1e-6 ‖gradient‖ for each tensor, against micro-batch after micro-batch.
void expectPlainOrderUpToRounding(const CheckedPlan& plan, testing::CaseModel model) {
  const TrainingCase training{
      .numStages = plan->numStages, .microBatches = 8, .rows = 19, .steps = 1, .model = model};
  Plan plain = *plan;
  for (auto& actions : plain.ranks) actions.clear();
  for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
    for (int stage = 0; stage < plan->numStages; ++stage) {
      for (int mb = 0; mb < plan->numMicroBatches; ++mb) {
        plain.ranks[static_cast<std::size_t>(plan->rankOf(stage, mb))].push_back({kind, stage, mb});
      }
    }
  }
  const auto results = train(Wiring::kInProcess, training, plan);
  const auto alone = trainAlone(training, plain);
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    ASSERT_EQ(results[rank].size(), alone[rank].size());
    // Without the parameters at the end, as many as gradients: Adam blows differences up.
    const std::size_t count = results[rank].size();
    for (std::size_t i = 0; i < count - count / 2; ++i) {
      const at::Tensor& truth = alone[rank][i];
      EXPECT_LE((results[rank][i] - truth).norm().item<double>(),
                1e-6 * truth.norm().item<double>())
          << "rank " << rank << ", tensor " << i;
    }
  }
}

TEST_P(EveryScheduleTruthTest, GradientsAreThoseOfThePlainOrderUpToRounding) {
  const CheckedPlan plan = buildSchedule(GetParam(), 4, 8);
  expectPlainOrderUpToRounding(plan, testing::CaseModel::kMlp);
  expectPlainOrderUpToRounding(plan, testing::CaseModel::kRich);
}

INSTANTIATE_TEST_SUITE_P(All, EveryScheduleTruthTest, ::testing::ValuesIn(synchronousSchedules()),
                         [](const auto& test) { return asTestName(test.param); });

TEST(PeerFailureTest, AProcessThatDiesEndsTheOthersWithItsName) {
  const testing::ScratchFolder folder;
  const auto ends = testing::runProcesses(
      4, {self(), "--train-rank", "1F1B", "4", "8", "32", folder.path("result.{rank}"), "2"});
  EXPECT_EQ(ends[2].exitCode, 9) << ends[2].output;
  for (const std::size_t rank : {0, 1, 3}) {
    EXPECT_EQ(ends[rank].exitCode, 2) << ends[rank].output;
    EXPECT_LT(ends[rank].after - ends[2].after, std::chrono::seconds(10));
  }
  EXPECT_THAT(ends[1].output + ends[3].output, ::testing::HasSubstr("rank 2 is gone"));
}

TEST(PeerFailureTest, AThreadThatFailsEndsTheOthersWithItsReason) {
  const TrainingCase training;
  const CheckedPlan plan = buildSchedule("1F1B", 4, 8);
  const auto errors = runConnected(Wiring::kInProcess, 4, [&](Transport& transport) {
    trainRank(training, plan, transport, [&](int step, int microBatch) {
      if (transport.rank() == 2 && step == 1 && microBatch == 3) throw Error("disk on fire");
    });
  });
  EXPECT_EQ(errors[2], "disk on fire");
  for (const std::size_t rank : {0, 1, 3}) {
    EXPECT_THAT(errors[rank], ::testing::HasSubstr("rank 2 failed: disk on fire"));
  }
}

struct RichCase {
  Wiring wiring;
  std::string schedule;
  double recompute;
};

std::string nameOf(const RichCase& rich) {
  return std::string(rich.wiring == Wiring::kGloo ? "Gloo" : "InProcess") +
         asTestName(rich.schedule) + "Recomputes" +
         std::to_string(static_cast<int>(100 * rich.recompute));
}

void PrintTo(const RichCase& rich, std::ostream* out) { *out << nameOf(rich); }

class RichModelTest : public ::testing::TestWithParam<RichCase> {};

// Three inputs, a mask for every stage, tied embeddings, skips, dropout, layer norms.
TEST_P(RichModelTest, HasTheBitsOfOneProcess) {
  const auto& [wiring, name, recompute] = GetParam();
  const CheckedPlan plan = buildSchedule(name, 4, 8);
  const TrainingCase training{.numStages = plan->numStages,
                              .microBatches = 8,
                              .rows = 19,
                              .steps = 2,
                              .model = testing::CaseModel::kRich,
                              .recompute = recompute};
  EXPECT_EQ(firstDifference(train(wiring, training, plan), trainAlone(training, *plan)), "");
}

std::vector<RichCase> richCases() {
  std::vector<RichCase> all;
  for (const Wiring wiring : {Wiring::kInProcess, Wiring::kGloo}) {
    for (const char* const name : {"1F1B", "Interleaved1F1B", "ZB-H1", "ZBV", "DualPipe"}) {
      for (const double recompute : {0.0, 0.5, 1.0}) all.push_back({wiring, name, recompute});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, RichModelTest, ::testing::ValuesIn(richCases()),
                         [](const auto& test) { return nameOf(test.param); });

}  // namespace
}  // namespace pipetrace
