#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>

#include <optional>
#include <vector>

#include "runtime/testing/device/memory_uses.h"

namespace pipetrace::test_device {

/// A block of device memory, or of the host's pinned memory.
struct Block {
  /// Owns the memory. A CPU tensor that stands in for a tensor of the block has the same
  /// StorageImpl. So a result of a CPU kernel that shares it is known to be a view.
  c10::Storage cpu;
  c10::Device device = c10::kCPU;
  std::optional<c10::Stream> home;  ///< where it was allocated; none: pinned memory
  std::size_t bytes = 0;
  MemoryUses uses;
  std::vector<int> recorded;     ///< streams of record_stream
  std::uint64_t generation = 0;  ///< of the actors in `uses` and `recorded`
};

/// The block that a tensor or a pointer is in; null: it is neither the device's nor pinned. The CPU
/// tensor that stands in for a tensor of the device has none.
Block* blockOf(const at::Tensor& tensor);
Block* blockOf(const c10::DataPtr& data);

/// Adds a use of the tensor's memory, and says what is wrong with it. Under the lock.
void useMemory(const at::Tensor& tensor, Use use, const Operation& operation);

/// Makes the CPU storage a block of a device, allocated on its current stream. `write` is what
/// wrote it; null: nothing did. Under the lock. Throws c10::OutOfMemoryError.
c10::DataPtr toDeviceMemory(c10::Storage cpu, c10::Device device, const Access* write);
/// An operator may have given another shape or more memory to the CPU tensor that stands in for
/// `tensor`, which gets the same. Whether the memory is another. Under the lock.
bool followCpu(const at::Tensor& tensor, const at::Tensor& cpu);

/// Gives the storage new memory, with what was in the old.
void resizeStorage(const c10::Storage& storage, std::size_t bytes);

/// The same memory as a CPU tensor.
at::Tensor onCpu(const at::Tensor& tensor);
/// A tensor of the device that is like a CPU tensor.
at::Tensor onDevice(c10::Storage storage, const at::Tensor& like);

c10::DeviceAllocator& deviceAllocator();
c10::Allocator& pinnedAllocator();

}  // namespace pipetrace::test_device
