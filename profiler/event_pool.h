#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/cuda_api.h"

namespace pipetrace {

/// The events of one stream, all made at the start and used in turn: a stream finishes its work in
/// the order in which it was given, so they come free in the order in which they were taken, and
/// one counter on each side does.
///
/// Threads: take() on the one that records, release() on the one that resolves.
class EventPool {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  /// Makes at least `size` events (rounded up to a power of two) on the current device, and records
  /// each once on `stream`: the first record of an event allocates inside the driver. Throws Error.
  EventPool(CudaApi& api, CudaApi::Stream stream, std::size_t size);
  /// Destroys the events; the device must be current.
  ~EventPool();
  /// Leaves the events to CUDA: they went with their device.
  void abandon() noexcept { events_.clear(); }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// The next event; kNone: all are in use.
  Index take() noexcept {
    const std::uint32_t taken = taken_;
    if (taken - released_.load(std::memory_order_acquire) > mask_) return kNone;
    taken_ = taken + 1;
    return taken & mask_;
  }
  /// Gives the latest event back, if it could not be recorded.
  void untake() noexcept { --taken_; }

  /// The events up to and including `index` may be used again. In the order of take().
  void releaseUpTo(Index index) noexcept {
    const std::uint32_t released = released_.load(std::memory_order_relaxed);
    released_.store(released + ((index - released) & mask_) + 1, std::memory_order_release);
  }

  CudaApi::Event at(Index index) const noexcept { return events_[index]; }
  std::size_t size() const noexcept { return events_.size(); }

 private:
  CudaApi& api_;
  std::vector<CudaApi::Event> events_;
  std::uint32_t mask_ = 0;
  // Counts of all times; they may wrap around. Each side's on a cache line that only it writes.
  alignas(64) std::uint32_t taken_ = 0;
  alignas(64) std::atomic<std::uint32_t> released_ = 0;
};

}  // namespace pipetrace
