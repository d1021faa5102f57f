#include "runtime/train/model/fixed_inputs.h"

#include "trace/error.h"

namespace pipetrace {

namespace {

/// How often the tensor was changed in place.
std::uint32_t changesOf(const at::Tensor& tensor) {
  return tensor.is_inference() ? 0 : tensor._version();  // LibTorch refuses to change those
}

}  // namespace

bool canHaveGradient(const at::Tensor& tensor) {
  return tensor.is_floating_point() || tensor.is_complex();
}

FixedInputs::FixedInputs(const StageCut& cut, const std::vector<int>& inputs,
                         const Tensors& slots) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const auto slot = static_cast<std::size_t>(inputs[k]);
    const at::Tensor& tensor = slots[slot];
    if (!tensor.defined() || (!cut.isFixed[slot] && canHaveGradient(tensor))) continue;
    fixed_.push_back({k, tensor, changesOf(tensor)});
  }
}

void FixedInputs::requireSame(const std::string& who, const std::vector<std::string>& names) const {
  for (const Fixed& each : fixed_) {
    if (changesOf(each.tensor) == each.changes) continue;
    throw Error(who + " changed its input " + names[each.input] +
                " in place, but others may need it as it was; change a copy (clone())");
  }
}

}  // namespace pipetrace
