#include "runtime/train/optimize/lamb.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace pipetrace {

namespace {

/// |value| / |update|, or 1 where one of them is 0: a tensor without dimensions.
at::Tensor trustRatio(const at::Tensor& value, const at::Tensor& update) {
  const at::Tensor ofValue = at::linalg_vector_norm(value);
  const at::Tensor ofUpdate = at::linalg_vector_norm(update);
  return at::where(ofValue.gt(0).logical_and(ofUpdate.gt(0)), ofValue / ofUpdate,
                   at::ones_like(ofValue));
}

}  // namespace

Lamb::Lamb(const std::vector<torch::optim::OptimizerParamGroup>& groups, LambOptions defaults)
    : Optimizer(groups, std::make_unique<LambOptions>(defaults)) {
  TORCH_CHECK(defaults.lr() >= 0, "Invalid learning rate: ", defaults.lr());
  TORCH_CHECK(defaults.eps() >= 0, "Invalid epsilon value: ", defaults.eps());
  const auto [beta1, beta2] = defaults.betas();
  TORCH_CHECK(0 <= beta1 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
  TORCH_CHECK(0 <= beta2 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
  TORCH_CHECK(defaults.weight_decay() >= 0,
              "Invalid weight_decay value: ", defaults.weight_decay());
}

at::Tensor Lamb::step(LossClosure closure) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode withGrad(true);
    loss = closure();
  }
  const at::NoGradGuard noGrad;
  for (auto& group : param_groups_) {
    const auto& options = static_cast<const LambOptions&>(group.options());
    for (at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      lambStep(parameter, parameter, parameter.grad(), state_[parameter.unsafeGetTensorImpl()],
               options);
    }
  }
  return loss;
}

void lambStep(const at::Tensor& from, at::Tensor& into, const at::Tensor& gradient,
              std::unique_ptr<torch::optim::OptimizerParamState>& state,
              const LambOptions& options) {
  if (!state) {
    auto made = std::make_unique<LambParamState>();
    made->exp_avg(at::zeros_like(from));
    made->exp_avg_sq(at::zeros_like(from));
    state = std::move(made);
  }
  auto& kept = static_cast<LambParamState&>(*state);
  kept.step(kept.step() + 1);
  const auto [beta1, beta2] = options.betas();
  const double correction1 = 1 - std::pow(beta1, kept.step());
  const double correction2 = 1 - std::pow(beta2, kept.step());
  kept.exp_avg().mul_(beta1).add_(gradient, 1 - beta1);
  kept.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  const at::Tensor divisor =
      (kept.exp_avg_sq().sqrt() / std::sqrt(correction2)).add_(options.eps());
  at::Tensor update = (kept.exp_avg() / correction1).div_(divisor);
  if (options.weight_decay() != 0) update.add_(from, options.weight_decay());
  update.mul_(trustRatio(from, update));
  at::sub_out(into, from, update, options.lr());
}

}  // namespace pipetrace
