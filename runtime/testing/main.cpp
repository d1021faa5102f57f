// GoogleTest's main(), and, called with --train-rank, one rank of a training case over Gloo.
#include <gtest/gtest.h>
#include <torch/serialize.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>

#include "runtime/testing/training_case.h"
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

}  // namespace pipetrace::testing

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--train-rank") {
    return pipetrace::testing::trainRankProcess(argc, argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return pipetrace::test::runTests();
}
