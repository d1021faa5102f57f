#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/train/model/model.h"
#include "runtime/train/model/model_cut.h"

namespace pipetrace {

/// Whether numbers of that type can have a gradient.
bool canHaveGradient(const at::Tensor& tensor);

/// The inputs of a block, or of the loss, that it must not change in place: those that have no
/// gradient, and those that another stage makes. They are handed over within a process, not
/// copied, so others may have the same memory. Over Gloo they have their own, and would not see the
/// change. To look whether there was one costs no copy: LibTorch counts them by tensor.
///
/// A change that LibTorch does not count (through `data()`, or a bare pointer) is not found.
class FixedInputs {
 public:
  /// Before it runs. `inputs`: the slots of its inputs.
  FixedInputs(const StageCut& cut, const std::vector<int>& inputs, const Tensors& slots);

  /// After it has run. Throws Error if `who` has changed one of them. `names`: of all inputs.
  void requireSame(const std::string& who, const std::vector<std::string>& names) const;

 private:
  struct Fixed {
    std::size_t input = 0;
    at::Tensor tensor;
    std::uint32_t changes = 0;  // so far
  };
  std::vector<Fixed> fixed_;
};

}  // namespace pipetrace
