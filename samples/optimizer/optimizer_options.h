#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// The options of an optimizer on a sample program's command line.
struct OptimizerOptions {
  std::string kind = "adamw";         ///< or sgd, lamb (Lamb)
  double learningRate = 0;            ///< at the top of its schedule
  std::string schedule = "constant";  ///< or linear, cosine: RateShape
  int warmup = 0;                     ///< in steps
  double finalShare = 0;              ///< of the learning rate, after the last step
  int steps = 1;                      ///< of the training
  double weightDecay = 0;             ///< of parameters of two dimensions and more
  /// Regular expressions of RE2. A parameter whose name has a match anywhere is not decayed.
  std::vector<std::string> noDecay = {};
};

}  // namespace pipetrace
