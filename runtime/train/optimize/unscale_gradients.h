#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace pipetrace {

/// Divides the gradients by `scale`, in place. Returns one number on their device, not 0 if one of
/// them is infinite or no number. Nobody waits for the device. `parameters`: at least one.
at::Tensor unscaleGradients(const std::vector<at::Tensor>& parameters, double scale);

}  // namespace pipetrace
