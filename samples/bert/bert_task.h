#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "samples/bert/bert_config.h"
#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;

struct BertTaskOptions {
  std::string data = "/usr/share/common-licenses/GPL-3";
  std::string vocabulary;  ///< a file, a piece a line; empty: usualVocabulary()
  BertConfig config;
  std::int64_t length = 64;  ///< of a row, in pieces
  std::int64_t rows = 32;    ///< of a step
  bool isTied = true;        ///< makeBertModel()
  OptimizerOptions optimizer{.learningRate = 2e-3,
                             .schedule = "linear",
                             .warmup = 20,
                             .finalShare = 0.1,
                             .weightDecay = 0.01};
  std::uint64_t seed = 1;
};

/// Learns to predict pieces of the text that are masked. Throws Error for files that cannot be
/// read, and for options of the optimizer that do not fit. So it does for a row that is longer than
/// the model's positions or the text, and for a vocabulary that is larger than the model's.
SampleTask makeBertTask(const BertTaskOptions& options);

/// makeBertTask() for runSample(), in a file that does not include LibTorch.
std::function<SampleTask()> bertTaskMaker(const BertTaskOptions& options);

}  // namespace pipetrace
