#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/device_stream.h"
#include "profiler/host_clock.h"
#include "profiler/job.h"
#include "profiler/ring_file.h"
#include "trace/ring_format.h"

namespace pipetrace {

/// The recording side of one stream of a recorder: stamps its jobs, in the slots of its ring file
/// (trace/ring_format.h). begin(), skip() and end() belong to the thread that records the stream,
/// front() to release() to the log thread; the counts may be read from anywhere.
class Lane {
 public:
  struct Options {
    std::string name;
    bool isCompute = false;
    std::size_t slots = 1;  ///< at least so many
    TickSource source = TickSource::kMonotonicRaw;
  };
  /// In one more piece of `file`, which must outlive it.
  Lane(const Options& options, std::unique_ptr<DeviceStream> stream, RingFile& file);

  const std::string& name() const { return options_.name; }
  bool isCompute() const { return options_.isCompute; }
  DeviceStream& stream() { return *stream_; }
  /// Where the lane is in its file; 0: it is in none.
  std::uint64_t offsetInFile() const { return piece_.isInFile ? piece_.offset : 0; }

  /// Opens `job` under this id and step, whatever its own say.
  void begin(const Job& job, std::int64_t id, std::int32_t step) noexcept;
  /// begin() for a job that is not to be recorded.
  void skip() noexcept;
  void end(std::int64_t bytes) noexcept;
  /// An id out of a block that nobody else hands out, and which is taken from `next`.
  std::int64_t drawId(std::atomic<std::int64_t>& next) noexcept;

  /// The id of the job that is open; kNotGiven: none is. Any thread.
  std::int64_t openJob() const noexcept;

  /// The oldest finished job that was not taken yet; null: none.
  const ring_format::Slot* front() const noexcept;
  /// Takes the job of front(), which was at these times. Its slot is kept until release().
  /// Returns the slot's index.
  std::uint32_t take(Nanoseconds begin, Nanoseconds end) noexcept;
  /// What is in a slot that was taken and not released.
  const ring_format::Slot& slot(std::uint32_t index) const noexcept { return slots_[index]; }
  /// The job in that slot need not survive the next giveBack().
  void release(std::uint32_t slot) noexcept;
  /// Lets the recording thread have the slots that were released, as far as none of an older job is
  /// kept.
  void giveBack() noexcept;
  /// Jobs that were taken.
  std::uint64_t taken() const noexcept { return taken_; }
  /// Whether so many slots are in use that records may soon be lost.
  bool isCrowded() const noexcept;

  /// Finished jobs that got a slot.
  std::uint64_t finished() const { return finished_.load(std::memory_order_acquire); }
  /// Jobs that found the ring full.
  std::int64_t dropped() const;
  /// Calls out of turn, a job left open included.
  std::int64_t misuses() const;
  /// Ticks that begin() and end() took: one job in 64 is timed, and stands for the others.
  std::uint64_t ownTicks() const;

 private:
  enum class State : std::uint8_t { kIdle, kOpen, kDropped, kSkipped };
  // Only the recording thread writes its counts, so no read-modify-write is needed.
  template <typename T>
  static void add(std::atomic<T>& count, T n) noexcept {
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  template <typename T>
  static std::atomic_ref<T> shared(T& field) noexcept {
    return std::atomic_ref<T>(field);
  }

  bool openSlot() noexcept;
  static constexpr std::uint64_t kTimedEvery = 64;
  static constexpr std::size_t kBits = 64;  // of each of released_
  static bool isTimed(std::uint64_t number) noexcept;
  static std::int16_t narrow(std::int32_t chunk) noexcept;
  void addTimed(std::uint64_t since) noexcept;

  const Options options_;
  const RingFile::Piece piece_;
  ring_format::Times* const times_;
  const std::uint64_t tickCost_;  // what reading the ticks takes

  // What every job needs, on one cache line: after a job of some length nothing is left in the
  // caches, and each line costs more than all that is done with it.
  alignas(64) const std::unique_ptr<DeviceStream> stream_;
  const std::size_t mask_;
  ring_format::LaneHeader* const header_;
  ring_format::Slot* const slots_;
  std::uint64_t begun_ = 0;
  std::uint64_t knownFreed_ = 0;
  std::atomic<std::uint64_t> finished_ = 0;
  const TickSource source_;
  const bool readsTicks_;  // marks the stream's jobs without a call of the stream
  std::atomic<State> state_ = State::kIdle;

  // The recording thread's as well.
  std::int64_t nextId_ = 0;
  std::int64_t idsUpTo_ = 0;
  std::atomic<std::int64_t> misuses_ = 0;
  std::atomic<std::int64_t> timedJobs_ = 0;
  std::atomic<std::uint64_t> timedTicks_ = 0;

  // The log thread's.
  alignas(64) std::uint64_t taken_ = 0;
  std::uint64_t freed_ = 0;
  std::vector<std::uint64_t> released_;  // a bit for each slot
};

// The recording path is here, so that it becomes one piece of code with its caller.

inline bool Lane::isTimed(std::uint64_t number) noexcept {
  // Not the first one, which meets cold caches and would stand for 63 warm ones.
  return number % kTimedEvery == kTimedEvery / 2;
}

inline std::int16_t Lane::narrow(std::int32_t chunk) noexcept {
  return chunk == static_cast<std::int16_t>(chunk) ? static_cast<std::int16_t>(chunk) : kNotGiven;
}

inline bool Lane::openSlot() noexcept {
  const State before = state_.load(std::memory_order_relaxed);
  // An exception may have skipped the end of the job before: that one is lost, this one counts.
  if (before != State::kIdle) [[unlikely]] {
    add<std::int64_t>(misuses_, 1);
    // The slot of the lost one is to be had.
    if (begun_ != finished_.load(std::memory_order_relaxed)) return true;
  }
  if (begun_ - knownFreed_ > mask_) [[unlikely]] {
    knownFreed_ = shared(header_->freed).load(std::memory_order_acquire);
    if (begun_ - knownFreed_ > mask_) {
      const auto dropped = shared(header_->dropped);
      dropped.store(dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      state_.store(State::kDropped, std::memory_order_relaxed);
      return false;
    }
  }
  ++begun_;
  return true;
}

inline void Lane::begin(const Job& job, std::int64_t id, std::int32_t step) noexcept {
  const std::uint64_t start = isTimed(begun_) ? ticksNow(source_) : 0;
  if (!openSlot()) return;
  ring_format::Slot& slot = slots_[(begun_ - 1) & mask_];
  slot.kind = static_cast<std::uint8_t>(job.kind);
  slot.chunk = narrow(job.chunk);
  shared(slot.id).store(id, std::memory_order_relaxed);
  slot.action = reinterpret_cast<std::uintptr_t>(job.action);
  slot.bytes = job.bytes;
  slot.microBatch = job.microBatch;
  slot.step = step;
  slot.stage = job.stage;
  slot.peer = job.peer;
  state_.store(State::kOpen, std::memory_order_relaxed);
  slot.begin = readsTicks_ ? ticksNow(source_) : stream_->markStart();
  shared(header_->begun).store(begun_, std::memory_order_release);
  if (start != 0) addTimed(start);
}

inline void Lane::skip() noexcept {
  if (state_.load(std::memory_order_relaxed) != State::kIdle) add<std::int64_t>(misuses_, 1);
  state_.store(State::kSkipped, std::memory_order_relaxed);
}

inline void Lane::end(std::int64_t bytes) noexcept {
  const State state = state_.load(std::memory_order_relaxed);
  if (state != State::kOpen) [[unlikely]] {
    if (state == State::kIdle) add<std::int64_t>(misuses_, 1);
    state_.store(State::kIdle, std::memory_order_relaxed);
    return;
  }
  const bool timed = isTimed(begun_ - 1);
  const std::uint64_t start = timed ? ticksNow(source_) : 0;
  ring_format::Slot& slot = slots_[(begun_ - 1) & mask_];
  const std::uint64_t mark = readsTicks_ ? ticksNow(source_) : stream_->mark();
  slot.end = mark;
  if (bytes != kNotGiven) slot.bytes = bytes;
  state_.store(State::kIdle, std::memory_order_relaxed);
  shared(slot.sequence).store(static_cast<std::uint32_t>(begun_), std::memory_order_release);
  finished_.store(begun_, std::memory_order_release);
  if (timed) [[unlikely]] {
    addTimed(start);
    add<std::int64_t>(timedJobs_, 1);
  }
}

// And what the log thread does for every job.

inline const ring_format::Slot* Lane::front() const noexcept {
  // The slots lie in the cache of another processor, which takes as long as all else for a job.
  constexpr std::uint64_t kAhead = 8;
  __builtin_prefetch(&slots_[(taken_ + kAhead) & mask_]);
  ring_format::Slot& slot = slots_[taken_ & mask_];
  const auto wanted = static_cast<std::uint32_t>(taken_ + 1);
  return shared(slot.sequence).load(std::memory_order_acquire) == wanted ? &slot : nullptr;
}

inline std::uint32_t Lane::take(Nanoseconds begin, Nanoseconds end) noexcept {
  const auto slot = static_cast<std::uint32_t>(taken_ & mask_);
  ring_format::Times& times = times_[slot];
  // A reader of the file must not take these times for those of the job that was here before.
  shared(times.sequence).store(0, std::memory_order_relaxed);
  shared(times.begin).store(begin, std::memory_order_release);
  shared(times.end).store(end, std::memory_order_release);
  shared(times.sequence).store(static_cast<std::uint32_t>(++taken_), std::memory_order_release);
  return slot;
}

inline void Lane::release(std::uint32_t slot) noexcept {
  released_[slot / kBits] |= std::uint64_t{1} << slot % kBits;
}

}  // namespace pipetrace
