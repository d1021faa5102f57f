#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profiler/clock/host_clock.h"
#include "profiler/device_stream.h"
#include "profiler/job.h"
#include "profiler/ring/ring_file.h"
#include "trace/log/ring_format.h"

namespace pipetrace {

/// The recording side of one stream of a recorder: stamps its jobs, in the slots of its ring file
/// (trace/log/ring_format.h). The thread that records the stream calls begin(), skip(), beganAt()
/// and end(), the log thread front() to isCrowded(). Any thread may read the other counts.
///
/// Job n is in slot n % slots, which goes through these states:
///
///              recording thread       |           log thread
///           begin()         end()     |      take()        release()       giveBack()
///     free -------> open -------> finished -------> taken -------> released -------> free
///
/// Jobs are begun, finished, taken and freed in their order, so a count of each says how far they
/// are. They are released in any order, and freed when all jobs before them are released. The jobs
/// that have a slot, the oldest first:
///
///     freed_                taken_     finished_               begun_     freed_ + slots
///       |  taken or released  |  finished  |  one open, or none  |  free slots  |
///
/// A job for which no slot is free is dropped.
class Lane {
 public:
  struct Options {
    std::string name;
    bool isCompute = false;
    std::size_t slots = 1;  ///< roundedSlots() of them
    TickSource source = TickSource::kMonotonicRaw;
  };
  /// A power of two near `wanted`, and not below it unless that is more than any program needs.
  static std::size_t roundedSlots(std::size_t wanted);

  /// Takes one more piece of `file`, which must outlive it.
  Lane(const Options& options, std::unique_ptr<DeviceStream> stream, RingFile& file);

  const std::string& name() const { return options_.name; }
  bool isCompute() const { return isCompute_; }
  DeviceStream& stream() { return *stream_; }
  /// Where the lane is in its file; 0: it is in none.
  std::uint64_t offsetInFile() const { return piece_.isInFile ? piece_.offset : 0; }

  /// Opens `job` under this id and step, in place of its own, and in this phase.
  [[gnu::always_inline]] void begin(const Job& job, std::int64_t id, std::int32_t step,
                                    Phase phase = Phase::kTraining) noexcept;
  /// begin() for a job that is not to be recorded.
  void skip() noexcept;
  /// Replaces the start of the open job, if there is one.
  void beganAt(DeviceStream::Mark mark) noexcept;
  void end(std::int64_t bytes) noexcept;
  /// In place of end(): the open job is forgotten, and no error.
  void cancel() noexcept;
  /// end() for a job that was over at `mark`.
  void endAt(DeviceStream::Mark mark, std::int64_t bytes) noexcept;
  /// An id out of a block that is this lane's alone, and is taken from `next`.
  std::int64_t drawId(std::atomic<std::int64_t>& next) noexcept;

  /// The id of the job that is open; kNotGiven: none is. Any thread.
  std::int64_t openJob() const noexcept;

  /// The oldest finished job that was not taken yet; null: none.
  const ring_format::Slot* front() const noexcept;
  /// Takes the job of front(), which was at these times. Its slot is kept until release().
  /// Returns the slot's index.
  std::uint32_t take(Nanoseconds begin, Nanoseconds end) noexcept;
  /// The job in a slot that was taken and not released.
  const ring_format::Slot& slot(std::uint32_t index) const noexcept { return slots_[index]; }
  /// The job in that slot need not survive the next giveBack().
  void release(std::uint32_t slot) noexcept;
  /// Gives released slots back to the recording thread, up to the oldest job that is still kept.
  void giveBack() noexcept;
  /// Jobs that were taken.
  std::uint64_t taken() const noexcept { return taken_; }
  /// Whether the ring is so full that records may soon be lost.
  bool isCrowded() const noexcept;

  /// Finished jobs that got a slot.
  std::uint64_t finished() const { return finished_.load(std::memory_order_acquire); }
  /// Jobs that found the ring full.
  std::int64_t dropped() const;
  /// Calls out of order, a job left open included.
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

  // Fields of a slot are stored one by one. Stored together, the caller's job would be loaded in
  // larger pieces than it was stored in; such a load waits until all stores before it are done.
  template <typename T>
  static void put(T& field, T value) noexcept {
    shared(field).store(value, std::memory_order_relaxed);
  }

  static constexpr std::uint64_t kTimedEvery = 64;
  static constexpr std::size_t kBits = 64;  // of each of released_
  static bool isTimed(std::uint64_t number) noexcept;
  /// A chunk, or kNotGiven if it is too large for a slot.
  static std::int16_t narrow(std::int32_t number) noexcept;

  [[gnu::always_inline]] void open(const Job& job, std::int64_t id, std::int32_t step,
                                   Phase phase) noexcept;
  void close(DeviceStream::Mark mark, std::int64_t bytes) noexcept;
  DeviceStream::Mark now() noexcept { return readsTicks_ ? ticksNow(source_) : stream_->mark(); }
  bool makeRoom() noexcept;
  // By value: a job whose address is passed on would have to be in memory. For the same reason the
  // caller builds a new one: a job that is copied as a whole is in memory even where the recorder
  // is off.
  void beginTimed(Job job, std::int64_t id, std::int32_t step, Phase phase) noexcept;
  void endTimed(std::int64_t bytes) noexcept;
  void endOfNone() noexcept;
  void drawBlock(std::atomic<std::int64_t>& next) noexcept;
  void addTimed(std::uint64_t since) noexcept;

  const Options options_;
  const RingFile::Piece piece_;
  ring_format::Times* const times_;
  const std::uint64_t tickCost_;  // ticks that reading the ticks takes

  // The fields that every job needs, on one cache line. After a job of some length nothing is left
  // in the caches, and loading a line costs more than all work on it.
  alignas(64) const std::unique_ptr<DeviceStream> stream_;
  const std::size_t mask_;
  ring_format::LaneHeader* const header_;
  ring_format::Slot* const slots_;
  std::uint64_t begun_ = 0;
  std::uint64_t knownFreed_ = 0;
  std::atomic<std::uint64_t> finished_ = 0;
  const TickSource source_;
  const bool readsTicks_;  // marks the stream's jobs without a call of the stream
  const bool isCompute_;
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

// The recording path is here, so that it becomes one piece of code with its caller. Each function
// on it that takes a job is always inlined, up to Recorder::begin(). A call would put the job into
// memory, with all fields that the caller does not give, even where the recorder is off.

inline bool Lane::isTimed(std::uint64_t number) noexcept {
  // The first one is not timed: it meets cold caches, and would stand for 63 warm ones.
  return number % kTimedEvery == kTimedEvery / 2;
}

inline std::int16_t Lane::narrow(std::int32_t number) noexcept {
  const auto narrowed = static_cast<std::int16_t>(number);
  return number == narrowed ? narrowed : kNotGiven;
}

inline std::int64_t Lane::drawId(std::atomic<std::int64_t>& next) noexcept {
  if (nextId_ == idsUpTo_) [[unlikely]]
    drawBlock(next);
  return nextId_++;
}

inline void Lane::open(const Job& job, std::int64_t id, std::int32_t step, Phase phase) noexcept {
  const bool isInOrder =
      state_.load(std::memory_order_relaxed) == State::kIdle && begun_ - knownFreed_ <= mask_;
  if (!isInOrder && !makeRoom()) [[unlikely]]
    return;
  const std::uint64_t number = begun_;
  begun_ = number + 1;
  ring_format::Slot& slot = slots_[number & mask_];
  // The slots are in the cache of the log thread's processor.
  constexpr std::uint64_t kAhead = 4;
  __builtin_prefetch(&slots_[(number + kAhead) & mask_], 1);
  put(slot.kind, static_cast<std::uint8_t>(job.kind));
  put(slot.phase, static_cast<std::uint8_t>(phase));
  put(slot.chunk, narrow(job.chunk));
  put(slot.id, id);
  put(slot.action, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(job.action)));
  put(slot.bytesOrDetails, isCompute_ ? packedDetails(job) : job.bytes);
  put(slot.microBatch, job.microBatch);
  put(slot.step, step);
  put(slot.stage, job.stage);
  put(slot.peer, job.peer);
  state_.store(State::kOpen, std::memory_order_relaxed);
  put(slot.begin, readsTicks_ ? ticksNow(source_) : stream_->markStart());
  shared(header_->begun).store(number + 1, std::memory_order_release);
}

inline void Lane::close(DeviceStream::Mark mark, std::int64_t bytes) noexcept {
  const std::uint64_t begun = begun_;
  ring_format::Slot& slot = slots_[(begun - 1) & mask_];
  put(slot.end, mark);
  if (bytes != kNotGiven && !isCompute_) put(slot.bytesOrDetails, bytes);
  state_.store(State::kIdle, std::memory_order_relaxed);
  shared(slot.sequence).store(static_cast<std::uint32_t>(begun), std::memory_order_release);
  finished_.store(begun, std::memory_order_release);
}

inline void Lane::begin(const Job& job, std::int64_t id, std::int32_t step, Phase phase) noexcept {
  if (isTimed(begun_)) [[unlikely]] {
    Job timed{.kind = job.kind,
              .microBatch = job.microBatch,
              .stage = job.stage,
              .chunk = job.chunk,
              .peer = job.peer,
              .bytes = job.bytes,
              .action = job.action};
    visitJobDetails([&](auto, auto field) { field(timed) = field(job); });
    beginTimed(timed, id, step, phase);
  } else {
    open(job, id, step, phase);
  }
}

inline void Lane::skip() noexcept {
  if (state_.load(std::memory_order_relaxed) != State::kIdle) add<std::int64_t>(misuses_, 1);
  state_.store(State::kSkipped, std::memory_order_relaxed);
}

inline void Lane::beganAt(DeviceStream::Mark mark) noexcept {
  if (state_.load(std::memory_order_relaxed) == State::kOpen) {
    put(slots_[(begun_ - 1) & mask_].begin, mark);
  }
}

inline void Lane::end(std::int64_t bytes) noexcept {
  if (state_.load(std::memory_order_relaxed) != State::kOpen) [[unlikely]] {
    endOfNone();
  } else if (isTimed(begun_ - 1)) [[unlikely]] {
    endTimed(bytes);
  } else {
    close(now(), bytes);
  }
}

inline void Lane::endAt(DeviceStream::Mark mark, std::int64_t bytes) noexcept {
  if (state_.load(std::memory_order_relaxed) == State::kOpen) {
    close(mark, bytes);
  } else {
    endOfNone();
  }
}

// The log thread calls these for every job.

inline const ring_format::Slot* Lane::front() const noexcept {
  // The slots are in the cache of another processor; fetching one takes as long as all other work
  // on a job.
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
