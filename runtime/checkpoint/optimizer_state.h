#pragma once

#include <torch/optim/optimizer.h>

#include <string>
#include <utility>
#include <vector>

namespace pipetrace {

/// Tensors by name, in an order that the same training always has.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// "SGD", "Adam", "AdamW", "RMSprop" or "Adagrad": LibTorch's optimizers; "LAMB": Lamb; or classes
/// derived from them. Throws Error for others, whose state cannot be saved.
std::string optimizerName(const torch::optim::Optimizer& optimizer);

/// The state that `optimizer` has of `parameter`, one of its own, by the names that LibTorch and
/// Python's torch give it: "momentum_buffer", "step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq",
/// "square_avg", "grad_avg", "sum". They are the tensors themselves, no copies; `step` is a number
/// of 64 bits in a tensor of its own. Empty before the parameter's first step. Throws Error as
/// optimizerName() does.
NamedTensors optimizerStateOf(const torch::optim::Optimizer& optimizer,
                              const at::Tensor& parameter);

/// Throws Error if `optimizer` could not go on with `state`. It may keep nothing of that name. A
/// tensor may have another shape than the parameter, or one that its options need may be missing.
/// An empty state fits always. `who`: the text begins with it.
void requireStateFits(const NamedTensors& state, const torch::optim::Optimizer& optimizer,
                      const at::Tensor& parameter, const std::string& who);

/// Has `optimizer` keep copies of `state`, which fits, on the parameter's device, and forget what
/// it had of that parameter.
void putOptimizerState(const NamedTensors& state, torch::optim::Optimizer& optimizer,
                       const at::Tensor& parameter);

}  // namespace pipetrace
