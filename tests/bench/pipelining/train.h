#pragma once

#include <string>
#include <vector>

#include "runtime/starting_ranks/process_env.h"

namespace pipetrace::bench {

/// A training run of one rank. Sizes of 0 are those of the comparison.
struct TrainingOptions {
  std::string model = "mlp";
  std::string schedule = "1F1B";
  int chunks = 1;  ///< virtual stages of a rank
  int microBatches = 8;
  int steps = 15;
  int warm = 3;  ///< steps before those
  int width = 0;
  int rows = 0;
  int tokens = 0;
  int barrierPort = 0;
  std::string logDirectory;  ///< the job log is written there; empty: none
};

struct TrainingResult {
  std::vector<double> stepMs;  ///< without the warm-up; from a barrier to the next one
  std::vector<double> losses;  ///< of all steps, warm-up included; only with the last stage
  double cpuMsPerStep = 0;     ///< of this process, all threads, in the steps of `stepMs`
};

/// Trains this process's rank over Gloo, with one thread for operators. Throws Error for options
/// that do not fit each other or the world size. Errors of training pass through.
TrainingResult train(const TrainingOptions& options, const ProcessEnv& env);

/// The version of LibTorch.
std::string torchVersion();

}  // namespace pipetrace::bench
