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

void LossScale::resume(const State& state) {
  if (!isDynamic_ || !state.isDynamic) return;
  value_ = fixed(state.value).value();
  steps_ = state.stepsWithoutOverflow;
  overflows_ = state.overflowsInARow;
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

std::string LossScale::textOfOverflow() const {
  return "a gradient is no finite number with the loss scale " + numberText(value_) +
         "; training has failed, a smaller loss scale or learning rate may help";
}

std::string LossScale::failure() const {
  if (overflows_ < kMostOverflows) return "";
  const std::string rows =
      "gradients were no finite numbers in " + std::to_string(overflows_) + " steps in a row";
  if (!isDynamic_) {
    return rows + " with the loss scale " + numberText(value_) +
           "; training has failed, a smaller loss scale or learning rate may help";
  }
  return rows + ", though the loss scale fell to " + numberText(value_) +
         "; training has failed, a smaller learning rate may help";
}

void requireFits(const LossScale& scale, const Plan& plan) {
  if (!scale.isDynamic() || !plan.isAsynchronous()) return;
  throw Error("a dynamic loss scale leaves out whole steps, but the plan " + plan.name +
              " changes its weights within a step; give a number, such as 1024");
}

}  // namespace pipetrace
