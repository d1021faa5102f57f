#include "runtime/inspect/step_inspection.h"

#include <ATen/ops/aminmax.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/std_mean.h>
#include <c10/core/GradMode.h>

#include <tuple>

namespace pipetrace {
namespace {

/// In a type in which sums are exact enough.
at::Tensor wide(const at::Tensor& tensor) {
  if (!at::isFloatingType(tensor.scalar_type())) return tensor.to(at::kDouble);
  return tensor.element_size() < 4 ? tensor.to(at::kFloat) : tensor;
}

}  // namespace

at::Tensor queueFigures(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0 || tensor.is_complex()) return {};
  const c10::AutoGradMode noGrad(false);
  const at::Tensor numbers = wide(tensor);
  const auto [deviation, mean] =
      at::std_mean(numbers, at::OptionalIntArrayRef(), /*correction=*/at::Scalar(0));
  const auto [least, greatest] = at::aminmax(numbers);
  return at::stack({mean, deviation, least, greatest}).to(at::kDouble);
}

at::Tensor queueNorm(const at::Tensor& gradient) {
  const c10::AutoGradMode noGrad(false);
  return at::linalg_vector_norm(gradient, 2, at::OptionalIntArrayRef(), /*keepdim=*/false,
                                at::kDouble);
}

}  // namespace pipetrace
