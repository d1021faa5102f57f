#include "runtime/costs/measure_blocks.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include <vector>

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
    const BlockTable table = measureBlocks({.model = model, .optimizer = adamOf}, rows, 0);
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
  const BlockTable table = measureBlocks({.model = model, .optimizer = adamOf}, rows, 0);
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

// The costs of blocks alone say what stages of several take, or a little more: a tensor that two
// blocks of a stage keep counts for both.
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
      EXPECT_GE(static_cast<double>(sum), 0.85 * static_cast<double>(whole));
      EXPECT_LE(static_cast<double>(sum), 1.25 * static_cast<double>(whole));
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
