#include "runtime/train/packed_gradients.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace pipetrace {

at::Tensor packedSums(const std::vector<at::Tensor>& parameters, const at::Tensor& loss) {
  std::vector<at::Tensor> parts{loss.reshape({1}).to(at::kDouble)};
  for (const at::Tensor& parameter : parameters) {
    const at::Tensor& sum = parameter.grad();
    parts.push_back((sum.defined() ? sum : at::zeros_like(parameter)).flatten().to(at::kDouble));
  }
  return at::cat(parts);
}

void addPackedSums(const std::vector<at::Tensor>& copies,
                   const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard noGrad;
  std::int64_t offset = 1;
  for (at::Tensor parameter : parameters) {
    const auto ofCopy = [&](const at::Tensor& copy) {
      return copy.narrow(0, offset, parameter.numel())
          .view(parameter.sizes())
          .to(parameter.scalar_type());
    };
    at::Tensor sum = ofCopy(copies.front());
    for (std::size_t i = 1; i < copies.size(); ++i) sum.add_(ofCopy(copies[i]));
    parameter.mutable_grad() = sum;
    offset += parameter.numel();
  }
}

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
