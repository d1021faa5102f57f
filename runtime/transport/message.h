#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/lanes/message_header.h"
#include "trace/event.h"

namespace pipetrace {

class DeviceEvent;

/// A message in training: activations for the next stage, or gradients for the one before, of one
/// micro-batch. Copying it shares the tensor's storage.
struct Message {
  at::Tensor tensor;  ///< detached from any graph; undefined where nothing but the order matters
  /// Emulated devices only, CLOCK_MONOTONIC ns: when it was planned to leave its sender (if it
  /// stays on a rank, to be made). Once it was received: to arrive. 0 on real devices.
  Nanoseconds deadline = 0;
  std::int64_t rows = 0;  ///< of the step's batch, where the message says that (MessageKind)
  /// On a device with streams: when the tensor is made there. Null: it is there.
  std::shared_ptr<const DeviceEvent> made = nullptr;

  std::int64_t bytes() const {
    return tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
  }
};

/// Throws Error for tensors of more than TensorShape::kMaxDimensions.
TensorShape shapeOf(const Message& message);

/// Sees when the device moves messages in line (RankDevice::line()). It is called on the compute
/// thread, inside of the send or the post of the message, with the stream of the line current.
class LineWatch {
 public:
  virtual ~LineWatch() = default;

  /// Work that is queued on the stream from now on runs when it is the message's turn, and what it
  /// sends is made.
  virtual void begins() = 0;
  /// The same when it has been moved.
  virtual void ended(std::int64_t bytes) = 0;
};

/// Doubles of the host's as a message (RankMessages::sendOnHost()), and back. At least one.
Message messageOf(const std::vector<double>& numbers);
std::vector<double> numbersOf(const Message& message);

}  // namespace pipetrace
