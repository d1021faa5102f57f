#include "runtime/train/optimize/unscale_gradients.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace pipetrace {

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

}  // namespace pipetrace
