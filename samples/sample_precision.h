#pragma once

#include "runtime/train/optimize/loss_scale.h"
#include "samples/sample_options.h"

namespace pipetrace {

/// As --loss-scale says; without it kUsualLossScale with fp16, and 1 otherwise. Throws Error for
/// what is no number, and for a scale without fp16.
LossScale sampleLossScale(const SampleOptions& options);

/// Between 8 and 32768, as in Micikevicius et al., "Mixed Precision Training", 2018.
constexpr double kUsualLossScale = 1024;

}  // namespace pipetrace
