#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;

struct CharModelOptions {
  std::int64_t vocabulary = 0;
  std::int64_t context = 64;  ///< characters that the model sees at a time, at most
  std::int64_t width = 128;   ///< of the vectors between layers; a multiple of heads
  std::int64_t heads = 4;
  int layers = 4;
};

struct CharTaskOptions {
  std::string data = "/usr/share/common-licenses/GPL-3";
  CharModelOptions model;  ///< its vocabulary is that of the text
  std::int64_t rows = 32;  ///< windows of text per step
  OptimizerOptions optimizer{.learningRate = 3e-3, .warmup = 10, .weightDecay = 0.01};
  std::uint64_t seed = 1;
};

/// Learns to predict the next character of the text: cross-entropy, AdamW in two groups of
/// parameters. Throws Error if the text cannot be read or is too short, and for options of the
/// optimizer that do not fit.
SampleTask makeCharTask(const CharTaskOptions& options);

/// makeCharTask() for runSample(), in a file that does not include LibTorch.
std::function<SampleTask()> charTaskMaker(const CharTaskOptions& options);

}  // namespace pipetrace
