#include "runtime/device/device_event.h"

namespace pipetrace {

DeviceEvent::DeviceEvent(const c10::Stream& stream)
    : stream_(stream), event_(stream.device_type(), c10::EventFlag::PYTORCH_DEFAULT) {
  event_.record(stream_);
}

void DeviceEvent::block(const c10::Stream& other) const {
  if (other != stream_) event_.block(other);
}

}  // namespace pipetrace
