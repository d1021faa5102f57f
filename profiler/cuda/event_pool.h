#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/cuda/api.h"

namespace pipetrace {

/// The events of one stream, all made at the start and used in turn. A stream finishes its work in
/// order, so events become free in the order in which they were taken. One counter on each side is
/// enough.
///
/// Threads: take() and untake() on the one that records, releaseUpTo() on the one that resolves.
class EventPool {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  /// Makes at least `size` events (rounded up to a power of two) on the current device. Records
  /// each once on `stream`, as the first record of an event allocates inside the driver. Throws
  /// Error.
  EventPool(CudaApi& api, CudaApi::Stream stream, std::size_t size);
  /// Destroys the events; the device must be current.
  ~EventPool();
  /// Leaves the events to CUDA: they are gone with their device.
  void abandon() noexcept { events_.clear(); }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// The next event; kNone: all are in use.
  Index take() noexcept {
    const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (taken - knownReleased_ > mask_) [[unlikely]] {
      knownReleased_ = released_.load(std::memory_order_acquire);
      if (taken - knownReleased_ > mask_) return kNone;
    }
    taken_.store(taken + 1, std::memory_order_relaxed);
    return static_cast<Index>(taken) & mask_;
  }
  /// Gives the latest event back, if it could not be recorded.
  void untake() noexcept {
    taken_.store(taken_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  /// Events taken so far, without those given back. Any thread.
  std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

  /// The events up to and including `index` may be used again. In the order of take().
  void releaseUpTo(Index index) noexcept {
    const std::uint64_t released = released_.load(std::memory_order_relaxed);
    released_.store(released + ((index - released) & mask_) + 1, std::memory_order_release);
  }

  CudaApi::Event at(Index index) const noexcept { return events_[index]; }
  std::size_t size() const noexcept { return events_.size(); }

 private:
  CudaApi& api_;
  std::vector<CudaApi::Event> events_;
  std::uint32_t mask_ = 0;
  // Counts since the start. Each side's is on a cache line that only that side writes.
  alignas(64) std::atomic<std::uint64_t> taken_ = 0;
  std::uint64_t knownReleased_ = 0;
  alignas(64) std::atomic<std::uint64_t> released_ = 0;
};

}  // namespace pipetrace
