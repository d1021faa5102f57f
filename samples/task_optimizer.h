#pragma once

#include <functional>
#include <string>

#include "runtime/train/model/model.h"
#include "runtime/train/optimize/parameter_groups.h"
#include "samples/optimizer_options.h"

namespace pipetrace {

/// Throws Error for a pattern of names that is no regular expression.
WeightDecay weightDecayOf(const OptimizerOptions& options);

/// Throws Error for a pattern that none of the model's parameters is named by. Where there are
/// patterns, it makes the model's blocks one after the other, and so sets the default generator.
void requireNames(const Model& model, const OptimizerOptions& options);

/// The learning rate of each step. Throws Error for a schedule that there is not.
std::function<double(int step)> learningRateOf(const OptimizerOptions& options);

/// All of it in words: "learning rate 0.003, cosine, …".
std::string toText(const OptimizerOptions& options);

}  // namespace pipetrace
