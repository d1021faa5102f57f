#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace pipetrace {

/// The sums of a stage's gradients in one tensor of bytes, on the parameters' device: the loss as a
/// double, then each gradient in its own type. All ranks of a stage have the same layout.
class StageSums {
 public:
  /// Gradients that nobody made count as 0. `loss`: a double on that device; undefined: 0.
  static at::Tensor pack(const std::vector<at::Tensor>& parameters, const at::Tensor& loss);

  /// The parts of a tensor that pack() made of such parameters. They share its memory.
  static at::Tensor lossOf(const at::Tensor& packed);
  static std::vector<at::Tensor> gradientsOf(const at::Tensor& packed,
                                             const std::vector<at::Tensor>& parameters);

  /// Sets the gradients of `parameters` to the sums over such tensors of all copies, in their
  /// order.
  static void addUp(const std::vector<at::Tensor>& copies,
                    const std::vector<at::Tensor>& parameters);
};

}  // namespace pipetrace
