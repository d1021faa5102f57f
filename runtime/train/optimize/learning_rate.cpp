#include "runtime/train/optimize/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "trace/error.h"

namespace pipetrace {

double rateShare(const RateSchedule& schedule, int step, int steps) {
  if (step < schedule.warmup) return static_cast<double>(step + 1) / schedule.warmup;
  const int falling = std::max(steps - schedule.warmup, 1);
  const double t = std::min(static_cast<double>(step - schedule.warmup) / falling, 1.0);
  const double end = schedule.finalShare;
  switch (schedule.shape) {
    case RateShape::kConstant: return 1;
    case RateShape::kLinear: return 1 - (1 - end) * t;
    case RateShape::kCosine: return end + (1 - end) * (1 + std::cos(std::numbers::pi * t)) / 2;
  }
  return 1;
}

RateShape rateShapeOf(const std::string& name) {
  if (name == "constant") return RateShape::kConstant;
  if (name == "linear") return RateShape::kLinear;
  if (name == "cosine") return RateShape::kCosine;
  throw Error("there is no schedule of the learning rate " + name +
              "; there are constant, linear and cosine");
}

}  // namespace pipetrace
