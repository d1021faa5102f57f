#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "profiler/lane.h"
#include "profiler/mpsc_ring.h"
#include "profiler/spsc_ring.h"
#include "profiler/wall_clock.h"
#include "trace/track.h"

namespace pipetrace {

/// Recorder::endStep(): the step, and how many compute jobs had been queued by then.
struct EndedStep {
  std::int32_t step = 0;
  std::size_t computeJobs = 0;
};

/// One Recorder::counter() call.
struct CounterRecord {
  const char* name = nullptr;
  const char* unit = nullptr;
  Nanoseconds monotonic = 0;
  double value = 0;
};

/// What the recording threads and the log thread share. Everything that crosses is a ring or an
/// atomic.
struct RecordingState {
  static constexpr int kMaxLanes = 64;

  /// Lanes below laneCount are complete and stay where they are.
  std::array<std::unique_ptr<Lane>, kMaxLanes> lanes;
  std::atomic<int> laneCount = 0;
  std::atomic<Lane*> computeLane = nullptr;

  SpscRing<EndedStep> endedSteps{1024};  ///< full: the step's lines wait for the hold limit
  MpscRing<CounterRecord> counters{4096};
  std::atomic<std::int64_t> droppedCounters = 0;
  std::atomic<std::int64_t> misuses = 0;  ///< calls that named no stream
  std::atomic<std::int64_t> nextJobId = 0;
  WallClock clock = WallClock::read();

  /// The lane of that index, which must exist.
  Lane& laneAt(int index) const noexcept { return *lanes[static_cast<std::size_t>(index)]; }
  /// The lane of that index; null: there is none.
  Lane* lane(int index) const noexcept {
    const bool known = index >= 0 && index < laneCount.load(std::memory_order_acquire);
    return known ? lanes[static_cast<std::size_t>(index)].get() : nullptr;
  }
};

}  // namespace pipetrace
