#pragma once

#include <functional>
#include <string>

#include "runtime/train/optimize/parameter_groups.h"
#include "samples/optimizer_options.h"

namespace pipetrace {

/// Throws Error for a pattern of names that is no regular expression.
WeightDecay weightDecayOf(const OptimizerOptions& options);

/// The learning rate of each step. Throws Error for a schedule that there is not.
std::function<double(int step)> learningRateOf(const OptimizerOptions& options);

/// All of it in words: "learning rate 0.003, cosine, …".
std::string toText(const OptimizerOptions& options);

}  // namespace pipetrace
