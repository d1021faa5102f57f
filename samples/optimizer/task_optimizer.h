#pragma once

#include <functional>
#include <string>

#include "runtime/train/model/model.h"
#include "runtime/train/optimize/optimizer_maker.h"
#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;

/// Throws Error for a pattern of names that is no regular expression.
WeightDecay weightDecayOf(const OptimizerOptions& options);

/// Throws Error for a pattern that none of the model's parameters is named by. Where there are
/// patterns, it makes the model's blocks one after the other, and so sets the default generator.
void requireNames(const Model& model, const OptimizerOptions& options);

/// The learning rate of each step. Throws Error for a schedule that there is not.
std::function<double(int step)> learningRateOf(const OptimizerOptions& options);

/// Makes that kind of optimizer, with a group of parameters that are decayed and one of those that
/// are not. Throws Error for a kind that there is not, and as weightDecayOf() does.
OptimizerMaker optimizerOf(const OptimizerOptions& options);

/// All of it in words: "adamw, learning rate 0.003, cosine, …".
std::string toText(const OptimizerOptions& options);

/// The optimizer of a task that has its model. Throws Error as the functions above do.
void addOptimizer(SampleTask& task, const OptimizerOptions& options);

}  // namespace pipetrace
