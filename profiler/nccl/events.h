#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "profiler/nccl/abi.h"
#include "trace/event.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The offset from a device's global timer to CLOCK_MONOTONIC, learned from stamps that arrive here
/// some time after they were made. The one that arrived soonest gives the best offset. Any thread.
///
/// It is off by the smallest delay in half a second: NCCL looks at its channels every few
/// microseconds. It is also off by the drift of the two clocks in that time (18 ppm: 9 us).
class GpuTimerOffset {
 public:
  static constexpr Nanoseconds kWindow = kNsPerSecond / 2;

  /// A stamp of the device that became known at `now`. Returns its time on CLOCK_MONOTONIC.
  Nanoseconds place(std::uint64_t gpuTime, Nanoseconds now) noexcept {
    const Nanoseconds offset = now - static_cast<Nanoseconds>(gpuTime);
    Nanoseconds since = since_.load(std::memory_order_relaxed);
    if ((since == kNsMin || now - since > kWindow) &&
        since_.compare_exchange_strong(since, now, std::memory_order_relaxed)) {
      const bool isRecent = since != kNsMin && now - since <= 2 * kWindow;
      const Nanoseconds last = current_.exchange(offset, std::memory_order_relaxed);
      before_.store(isRecent ? last : kNsMax, std::memory_order_relaxed);
    }
    Nanoseconds least = current_.load(std::memory_order_relaxed);
    while (offset < least &&
           !current_.compare_exchange_weak(least, offset, std::memory_order_relaxed)) {
    }
    least = offset < least ? offset : least;
    const Nanoseconds before = before_.load(std::memory_order_relaxed);
    return static_cast<Nanoseconds>(gpuTime) + (before < least ? before : least);
  }

 private:
  std::atomic<Nanoseconds> since_ = kNsMin;  // the current window's start
  std::atomic<Nanoseconds> current_ = kNsMax;
  std::atomic<Nanoseconds> before_ = kNsMax;  // of the window before it
};

/// The data that all events of a communicator share.
struct NcclCommunicator {
  std::uint64_t id = 0;
  int ranks = 0;
  int rank = 0;
  GpuTimerOffset timer;
};

/// One collective or point-to-point operation of NCCL on this rank. Times are CLOCK_MONOTONIC, ns.
struct NcclOperation {
  std::array<char, 24> function{};  ///< NCCL's name: "AllReduce", "Send"
  std::array<char, 16> algorithm{};
  std::array<char, 16> protocol{};
  std::uint64_t communicator = 0;
  int ranks = 0;  ///< of the communicator
  std::int64_t sequence = kNotGiven;
  std::int64_t bytes = kNotGiven;  ///< the call's count times the size of its type
  std::int32_t peer = kNotGiven;   ///< rank in the communicator
  std::int64_t job = kNotGiven;    ///< the compute job that was open when it was called
  Nanoseconds called = 0;
  Nanoseconds queued = 0;  ///< when its kernel was queued on the device
  /// When its kernel ran, over all channels; 0: not known.
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

/// The events that NCCL reports, in a fixed pool of slots that are overwritten in turn. A handle is
/// the number of its event and never an address. So calls that come late, for a slot that holds
/// another event by then, are recognized. Any thread, but for take(). A call waits only for the few
/// ns that another thread is in the same slot; nothing allocates.
class NcclEvents {
 public:
  using Handle = std::uint64_t;  ///< 0: no event
  /// How long an operation waits for the times of its kernel's channels.
  static constexpr Nanoseconds kPatience = 2 * kNsPerSecond;

  /// `slots`: a power of two. `kernelChannels`: operations wait for their channels.
  explicit NcclEvents(std::size_t slots, bool kernelChannels = false);

  /// `job`: the compute job that is open now, `now` on CLOCK_MONOTONIC. `communicator` must
  /// outlive this. Returns 0 for a type that is not recorded.
  Handle start(NcclCommunicator& communicator, const NcclEventDescription& description,
               std::int64_t job, Nanoseconds now) noexcept;
  /// Counts once; later calls, and handles of no event, are ignored.
  void stop(Handle handle, Nanoseconds now) noexcept;
  /// A kernel channel has stopped, by the device's timer.
  void stopKernelChannel(Handle handle, std::uint64_t gpuTime, Nanoseconds now) noexcept;

  /// One thread: appends the operations that are complete, each once. `all`: those that still wait
  /// for their channels as well.
  void take(Nanoseconds now, bool all, std::vector<NcclOperation>& out);

  /// Operations that were overwritten before they were taken, or found no slot.
  std::int64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  /// Calls for events that were overwritten, or never were.
  std::int64_t strays() const { return strays_.load(std::memory_order_relaxed); }

 private:
  enum class Kind : std::uint8_t { kNone, kCall, kOperation, kChannel };
  enum class Phase : std::uint8_t { kOpen, kStopped, kTaken };
  struct Slot {
    std::atomic<bool> busy = false;  // guards the rest
    Kind kind = Kind::kNone;
    Phase phase = Phase::kOpen;
    std::uint8_t channels = 0;  // that an operation's kernel has
    std::uint8_t channelsStopped = 0;
    Handle number = 0;
    Handle parent = 0;
    NcclCommunicator* communicator = nullptr;
    NcclOperation operation;
  };
  class Held;

  static Kind kindOf(std::uint64_t type) noexcept;
  Held hold(Handle handle) noexcept;
  Held claim(Handle number) noexcept;
  void describe(Slot& slot, const NcclEventDescription& description) noexcept;
  void inherit(NcclOperation& operation, Handle call) noexcept;
  void extend(Handle operation, Nanoseconds begin, Nanoseconds end, bool stopped) noexcept;
  bool takeOne(Handle number, Nanoseconds now, bool all, std::vector<NcclOperation>& out);
  Slot& slotOf(Handle number) const noexcept { return slots_[number & mask_]; }
  void stray() noexcept { strays_.fetch_add(1, std::memory_order_relaxed); }
  void lose() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }

  const std::size_t mask_;
  const bool kernelChannels_;
  const std::unique_ptr<Slot[]> slots_;
  std::atomic<Handle> last_ = 0;
  Handle oldest_ = 1;  // take(): no operation before it waits
  std::atomic<std::int64_t> lost_ = 0;
  std::atomic<std::int64_t> strays_ = 0;
};

}  // namespace pipetrace
