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

  /// The oldest finished job that was not taken yet; null: none.
  const ring_format::Slot* front() const noexcept;
  /// Takes the job of front(), which was at these times. Its slot is kept until release().
  /// Returns its number on the lane.
  std::uint64_t take(Nanoseconds begin, Nanoseconds end) noexcept;
  /// The job of that number need not survive any more.
  void release(std::uint64_t number) noexcept;
  /// Jobs that were taken.
  std::uint64_t taken() const noexcept { return taken_; }
  /// Finished jobs that were not taken.
  std::size_t waiting() const noexcept { return finished() - taken_; }
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
  bool isTimed(std::uint64_t number) const noexcept;
  void addTimed(std::uint64_t since) noexcept;

  const Options options_;
  const std::unique_ptr<DeviceStream> stream_;
  const RingFile::Piece piece_;
  const bool readsTicks_;  // marks the stream's jobs without a call of the stream
  const std::size_t mask_;
  ring_format::LaneHeader* const header_;
  ring_format::Slot* const slots_;
  ring_format::Times* const times_;
  std::uint64_t tickCost_ = 0;  // what reading the ticks takes

  // The recording thread's.
  alignas(64) std::uint64_t begun_ = 0;
  std::uint64_t knownFreed_ = 0;
  std::int64_t nextId_ = 0;
  std::int64_t idsUpTo_ = 0;
  std::atomic<State> state_ = State::kIdle;
  std::atomic<std::uint64_t> finished_ = 0;
  std::atomic<std::int64_t> misuses_ = 0;
  std::atomic<std::int64_t> timedJobs_ = 0;
  std::atomic<std::uint64_t> timedTicks_ = 0;

  // The log thread's.
  alignas(64) std::uint64_t taken_ = 0;
  std::uint64_t freed_ = 0;
  std::vector<bool> released_;  // by slot
};

}  // namespace pipetrace
