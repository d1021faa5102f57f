#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace pipetrace {

/// The loss and the sums of the gradients of `parameters`, 0 where there are none, as one tensor:
/// in double, which holds the numbers of each type exactly. `loss`: one number, on their device.
at::Tensor packedSums(const std::vector<at::Tensor>& parameters, const at::Tensor& loss);

/// Sets the gradients of `parameters` to the sums over such tensors of all copies, in their order.
void addPackedSums(const std::vector<at::Tensor>& copies,
                   const std::vector<at::Tensor>& parameters);

/// Divides the gradients by `scale`, in place. Returns one number on their device, not 0 if one of
/// them is infinite or no number. Nobody waits for the device. `parameters`: at least one.
at::Tensor unscaleGradients(const std::vector<at::Tensor>& parameters, double scale);

}  // namespace pipetrace
