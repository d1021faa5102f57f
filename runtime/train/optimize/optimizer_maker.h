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

}  // namespace pipetrace
