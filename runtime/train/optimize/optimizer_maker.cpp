#include "runtime/train/optimize/optimizer_maker.h"

namespace pipetrace {

std::vector<at::Tensor> tensorsOf(const NamedParameters& parameters) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  return tensors;
}

}  // namespace pipetrace
