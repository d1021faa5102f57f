#include "runtime/testing/device/device_state.h"

#include <algorithm>

namespace pipetrace::test_device {

ThisThread& thisThread() {
  thread_local ThisThread thread;
  return thread;
}

c10::Stream currentStream(c10::DeviceIndex device) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, device),
                     thisThread().streams.at(static_cast<std::size_t>(device)));
}

void MemoryFigures::add(std::int64_t bytes) {
  current += bytes;
  peak = std::max(peak, current);
  (bytes > 0 ? allocated : freed) += std::abs(bytes);
}

DeviceState& deviceState() {
  static auto* const state = new DeviceState;
  return *state;
}

std::shared_ptr<const DeviceHooks> deviceHooks() {
  const StateLock lock(deviceState().mutex);
  return deviceState().hooks;
}

}  // namespace pipetrace::test_device
