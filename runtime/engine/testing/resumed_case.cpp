#include "runtime/engine/testing/resumed_case.h"

#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/testing/training_parts.h"

namespace pipetrace::testing {
namespace {

OptimizerMaker makerOfCase(bool isSgd) {
  return [isSgd](const NamedParameters& parameters) -> std::unique_ptr<torch::optim::Optimizer> {
    if (isSgd) {
      return std::make_unique<torch::optim::SGD>(tensorsOf(parameters),
                                                 torch::optim::SGDOptions(0.05).momentum(0.9));
    }
    return std::make_unique<torch::optim::AdamW>(tensorsOf(parameters),
                                                 torch::optim::AdamWOptions(0.01));
  };
}

}  // namespace

DataSet rowsOfCase(const ResumedCase& trained) {
  const TrainingCase training{
      .numStages = 4, .microBatches = 4, .rows = kRowsOfStep, .model = trained.model};
  return {.rows = kRowsOfStep * kStepsOfRun,
          .batchSize = kRowsOfStep,
          .batch = [=](auto first, auto count) {
            Batch batch = batchOf(training, static_cast<int>(first / kRowsOfStep), 0);
            for (auto& [name, tensor] : batch)
              tensor = tensor.narrow(0, first % kRowsOfStep, count);
            return batch;
          }};
}

Engine engineOfCase(const ResumedCase& trained, const Strategy& strategy,
                    CheckpointOptions checkpoints, EngineOptions options) {
  const TrainingCase training{.numStages = 4, .model = trained.model};
  Strategy own = strategy;
  own.plan.microBatches = 4;
  options.seed = kSeed;
  options.checkpoints = std::move(checkpoints);
  options.print = [](const std::string&) {};
  if (!options.say) options.say = [](const std::string&) {};
  return Engine(modelOf(training), makerOfCase(trained.isSgd), {}, own, std::move(options));
}

std::vector<double> lossesUnder(const ResumedCase& trained, const Strategy& strategy,
                                CheckpointOptions checkpoints, int steps) {
  Engine engine = engineOfCase(trained, strategy, std::move(checkpoints));
  std::vector<double> all = engine.fit(rowsOfCase(trained), {.stepsPerEpoch = steps}).losses;
  engine.finish();
  return all;
}

std::vector<double> lastOf(std::vector<double> all, std::size_t count) {
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(count));
  return all;
}

ProcessEnv envOfRank(int rank, int ranks, int port) {
  return {.rank = rank,
          .localRank = rank,
          .worldSize = ranks,
          .localWorldSize = ranks,
          .masterAddr = "127.0.0.1",
          .masterPort = port,
          .attempt = "0"};
}

}  // namespace pipetrace::testing
