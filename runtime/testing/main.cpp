// GoogleTest's main(). Called with --train-rank, one rank of a training case over Gloo; with
// --evaluate-rank, one of a training with an evaluation.
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/serialize.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "runtime/engine/engine.h"
#include "runtime/testing/training_case.h"
#include "runtime/testing/training_parts.h"
#include "runtime/transport/gloo.h"
#include "schedule/build_schedule.h"
#include "trace/testing/run_tests.h"

namespace pipetrace::testing {

// --train-rank SCHEDULE STAGES MICRO-BATCHES ROWS RESULT-FILE [RANK-THAT-DIES]
int trainRankProcess(int argc, char** argv) try {
  if (argc < 7) return 64;
  const TrainingCase training{.numStages = std::stoi(argv[3]),
                              .microBatches = std::stoi(argv[4]),
                              .rows = std::stoi(argv[5])};
  const int dies = argc > 7 ? std::stoi(argv[7]) : -1;
  const auto transport = connectGloo({.env = readProcessEnv()});
  const CheckedPlan plan = buildSchedule(argv[2], training.numStages, training.microBatches);
  const auto result = trainRank(training, plan, *transport, [&](int step, int microBatch) {
    if (transport->rank() == dies && step == 1 && microBatch == 2) _exit(9);
  });
  torch::save(result, argv[6]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}

// --evaluate-rank: a step of four micro-batches on two stages, then an evaluation. The last stage
// is killed in the second step of that, at micro-batch 2.
int evaluateRankProcess() try {
  constexpr int kRows = 16;
  const TrainingCase training{.numStages = 2, .microBatches = 4, .rows = kRows};
  Model model = modelOf(training);
  int losses = 0;
  model.loss = [&losses, inner = model.loss](const Tensors& inputs) {
    if (++losses == 4 + 4 + 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the other has heard where
      kill(getpid(), SIGKILL);
    }
    return inner(inputs);
  };
  const DataSet data{.rows = 4 * kRows, .batchSize = kRows, .batch = [&](auto first, auto count) {
                       Batch batch = batchOf(training, static_cast<int>(first / kRows), 0);
                       for (auto& [name, tensor] : batch)
                         tensor = tensor.narrow(0, first % kRows, count);
                       return batch;
                     }};
  const OptimizerMaker adam = [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::Adam>(tensorsOf(parameters),
                                                torch::optim::AdamOptions(kRate));
  };
  Engine engine(model, adam, {}, {.plan = {.ranks = 2, .microBatches = 4}});
  engine.fit(data, {.stepsPerEpoch = 1});
  engine.evaluate(data);
  engine.finish();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}

}  // namespace pipetrace::testing

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--train-rank") {
    return pipetrace::testing::trainRankProcess(argc, argv);
  }
  if (argc > 1 && std::string(argv[1]) == "--evaluate-rank") {
    return pipetrace::testing::evaluateRankProcess();
  }
  testing::InitGoogleTest(&argc, argv);
  return pipetrace::test::runTests();
}
