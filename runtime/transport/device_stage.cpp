#include "runtime/transport/device_stage.h"

#include <ATen/ops/empty_like.h>
#include <c10/core/StreamGuard.h>

#include <memory>
#include <utility>

namespace pipetrace {

DeviceStage::DeviceStage(RankDevice& device)
    : device_(device.device()), stream_(device.newStream()) {}

Message DeviceStage::toHost(Message message, at::Tensor place) const {
  if (!message.tensor.defined()) {
    if (message.made != nullptr) message.made->synchronize();
    message.made = nullptr;
    return message;
  }
  const c10::StreamGuard guard(stream_);
  using enum RankDevice::Order;
  if (message.made != nullptr && RankDevice::keeps(kToHost)) message.made->block(stream_);
  const at::Tensor onDevice = message.tensor.contiguous();
  // Autograd may keep it, too, and let it go on the compute thread, which does not wait here.
  if (RankDevice::keeps(kToHostMemory)) message.tensor.record_stream(stream_);
  if (!place.defined()) {
    place = at::empty_like(onDevice, onDevice.options().device(c10::kCPU).pinned_memory(true));
  }
  place.copy_(onDevice, /*non_blocking=*/true);
  if (RankDevice::keeps(kOnHost)) DeviceEvent(stream_).synchronize();
  message.tensor = std::move(place);
  message.made = nullptr;
  return message;
}

Message DeviceStage::toDevice(Message message) const {
  if (!message.tensor.defined()) return message;
  const c10::StreamGuard guard(stream_);
  message.tensor = message.tensor.to(device_, /*non_blocking=*/true);
  if (RankDevice::keeps(RankDevice::Order::kToDevice)) message.made = RankDevice::record(stream_);
  return message;
}

}  // namespace pipetrace
