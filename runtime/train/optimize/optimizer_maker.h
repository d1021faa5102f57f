#pragma once

#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pipetrace {

/// Parameters with their names: number of the block in the model and name in the block, "3.weight".
using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

/// Makes an optimizer over all of `parameters`, in one group or in several. It is called for the
/// parameters of a rank, or of a stage, so a group may have none.
using OptimizerMaker =
    std::function<std::unique_ptr<torch::optim::Optimizer>(const NamedParameters& parameters)>;

/// Without the names.
inline std::vector<at::Tensor> tensorsOf(const NamedParameters& parameters) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  return tensors;
}

/// Which parameters an optimizer makes smaller in each step, and by how much.
struct WeightDecay {
  double rate = 0;  ///< `weight_decay` of LibTorch's optimizers
  /// Spares parameters by their name. Empty: none. Tied parameters must all be spared or none, or
  /// they are no longer equal after a step.
  std::function<bool(const std::string& name)> spares;

  /// Biases and the weights of norms have fewer than two dimensions. They are never decayed.
  bool applies(const std::string& name, const at::Tensor& parameter) const {
    return rate != 0 && parameter.dim() >= 2 && !(spares && spares(name));
  }
};

/// Two groups with `options`: the parameters that are decayed, and the others. Each keeps the order
/// of `parameters`, and may be empty. `Options`: of an optimizer that knows a weight decay.
template <typename Options>
std::vector<torch::optim::OptimizerParamGroup> decayGroups(const NamedParameters& parameters,
                                                           Options options,
                                                           const WeightDecay& decay) {
  std::vector<at::Tensor> decayed;
  std::vector<at::Tensor> others;
  for (const auto& [name, parameter] : parameters) {
    (decay.applies(name, parameter) ? decayed : others).push_back(parameter);
  }
  const auto optionsWith = [&](double rate) {
    auto own = std::make_unique<Options>(options);
    own->weight_decay(rate);
    return own;
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::move(decayed), optionsWith(decay.rate));
  groups.emplace_back(std::move(others), optionsWith(0));
  return groups;
}

}  // namespace pipetrace
