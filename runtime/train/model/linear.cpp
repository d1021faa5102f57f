#include "runtime/train/model/linear.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <utility>

namespace pipetrace {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

thread_local WeightHalf* collecting = nullptr;

void addProduct(const WeightHalf::Product& product) {
  const at::NoGradGuard noGrad;
  at::Tensor& sum = const_cast<at::Tensor&>(product.weight).mutable_grad();
  const at::Tensor gradient = product.gradient.t();
  if (!sum.defined()) {
    sum = at::mm(gradient, product.input).to(product.weight.scalar_type());
  } else if (sum.scalar_type() == gradient.scalar_type()) {
    sum.addmm_(gradient, product.input);
  } else {
    sum.add_(at::mm(gradient, product.input));
  }
}

/// The input as autocast gives it to at::linear(): its cast is part of the graph. Those of weight
/// and bias are not, as the weight may be another version in the backward.
at::Tensor castInput(const at::Tensor& input) {
  const c10::DeviceType device = input.device().type();
  if (!at::autocast::is_autocast_available(device)) return input;
  if (!at::autocast::is_autocast_enabled(device)) return input;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), input, device);
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static Variable forward(AutogradContext* context, const Variable& input, const Variable& weight,
                          const std::optional<Variable>& bias) {
    context->save_for_backward({input});
    // The handle, not what it holds now: with weight versions the runtime sets it to the version
    // that the forward used before the backward runs.
    context->saved_data["weight"] = weight;
    context->saved_data["has_bias"] = bias.has_value();
    return at::linear(input, weight, bias);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Variable input = context->get_saved_variables()[0];
    const at::Tensor weight = context->saved_data["weight"].toTensor();
    const at::Tensor gradient = gradients[0].reshape({-1, weight.size(0)});
    variable_list results(3);
    if (context->needs_input_grad(0)) {
      results[0] = gradient.mm(weight.to(gradient.scalar_type())).view(input.sizes());
    }
    const bool hasBias = context->saved_data["has_bias"].toBool();
    if (hasBias && context->needs_input_grad(2)) results[2] = gradient.sum(0);
    if (context->needs_input_grad(1)) {
      // Detached: a view of a stage's input would keep the gradient of that, too.
      WeightHalf::Product product{weight, gradient, input.detach().reshape({-1, weight.size(1)})};
      if (collecting != nullptr) {
        collecting->add(std::move(product));
      } else {
        addProduct(product);
      }
    }
    return results;
  }
};

}  // namespace

at::Tensor linearWithWeightHalf(const at::Tensor& input, const at::Tensor& weight,
                                const at::Tensor& bias) {
  if (!at::GradMode::is_enabled() || !weight.requires_grad()) {
    return at::linear(input, weight, bias);
  }
  return LinearFunction::apply(castInput(input), weight,
                               bias.defined() ? std::optional(bias) : std::nullopt);
}

at::Tensor LinearImpl::forward(const at::Tensor& input) {
  return linearWithWeightHalf(input, weight, bias);
}

WeightHalf::Collecting::Collecting(WeightHalf& half) { collecting = &half; }

WeightHalf::Collecting::~Collecting() { collecting = nullptr; }

void WeightHalf::run() {
  for (const Product& product : products_) addProduct(product);
  products_.clear();
}

}  // namespace pipetrace
