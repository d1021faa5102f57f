#include "runtime/costs/measure_blocks.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include "runtime/costs/measure_costs.h"
#include "runtime/testing/training_parts.h"
#include "runtime/testing/waiting_layers.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using testing::TrainingCase;

std::unique_ptr<torch::optim::Optimizer> adamOf(const NamedParameters& parameters) {
  return std::make_unique<torch::optim::Adam>(tensorsOf(parameters), 0.01);
}

TEST(MeasureBlocks, EachBlockHasItsOwnTimesAndMemory) {
  const Model model = testing::waitingModel({2, 8, 2});
  const Batch rows{{"inputs", at::randn({8, 4})}, {"targets", at::randn({8, 4})}};
  const BlockTable table = measureBlocks({.model = model, .optimizer = adamOf}, rows, 0);
  ASSERT_EQ(table.numBlocks(), 3);
  const auto expectTime = [](Nanoseconds time, int ms) {
    EXPECT_GE(time, ms * kNsPerMs);
    EXPECT_LT(time, 2 * ms * kNsPerMs) << "a wait of " << ms << " ms";
  };
  for (const int block : {0, 1, 2}) {
    SCOPED_TRACE(block);
    const BlockCosts& costs = table.blocks[static_cast<std::size_t>(block)];
    expectTime(costs.forward, block == 1 ? 8 : 2);
    expectTime(costs.backward, block == 1 ? 16 : 4);
    expectTime(costs.backwardInput, block == 1 ? 16 : 4);
    EXPECT_GT(costs.backwardWeight, 0);
    EXPECT_LT(costs.backwardWeight, 2 * kNsPerMs);
    EXPECT_GT(costs.optimizer, 0);
    EXPECT_EQ(costs.name, model.blocks[static_cast<std::size_t>(block)].name);
    EXPECT_EQ(costs.parameters, (4 * 4 + 4) * 4) << "weights and biases";
    EXPECT_GE(costs.updating, 3 * costs.parameters) << "gradients, and two means of Adam's";
    EXPECT_EQ(costs.message, block == 2 ? 0 : 8 * 4 * 4);
    EXPECT_GE(costs.activation, 8 * 4 * 4);
  }
}

// The costs of blocks alone say what stages of several take.
TEST(MeasureBlocks, TheirSumsAreTheMemoryOfStages) {
  const TrainingCase training{.microBatches = 1, .rows = 256, .model = CaseModel::kRich};
  const Model model = testing::modelOf(training);
  const Batch rows = testing::batchOf(training, 0, 0);
  const BlockTable table = measureBlocks({.model = model, .optimizer = adamOf}, rows, 0);
  const CheckedPlan plan = buildSchedule("1F1B", 2, 1);
  const BlockPartition partition{.blocks = {4, 4}, .recomputed = {2, 4}};
  const Costs sums = costsOf(table, *plan, partition);
  const MeasuredCosts measured =
      measureCosts({.model = model,
                    .partition = {.blocks = {4, 4}, .recomputeRatio = {0.5, 1}},
                    .optimizer = adamOf},
                   *plan, rows, 1);
  for (const std::size_t stage : {0U, 1U}) {
    SCOPED_TRACE(stage);
    const StageCosts& of = measured.costs.stages[stage];
    const auto expectNear = [](std::int64_t sum, std::int64_t whole) {
      EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(whole),
                  0.15 * static_cast<double>(whole));
    };
    expectNear(sums.stages[stage].activation, of.activation);
    expectNear(sums.stages[stage].recomputed, of.recomputed);
    expectNear(sums.stages[stage].weights, of.weights + measured.updating[stage]);
  }
}

TEST(MeasureBlocks, TheDefaultGeneratorGoesOnAsBefore) {
  const TrainingCase training{.microBatches = 1, .rows = 16, .model = CaseModel::kRich};
  const auto drawn = [&](bool measures) {
    at::manual_seed(7);
    if (measures) {
      measureBlocks({.model = testing::modelOf(training), .optimizer = adamOf},
                    testing::batchOf(training, 0, 0), 0);
    }
    return at::rand({8});
  };
  EXPECT_TRUE(at::equal(drawn(true), drawn(false)));
}

}  // namespace
}  // namespace pipetrace
