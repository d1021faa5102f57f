#include "runtime/train/optimize/loss_scale.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "schedule/plan.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

std::string numberText(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

LossScale LossScale::fixed(double value) {
  if (std::isfinite(value) && value > 0) return {value, false};
  throw Error("a loss scale is a positive number, not " + numberText(value));
}

void LossScale::endStep(bool overflowed) {
  overflows_ = overflowed ? overflows_ + 1 : 0;
  steps_ = overflowed ? 0 : steps_ + 1;
  if (!isDynamic_) return;
  if (overflowed) value_ = std::max(value_ / 2, 1.0);
  if (steps_ < kStepsToDouble) return;
  value_ *= 2;
  steps_ = 0;
}

std::string LossScale::failure() const {
  if (!isDynamic_ && overflows_ > 0) {
    return "a gradient is no finite number with the loss scale " + numberText(value_) +
           "; training has failed, a smaller loss scale or learning rate may help";
  }
  if (overflows_ < kMostOverflows) return "";
  return "gradients were no finite numbers in " + std::to_string(overflows_) +
         " steps in a row, though the loss scale fell to " + numberText(value_) +
         "; training has failed, a smaller learning rate may help";
}

void requireFits(const LossScale& scale, const Plan& plan) {
  if (!scale.isDynamic()) return;
  if (plan.isAsynchronous()) {
    throw Error("a dynamic loss scale leaves out whole steps, but the plan " + plan.name +
                " changes its weights within a step; give a number, such as 1024");
  }
  if (plan.numRanks() == 1) return;
  throw Error(
      "a dynamic loss scale needs all stages on one rank, as ranks cannot agree yet that "
      "one of them had an overflow; the plan " +
      plan.name + " has " + std::to_string(plan.numRanks()) +
      " ranks, so give a number, such as 1024");
}

}  // namespace pipetrace
