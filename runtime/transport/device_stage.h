#pragma once

#include <c10/core/Stream.h>

#include "runtime/device/rank_device.h"
#include "runtime/transport/message.h"

namespace pipetrace {

/// Moves the messages of a lane between a device and pinned memory of the host, for transports that
/// move the host's memory. It copies on a stream of its own.
///
/// Threads: one makes it, one uses it.
class DeviceStage {
 public:
  /// Takes a stream of the device. Throws Error where there is none left.
  explicit DeviceStage(RankDevice& device);

  /// The message in pinned memory, once it is there: in that of `place`, which has its type and
  /// sizes, or in memory of its own. Waits for Message::made, also without a tensor.
  Message toHost(Message message, at::Tensor place = {}) const;
  /// The message on the device, once Message::made has passed. `message` may be in pinned memory,
  /// which is used until then.
  Message toDevice(Message message) const;

 private:
  const c10::Device device_;
  const c10::Stream stream_;
};

}  // namespace pipetrace
