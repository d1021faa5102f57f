#pragma once

#include <string>

namespace pipetrace {

struct Plan;

/// By what the gradient of the loss is multiplied before a backward, so that small gradients do not
/// vanish in fp16 (Micikevicius et al., "Mixed Precision Training", 2018). The loss that is
/// reported and the gradients that the optimizer gets are without it.
///
/// In a step with an overflow the update is left out. A dynamic scale halves then, and doubles
/// after 2000 steps in a row without one. It is never below 1.
class LossScale {
 public:
  static constexpr double kStart = 65'536;
  static constexpr int kStepsToDouble = 2000;
  static constexpr int kMostOverflows = 20;

  /// All that changes from step to step, for a checkpoint.
  struct State {
    double value = 1;
    bool isDynamic = false;
    int stepsWithoutOverflow = 0;  ///< since the scale changed
    int overflowsInARow = 0;
    bool operator==(const State&) const = default;
  };

  /// Always `value`: positive and finite; a power of two loses no bits of the gradients. Throws
  /// Error for others.
  static LossScale fixed(double value);
  static LossScale dynamic() { return {kStart, true}; }

  State state() const {
    return {.value = value_,
            .isDynamic = isDynamic_,
            .stepsWithoutOverflow = steps_,
            .overflowsInARow = overflows_};
  }
  /// Goes on as one with that state would, if both are dynamic. Else this one begins as it is.
  /// Throws Error for a value that is not positive and finite.
  void resume(const State& state);

  double value() const { return value_; }
  bool isDynamic() const { return isDynamic_; }

  /// A step has ended; `overflowed`: one of its gradients was no finite number.
  void endStep(bool overflowed);
  int overflowsInARow() const { return overflows_; }
  /// Why training has failed, for people: kMostOverflows in a row. "" if it has not.
  std::string failure() const;
  /// The same for a single overflow, where no step can be left out.
  std::string textOfOverflow() const;

 private:
  LossScale(double value, bool isDynamic) : value_(value), isDynamic_(isDynamic) {}

  double value_;
  bool isDynamic_;
  int steps_ = 0;      // without an overflow, since the scale changed
  int overflows_ = 0;  // in a row
};

/// Throws Error for a dynamic scale in a plan without a flush.
void requireFits(const LossScale& scale, const Plan& plan);

}  // namespace pipetrace
