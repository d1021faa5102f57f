#include "runtime/costs/measure_costs.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/costs/ranks_in_turn.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/training_parts.h"
#include "runtime/testing/waiting_layers.h"
#include "schedule/build_schedule.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using ::testing::HasSubstr;
using testing::TrainingCase;

std::unique_ptr<torch::optim::Optimizer> adam(const NamedParameters& parameters) {
  return std::make_unique<torch::optim::Adam>(tensorsOf(parameters), 0.01);
}

// A model with skips, tied weights and dropout, and an optimizer with a state. The second
// step of each rank counts.
TEST(MeasureCosts, TheMemoryOfARankIsPredicted) {
  for (const char* const name : {"1F1B", "Interleaved1F1B", "ZB-H1"}) {
    for (const double ratio : {0.0, 1.0}) {
      SCOPED_TRACE(std::string(name) + " that recomputes " + std::to_string(ratio));
      Plan built = buildSchedule(name, 2, 4);
      if (ratio > 0) {
        const auto all = static_cast<std::size_t>(built.numStages);
        built = withRecompute(built, std::vector<bool>(all, true));
      }
      const CheckedPlan plan(built);
      const TrainingCase training{.numStages = plan->numStages,
                                  .microBatches = 4,
                                  .rows = 256,
                                  .model = CaseModel::kRich,
                                  .recompute = ratio};
      const TorchWorkOptions options{.model = modelOf(training),
                                     .partition = partitionOf(training),
                                     .numMicroBatches = 4,
                                     .optimizer = adam};
      const Batch batch = testing::batchOf(training, 0, 0);
      Batch rows;
      for (const auto& [tensorName, tensor] : batch) rows[tensorName] = tensor.narrow(0, 0, 64);
      const MeasuredCosts measured = measureCosts(options, *plan, rows, {.rounds = 1});
      const Simulation simulation = simulate(plan, measured.costs);
      RanksInTurn ranks(options, plan->stagesByRank(), batch);
      for (int rank = 0; rank < plan->numRanks(); ++rank) {
        std::int64_t predicted = simulation.ranks[static_cast<std::size_t>(rank)].peakMemory;
        for (const int stage : plan->stagesOfRank(rank)) {
          predicted += measured.updating[static_cast<std::size_t>(stage)];
        }
        if (rank == 0) {
          ranks.runStep(*plan);
          for (int each = 0; each < plan->numRanks(); ++each) {
            ranks.update(each);
            ranks.forgetMost(each);
          }
          ranks.runStep(*plan);
        }
        const std::int64_t counted = ranks.weights(rank) + ranks.gradients(rank) + ranks.most(rank);
        EXPECT_NEAR(static_cast<double>(predicted), static_cast<double>(counted),
                    0.05 * static_cast<double>(counted))
            << "rank " << rank;
        EXPECT_GT(measured.costs.stages[0].activation, 0);
      }
    }
  }
}

TEST(MeasureCosts, TimesAreThoseOfTheStagesJobs) {
  const Model model = testing::waitingModel({4, 4, 8, 8});
  const TorchWorkOptions options{.model = model,
                                 .partition = {.blocks = {2, 2}, .recomputeRatio = {0, 0.5}},
                                 .optimizer = adam};
  const Batch rows{{"inputs", at::randn({8, 4})}, {"targets", at::randn({8, 4})}};
  Costs costs;
  std::vector<std::pair<Nanoseconds, int>> times;  // and their waits, in ms
  // A busy machine ends waits late, so it may take more than one try.
  for (int i = 0; i < 10; ++i) {
    costs = measureCosts(options, buildSchedule("1F1B", 2, 4), rows).costs;
    times = {{costs.stages[0].forward, 8},
             {costs.stages[0].backward, 16},
             {costs.stages[1].forward, 16},
             {costs.stages[1].recompute, 8},
             {costs.stages[1].backward, 32}};
    const bool areInTime = std::all_of(times.begin(), times.end(), [](const auto& each) {
      return each.first < 2 * each.second * kNsPerMs;
    });
    if (areInTime) break;
  }
  for (const auto& [time, ms] : times) {
    EXPECT_GE(time, ms * kNsPerMs);
    EXPECT_LT(time, 2 * ms * kNsPerMs) << "a wait of " << ms << " ms";
  }
  EXPECT_GT(costs.optimizer, 0);
  EXPECT_EQ(costs.stages[0].message, 8 * 4 * 4);
  EXPECT_EQ(costs.stages[1].blocks, 2);
}

TEST(MeasureCosts, APlanWithoutBackwardPassesIsRefused) {
  EXPECT_THAT(
      testing::errorOf([] { measureCosts({}, forwardPart(buildSchedule("1F1B", 2, 4)), {}); }),
      HasSubstr("has no backward pass"));
}

// Threads that wait for each other make times erratic where others use the cores, too.
TEST(MeasureCosts, OperatorsRunInOneThreadAndTheGeneratorGoesOnAsBefore) {
  const CheckedPlan plan(buildSchedule("1F1B", 2, 2));
  const TrainingCase training{.numStages = 2, .rows = 8, .model = CaseModel::kRich};  // has dropout
  TorchWorkOptions options{
      .model = modelOf(training), .partition = partitionOf(training), .optimizer = adam};
  int threads = 0;
  const auto loss = options.model.loss;
  options.model.loss = [&](const Tensors& tensors) {
    threads = std::max(threads, at::get_num_threads());
    return loss(tensors);
  };
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor state = generator.get_state();
  measureCosts(options, *plan, testing::batchOf(training, 0, 0), {.rounds = 1});
  EXPECT_EQ(threads, 1);
  EXPECT_EQ(at::get_num_threads(), 3);
  EXPECT_TRUE(at::equal(generator.get_state(), state));
  at::set_num_threads(before);
}

}  // namespace
}  // namespace pipetrace
