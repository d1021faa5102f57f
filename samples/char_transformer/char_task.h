#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "samples/char_transformer/char_model_options.h"

namespace pipetrace {

struct SampleTask;

struct CharTaskOptions {
  std::string data = "/usr/share/common-licenses/GPL-3";
  CharModelOptions model;  ///< its vocabulary is that of the text
  std::int64_t rows = 32;  ///< windows of text per step
  double learningRate = 3e-3;
  int warmUpSteps = 10;  ///< the learning rate rises to its value over this many steps
  std::uint64_t seed = 1;
};

/// Learns to predict the next character of the text: cross-entropy, AdamW. Throws Error if the text
/// cannot be read or is too short.
SampleTask makeCharTask(const CharTaskOptions& options);

/// makeCharTask() for runSample(), in a file that does not include LibTorch.
std::function<SampleTask()> charTaskMaker(const CharTaskOptions& options);

}  // namespace pipetrace
