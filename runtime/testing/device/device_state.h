#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/testing/device/actors.h"
#include "runtime/testing/device/held_streams.h"

namespace pipetrace::test_device {

/// The choices of a host thread. As on CUDA a new one starts on device 0 and default streams.
struct ThisThread {
  c10::DeviceIndex device = 0;
  std::array<c10::StreamId, kTestDevices> streams{};
  const std::string* label = nullptr;
  int actor = kNobody;
  std::uint64_t generation = 0;  ///< of `actor`
};
ThisThread& thisThread();
c10::Stream currentStream(c10::DeviceIndex device);

/// The memory of one device.
struct MemoryFigures {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;  ///< in all, since the start
  std::int64_t freed = 0;      ///< in all, since the start
  std::int64_t refused = 0;    ///< allocations over the limit
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();

  void add(std::int64_t bytes);
};

/// The streams that a device hands out: as on CUDA 32 of normal and 32 of high priority, in turn.
struct StreamPool {
  static constexpr int kStreams = 32;
  std::array<int, 2> next{};
  std::bitset<std::size_t{2} * kStreams> given;
};

/// A copy to pinned memory that the host must not see yet. Until it has waited, its memory holds
/// 0xFF bytes.
struct HeldCopy {
  at::Tensor host;
  at::Tensor value;
  Operation operation;
};

/// The hooks of tests. They are called without the lock.
struct DeviceHooks {
  std::function<void(const std::string&, c10::Stream)> beforeOperator;
  std::function<void(c10::Stream, std::int64_t)> afterOperator;
  std::function<void*(c10::Stream)> streamHandle;
  std::function<std::int64_t(c10::Stream)> afterRecord;
  std::function<void(std::int64_t, c10::Stream)> afterBlock;
  std::function<void(std::int64_t)> beforeWait;
  std::function<void(c10::Stream)> afterHold;
  std::function<bool(c10::Stream)> hasHung;
};

/// All that the device knows. One for the process, as LibTorch's registries are; it is never
/// destroyed, because tensors of static objects are freed at the very end.
struct DeviceState {
  std::recursive_mutex mutex;
  std::atomic<int> deviceCount{kTestDevices};
  Actors actors;
  HeldStreams held;
  std::vector<std::string> findings;
  std::set<std::string> texts;
  std::array<MemoryFigures, kTestDevices> memory;
  std::array<StreamPool, kTestDevices> pools;
  std::map<const char*, const char*> pinned;  ///< begin and end of each block
  std::list<HeldCopy> heldCopies;
  std::shared_ptr<const DeviceHooks> hooks = std::make_shared<DeviceHooks>();

  /// A copy of the text that lives as long as the process.
  const std::string* keep(const std::string& text) { return &*texts.insert(text).first; }
};
DeviceState& deviceState();
using StateLock = std::lock_guard<std::recursive_mutex>;

std::shared_ptr<const DeviceHooks> deviceHooks();
/// Exchanges one hook.
template <typename Hook>
void setHook(Hook DeviceHooks::*member, Hook hook) {
  const StateLock lock(deviceState().mutex);
  auto changed = std::make_shared<DeviceHooks>(*deviceState().hooks);
  (*changed).*member = std::move(hook);
  deviceState().hooks = std::move(changed);
}

}  // namespace pipetrace::test_device
