#pragma once

#include <ATen/core/Tensor.h>

namespace pipetrace {

/// One step's examples, along dimension 0. The first stage reads the inputs, the last the targets.
struct Batch {
  at::Tensor inputs;
  at::Tensor targets;
};

}  // namespace pipetrace
