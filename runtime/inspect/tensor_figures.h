#pragma once

#include <ATen/core/Tensor.h>

namespace pipetrace {

/// A summary of the elements of a tensor.
struct TensorFigures {
  double mean = 0;
  double deviation = 0;  ///< the standard deviation of all its elements, divided by their number
  double least = 0;
  double greatest = 0;
};

/// The figures of a tensor: four doubles on its device, in the order of TensorFigures. They are
/// queued on the thread's stream, and nobody waits for them. fp16 and bf16 are summed up in fp32,
/// integers and truth values in fp64. Undefined for a tensor without elements, or of complex
/// numbers. An element that is no number makes all four so.
at::Tensor queueFigures(const at::Tensor& tensor);

/// The norm of a gradient, the root of the sum of its squares: a double, as above.
at::Tensor queueNorm(const at::Tensor& gradient);

}  // namespace pipetrace
