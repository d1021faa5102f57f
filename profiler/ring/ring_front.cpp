#include "profiler/ring/ring_front.h"

#include <unistd.h>

#include <atomic>
#include <bit>

namespace pipetrace {

namespace rf = ring_format;

RingFront::RingFront(RingFile& file, std::size_t slots, Nanoseconds wallOffset,
                     const HostClock& clock) {
  std::byte* const memory = file.extend(rf::kFrontSize).memory;
  header_ = reinterpret_cast<rf::FileHeader*>(memory);
  texts_ = reinterpret_cast<rf::Text*>(memory + rf::kTextsAt);
  counters_ = reinterpret_cast<rf::CounterSlot*>(memory + rf::kCountersAt);
  rf::describeLayout(*header_, static_cast<std::uint32_t>(slots));
  header_->pid = getpid();
  header_->wallOffset = wallOffset;
  for (const ClockAnchor& anchor : clock.anchors()) {
    header_->anchors[header_->anchorCount++ % rf::kAnchors] = anchor;
  }
}

void RingFront::noteAnchor(const HostClock& clock) noexcept {
  const ClockAnchor& newest = clock.anchors().back();
  const std::uint64_t count = header_->anchorCount;
  if (header_->anchors[(count - 1) % rf::kAnchors].ticks == newest.ticks) return;
  header_->anchors[count % rf::kAnchors] = newest;
  std::atomic_ref(header_->anchorCount).store(count + 1, std::memory_order_release);
}

void RingFront::noteLane(int index, std::uint64_t offset) noexcept {
  if (offset == 0) std::atomic_ref(header_->lanesNotKept).fetch_add(1, std::memory_order_release);
  std::uint64_t& place = header_->laneOffset[static_cast<std::size_t>(index)];
  std::atomic_ref(place).store(offset, std::memory_order_release);
}

void RingFront::noteLost(std::int64_t records) noexcept {
  const std::atomic_ref lost(header_->linesLost);
  lost.fetch_add(static_cast<std::uint64_t>(records), std::memory_order_release);
}

void RingFront::finish(const std::string& payload) noexcept {
  payload.copy(header_->meta.data(), header_->meta.size() - 1);
  std::atomic_signal_fence(std::memory_order_release);
  header_->magic = rf::kMagic;
}

}  // namespace pipetrace
