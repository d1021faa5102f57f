#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trace/event.h"

namespace pipetrace {

/// A message in training: activations for the next stage, or gradients for the one before, of one
/// micro-batch. Copying it shares the tensor's storage.
struct Message {
  at::Tensor tensor;  ///< detached from any graph; undefined where nothing but the order matters
  /// Emulated devices only: CLOCK_MONOTONIC ns at which the job that made it was planned to end.
  /// Once it has been received, the time at which it was planned to arrive. 0 on real devices.
  Nanoseconds deadline = 0;

  std::int64_t bytes() const {
    return tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
  }
};

}  // namespace pipetrace
