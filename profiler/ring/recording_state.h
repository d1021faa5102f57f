#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "profiler/clock/host_clock.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/job.h"
#include "profiler/ring/counter_ring.h"
#include "profiler/ring/lane.h"
#include "profiler/ring/ring_file.h"
#include "profiler/ring/spsc_ring.h"
#include "profiler/switches.h"
#include "trace/track.h"

namespace pipetrace {

/// Recorder::endStep(): the step, and how many compute jobs had been finished by then.
struct EndedStep {
  std::int32_t step = 0;
  std::uint64_t computeJobs = 0;
};

/// The state that the recording threads and the log thread share. Data passes between them in rings
/// and atomics only.
struct RecordingState {
  static constexpr int kMaxLanes = static_cast<int>(ring_format::kMaxLanes);

  /// `ringPath`: the ring file's path without its suffix; empty for none. `laneSlots`: the slots of
  /// each lane, a power of two. `stepRange`: the steps that are recorded. `wall`: the clock of
  /// lines.
  RecordingState(const std::string& ringPath, std::size_t laneSlots, TickSource ticks,
                 const StepRange& stepRange, const WallClock& wall = WallClock::read())
      : slots(laneSlots),
        steps(stepRange),
        hasSteps(!(stepRange == StepRange())),
        clock(wall),
        hostClock(ticks),
        file(ringPath, RingFile::spaceOf(ring_format::kFrontSize) +
                           RingFile::spaceOf(ring_format::laneSize(laneSlots))),
        front(file, laneSlots, clock.offset(), hostClock) {}

  const std::size_t slots;
  const StepRange steps;
  const bool hasSteps;
  const WallClock clock;
  HostClock hostClock;  ///< the log thread's, but for its ticks
  RingFile file;
  RingFront front;

  /// Lanes below laneCount are complete and stay where they are.
  std::array<std::unique_ptr<Lane>, ring_format::kMaxLanes> lanes;
  std::atomic<int> laneCount = 0;
  /// Recorder::setPhase(). On the cache line of laneCount, which each job reads.
  std::atomic<Phase> phase = Phase::kTraining;
  std::atomic<Lane*> computeLane = nullptr;

  SpscRing<EndedStep> endedSteps{1024};  ///< full: the step's lines wait for the hold limit
  CounterRing counters{front.counters(), ring_format::kCounters, front.header().countersFreed,
                       front.header().countersDropped};
  std::atomic<std::int64_t> misuses = 0;  ///< calls that named no stream or no job
  std::atomic<std::int64_t> nextJobId = 0;
  std::atomic<std::int32_t> currentStep = kNotGiven;

  /// The lane of that index, which must exist.
  Lane& laneAt(int index) const noexcept { return *lanes[static_cast<std::size_t>(index)]; }
  /// The lane of that index; null: there is none.
  Lane* lane(int index) const noexcept {
    const bool known = index >= 0 && index < laneCount.load(std::memory_order_acquire);
    return known ? lanes[static_cast<std::size_t>(index)].get() : nullptr;
  }

  /// Whether a sample taken now belongs to a step that is recorded. Before the first step that the
  /// program names it does, unless no step is recorded.
  bool wantsSamples() const noexcept {
    if (!hasSteps) return true;
    const std::int32_t step = currentStep.load(std::memory_order_relaxed);
    return step == kNotGiven ? steps.first < steps.end : steps.contains(step);
  }

  /// Recorder::begin() and end(), here so that they are inlined into their caller.
  [[gnu::always_inline]] std::int64_t begin(int stream, const Job& job) noexcept {
    Lane* const at = lane(stream);
    if (at == nullptr) [[unlikely]] {
      misuses.fetch_add(1, std::memory_order_relaxed);
      return kNotGiven;
    }
    const std::int32_t step =
        job.step != kNotGiven ? job.step : currentStep.load(std::memory_order_relaxed);
    if (hasSteps && !steps.contains(step)) {
      at->skip();
      return kNotGiven;
    }
    const bool needsId = job.id == kNotGiven && at->isCompute();
    const std::int64_t id = needsId ? at->drawId(nextJobId) : job.id;
    at->begin(job, id, step, phase.load(std::memory_order_relaxed));
    return id;
  }
  /// In place of begin(), for an argument that is no job.
  void refuse(int stream) noexcept {
    misuses.fetch_add(1, std::memory_order_relaxed);
    if (Lane* const at = lane(stream)) at->skip();
  }
  void beganAt(int stream, DeviceStream::Mark mark) noexcept {
    if (Lane* const at = lane(stream)) {
      at->beganAt(mark);
    } else {
      misuses.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void cancel(int stream) noexcept {
    if (Lane* const at = lane(stream)) {
      at->cancel();
    } else {
      misuses.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void record(int stream, const Job& job, Nanoseconds began, Nanoseconds ended) noexcept {
    Lane* const at = lane(stream);
    if (at == nullptr || at->stream().isAsynchronous()) {
      misuses.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const ClockAnchor now = hostClock.now();
    static_cast<void>(begin(stream, job));
    at->beganAt(hostClock.ticksAt(began, now));
    at->endAt(hostClock.ticksAt(ended, now), kNotGiven);
  }
  void end(int stream, std::int64_t bytes) noexcept {
    if (Lane* const at = lane(stream)) [[likely]] {
      at->end(bytes);
    } else {
      misuses.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void endAt(int stream, DeviceStream::Mark mark, std::int64_t bytes) noexcept {
    if (Lane* const at = lane(stream)) {
      at->endAt(mark, bytes);
    } else {
      misuses.fetch_add(1, std::memory_order_relaxed);
    }
  }
};

}  // namespace pipetrace
