#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "runtime/train/optimize/loss_scale.h"

namespace pipetrace {

/// Decides from the gradients of all ranks, before the optimizer's step, by how much they are
/// clipped, and whether there is a step at all.
///
/// The norm is the 2-norm of all gradients of the model as one vector, without the loss scale.
/// Tied parameters count once, and so do those of stages on several ranks. Clipping multiplies all
/// gradients by min(1, most / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does.
///
/// The squares are doubles: finite gradients have a finite sum. A gradient or a loss that is no
/// finite number makes it infinite, or no number (an overflow).
///
/// Threads: one.
class StepAgreement {
 public:
  /// `mostNorm`: gradients are clipped to that norm; 0: they are not. Throws Error for one that is
  /// negative or no finite number.
  StepAgreement(LossScale scale, double mostNorm);

  /// Whether a step needs it: gradients are clipped, or have a loss scale.
  bool isNeeded() const { return mostNorm_ > 0 || isScaled(); }
  const LossScale& lossScale() const { return scale_; }
  /// Goes on with the scale of a checkpoint (LossScale::resume()).
  void goOnWith(const LossScale::State& state) { scale_.resume(state); }

  /// Takes the loss scale out of the gradients. Nobody waits for a device. Returns one number on
  /// their device, not 0 if one of them is no finite number; undefined: there is nothing to do.
  at::Tensor takeOutScale(const std::vector<at::Tensor>& parameters) const;

  /// The square of the norm of each gradient that there is, and of the loss, if it is defined, 0.
  /// Waits for the device.
  static std::vector<double> termsOf(const std::vector<at::Tensor>& parameters,
                                     const at::Tensor& loss);

  /// `sum`: of the terms of all stages. Clips the gradients. Returns whether the optimizer may take
  /// its step. Throws Error if training has failed: for the last of LossScale::kMostOverflows in a
  /// row, and for any without a loss scale.
  bool endStep(double sum, const std::vector<at::Tensor>& parameters);

  /// The same in a plan without a flush, whose ranks cannot agree: throws Error for the first
  /// overflow. `overflow`: of takeOutScale().
  void endUpdate(const at::Tensor& overflow);

  /// The norm of the last step before it was clipped; nullopt: of none, or no finite number.
  std::optional<double> norm() const;
  /// Whether the last step was left out.
  bool leftOutStep() const { return leftOut_; }

 private:
  bool isScaled() const { return scale_.isDynamic() || scale_.value() != 1; }

  LossScale scale_;
  const double mostNorm_;
  std::optional<double> norm_;
  bool leftOut_ = false;
};

}  // namespace pipetrace
