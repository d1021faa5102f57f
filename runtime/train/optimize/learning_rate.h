#pragma once

#include <string>

namespace pipetrace {

enum class RateShape { kConstant, kLinear, kCosine };

/// How the learning rate of a training changes from step to step, as a share of its top.
///
/// Steps s = 0, 1, …, N - 1, warm-up of W steps, end f. Before step W the share is (s + 1) / W.
/// From there on it falls, with t = (s - W) / (N - W), so that it would be f in step N:
///
///     constant  1
///     linear    1 - (1 - f) t                        (torch's LinearLR from 1 to f)
///     cosine    f + (1 - f) (1 + cos(pi t)) / 2      (Loshchilov and Hutter, "SGDR", 2017, (5);
///                                                     torch's CosineAnnealingLR)
struct RateSchedule {
  RateShape shape = RateShape::kConstant;
  int warmup = 0;         ///< W, in steps
  double finalShare = 0;  ///< f
};

/// The share of step `step` of `steps`. In steps after these it stays what it would be in step N.
double rateShare(const RateSchedule& schedule, int step, int steps);

/// "constant", "linear" or "cosine". Throws Error for another name.
RateShape rateShapeOf(const std::string& name);

}  // namespace pipetrace
