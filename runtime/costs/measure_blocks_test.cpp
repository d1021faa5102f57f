#include "runtime/costs/measure_costs.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/costs/ranks_in_turn.h"
#include "runtime/testing/training_parts.h"
#include "runtime/testing/waiting_layers.h"
#include "schedule/build_schedule.h"
#include "schedule/partition/partition_file.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using testing::TrainingCase;

std::unique_ptr<torch::optim::Optimizer> adamOf(const NamedParameters& parameters) {
  return std::make_unique<torch::optim::Adam>(tensorsOf(parameters), 0.01);
}

constexpr int kMeasurements = 10;  // this machine may be busy, which makes times longer

bool areThoseOf(const BlockCosts& costs, int ms) {
  const auto isNear = [](Nanoseconds time, int wait) {
    return time >= wait * kNsPerMs && time < 2 * wait * kNsPerMs;
  };
  return isNear(costs.forward, ms) && isNear(costs.backward, 2 * ms) &&
         isNear(costs.backwardInput, 2 * ms) && costs.backwardWeight < ms * kNsPerMs;
}

TEST(MeasureBlocks, EachBlockHasTheTimesOfItsOwnJobs) {
  const std::vector<int> waits{4, 16, 4};
  const Model model = testing::waitingModel(waits);
  const Batch rows{{"inputs", at::randn({8, 4})}, {"targets", at::randn({8, 4})}};
  bool areAll = false;
  for (int i = 0; i < kMeasurements && !areAll; ++i) {
    const BlockTable table =
        measureBlocks({.model = model, .optimizer = adamOf}, rows, {.rounds = 5});
    ASSERT_EQ(table.blocks.size(), waits.size());
    areAll = true;
    for (std::size_t block = 0; block < waits.size(); ++block) {
      EXPECT_GE(table.blocks[block].forward, waits[block] * kNsPerMs);
      EXPECT_GT(table.blocks[block].backwardWeight, 0);
      EXPECT_GT(table.blocks[block].optimizer, 0);
      areAll = areAll && areThoseOf(table.blocks[block], waits[block]);
    }
  }
  EXPECT_TRUE(areAll);
}

TEST(MeasureBlocks, EachBlockHasItsOwnMemory) {
  const Model model = testing::waitingModel({0, 0, 0});
  const Batch rows{{"inputs", at::randn({8, 4})}, {"targets", at::randn({8, 4})}};
  constexpr std::int64_t kOutput = 8 * 4 * 4;  // bytes of what a block makes
  const BlockTable table =
      measureBlocks({.model = model, .optimizer = adamOf}, rows, {.rounds = 5});
  ASSERT_EQ(table.numBlocks(), 3);
  for (std::size_t block = 0; block < 3; ++block) {
    SCOPED_TRACE(block);
    const BlockCosts& costs = table.blocks[block];
    EXPECT_EQ(costs.name, model.blocks[block].name);
    EXPECT_EQ(costs.parameters, (4 * 4 + 4) * 4) << "weights and biases";
    EXPECT_GE(costs.updating, 3 * costs.parameters) << "gradients, and two means of Adam's";
    EXPECT_EQ(costs.message, block == 2 ? 0 : kOutput);
    if (block == 0) continue;  // its input is the batch, which is no activation
    EXPECT_GE(costs.activation, kOutput);
  }
}

/// A model, its step of four micro-batches, and how it is cut.
struct CutModel {
  std::string name;
  Model model;
  Batch batch;
  std::vector<int> blocks;
  std::vector<int> recomputed;
};

constexpr int kStepMicroBatches = 4;
constexpr std::int64_t kStepRows = 256;
constexpr std::int64_t kChainUnits = 32;

template <typename Last>
Model chainEndingIn(int blocks, const Last& last) {
  return chainModel(std::vector<LayerMaker>(
                        static_cast<std::size_t>(blocks),
                        [last] {
                          return std::vector{torch::nn::AnyModule(Linear(kChainUnits, kChainUnits)),
                                             torch::nn::AnyModule(last)};
                        }),
                    [](const at::Tensor& a, const at::Tensor& b) { return at::mse_loss(a, b); });
}

std::vector<CutModel> cutModels() {
  const Batch rows{{"inputs", at::randn({kStepRows, kChainUnits})},
                   {"targets", at::randn({kStepRows, kChainUnits})}};
  const TrainingCase rich{
      .microBatches = kStepMicroBatches, .rows = kStepRows, .model = CaseModel::kRich};
  return {{"tanh, whose output it keeps, and so does the next",
           chainEndingIn(8, torch::nn::Tanh()),
           rows,
           {5, 3},
           {}},
          {"the same, which runs again", chainEndingIn(8, torch::nn::Tanh()), rows, {5, 3}, {3, 0}},
          {"gelu, whose output the next keeps alone",
           chainEndingIn(8, torch::nn::GELU()),
           rows,
           {3, 5},
           {}},
          {"the same, which runs again", chainEndingIn(8, torch::nn::GELU()), rows, {3, 5}, {0, 5}},
          {"skips", testing::modelOf(rich), testing::batchOf(rich, 0, 0), {3, 5}, {}},
          {"skips that run again",
           testing::modelOf(rich),
           testing::batchOf(rich, 0, 0),
           {4, 4},
           {2, 4}}};
}

TEST(MeasureBlocks, TheyPredictTheMemoryOfEachRank) {
  double worst = 0;
  for (const CutModel& cut : cutModels()) {
    for (const char* const schedule : {"1F1B", "ZB-H1"}) {
      SCOPED_TRACE(cut.name + ", " + schedule);
      Batch rows;
      for (const auto& [name, tensor] : cut.batch) {
        rows[name] = tensor.narrow(0, 0, kStepRows / kStepMicroBatches);
      }
      const BlockTable table =
          measureBlocks({.model = cut.model, .optimizer = adamOf}, rows, {.rounds = 5});
      const BlockPartition partition{.blocks = cut.blocks, .recomputed = cut.recomputed};
      const CheckedPlan plan(
          withRecompute(buildSchedule(schedule, 2, kStepMicroBatches), partition));
      const Simulation simulation = simulate(plan, costsOf(table, *plan, partition));
      RanksInTurn ranks({.model = cut.model,
                         .partition = partitionIn(partitionFile(partition)),
                         .numMicroBatches = kStepMicroBatches,
                         .optimizer = adamOf},
                        plan->stagesByRank(), cut.batch);
      ranks.runStep(*plan);  // makes the optimizer's state
      for (const int rank : {0, 1}) {
        ranks.update(rank);
        ranks.forgetMost(rank);
      }
      ranks.runStep(*plan);
      for (const int rank : {0, 1}) {
        const auto predicted =
            static_cast<double>(simulation.ranks[static_cast<std::size_t>(rank)].peakMemory);
        const auto counted =
            static_cast<double>(ranks.weights(rank) + ranks.gradients(rank) + ranks.most(rank));
        worst = std::max(worst, std::abs(predicted / counted - 1));
        EXPECT_NEAR(predicted, counted, 0.06 * counted) << "rank " << rank;
      }
    }
  }
  RecordProperty("worst", std::to_string(worst));
}

TEST(MeasureBlocks, TheDefaultGeneratorGoesOnAsBefore) {
  const TrainingCase training{.microBatches = 1, .rows = 16, .model = CaseModel::kRich};
  const auto drawn = [&](bool measures) {
    at::manual_seed(7);
    if (measures) {
      measureBlocks({.model = testing::modelOf(training), .optimizer = adamOf},
                    testing::batchOf(training, 0, 0), {.rounds = 5});
    }
    return at::rand({8});
  };
  EXPECT_TRUE(at::equal(drawn(true), drawn(false)));
}

}  // namespace
}  // namespace pipetrace
