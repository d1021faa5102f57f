#include "runtime/train/optimize/step_agreement.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <cmath>
#include <vector>

#include "trace/error.h"

namespace pipetrace {

namespace {

/// Divides the gradients by `scale`, in place. Returns one number on their device, not 0 if one of
/// them is infinite or no number. Nobody waits for the device. `parameters`: at least one.
at::Tensor unscaleGradients(const std::vector<at::Tensor>& parameters, double scale) {
  const at::NoGradGuard noGrad;
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(parameters[0].device());
  at::Tensor overflow = at::zeros({1}, options);
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  if (gradients.empty()) return overflow;
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow,
                                                 at::full({1}, 1 / scale, options));
  return overflow;
}

/// Keeps gradients of norm 0 finite, as in torch.
constexpr double kSmallest = 1e-6;

std::vector<at::Tensor> gradientsOf(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

}  // namespace

StepAgreement::StepAgreement(LossScale scale, double mostNorm)
    : scale_(scale), mostNorm_(mostNorm) {
  if (std::isfinite(mostNorm) && mostNorm >= 0) return;
  throw Error("gradients are clipped to a norm that is a positive number");
}

at::Tensor StepAgreement::takeOutScale(const std::vector<at::Tensor>& parameters) const {
  if (!isScaled() || parameters.empty()) return {};
  return unscaleGradients(parameters, scale_.value());
}

std::vector<double> StepAgreement::termsOf(const std::vector<at::Tensor>& parameters,
                                           const at::Tensor& loss) {
  const at::NoGradGuard noGrad;
  std::vector<at::Tensor> norms;
  for (const at::Tensor& gradient : gradientsOf(parameters)) {
    norms.push_back(at::linalg_vector_norm(gradient, 2, {}, false, at::kDouble));
  }
  if (loss.defined()) norms.push_back(loss.to(at::kDouble).reshape({}) * 0);
  if (norms.empty()) return {};
  const at::Tensor all = at::stack(norms).cpu();
  std::vector<double> terms;
  for (std::int64_t i = 0; i < all.numel(); ++i) {
    const double norm = all.const_data_ptr<double>()[i];
    terms.push_back(norm * norm);
  }
  return terms;
}

bool StepAgreement::endStep(double sum, const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard noGrad;
  norm_ = std::sqrt(sum);
  leftOut_ = !std::isfinite(sum);
  if (leftOut_ && !isScaled()) {
    throw Error(
        "the norm of the gradients is no finite number; training has failed, a smaller learning "
        "rate may help");
  }
  if (isScaled()) {
    scale_.endStep(leftOut_);
    if (const std::string failure = scale_.failure(); !failure.empty()) throw Error(failure);
  }
  const double factor = mostNorm_ / (*norm_ + kSmallest);
  const std::vector<at::Tensor> gradients = gradientsOf(parameters);
  const bool clips = !leftOut_ && mostNorm_ > 0 && factor < 1;
  if (clips && !gradients.empty()) at::_foreach_mul_(gradients, factor);
  return !leftOut_;
}

void StepAgreement::endUpdate(const at::Tensor& overflow) {
  // On a device nobody waits: the next loss is no number then.
  if (!overflow.defined() || !overflow.is_cpu() || overflow.item<float>() == 0) return;
  throw Error(scale_.textOfOverflow());
}

std::optional<double> StepAgreement::norm() const {
  return norm_ && std::isfinite(*norm_) ? norm_ : std::nullopt;
}

}  // namespace pipetrace
