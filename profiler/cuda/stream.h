#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "profiler/clock/host_clock.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/cuda/device.h"
#include "profiler/cuda/event_pool.h"
#include "profiler/cuda/known_jobs.h"
#include "profiler/device_stream.h"
#include "profiler/ring/spsc_ring.h"

namespace pipetrace {

struct CudaStreamOptions {
  /// Events made beforehand. Half as many jobs can be queued on the device, or be finished and not
  /// yet asked for. CUDA itself queues about a thousand launches.
  std::size_t events = 4096;
  /// A job that begins at most this long after the end of the one before it shares that end as its
  /// start: nobody queues anything in less time. Both must be on the same thread; the host's clock
  /// counts. Idle time of the device in between is not seen. 0: never.
  Nanoseconds shareWithin = 400;
  WallClock clock = WallClock::read();
};

/// Counts of what has happened while a CUDA stream was recorded.
struct CudaStreamCounts {
  std::int64_t records = 0;    ///< event records, on the recording thread
  std::int64_t shared = 0;     ///< starts that took over the end before them
  std::int64_t exhausted = 0;  ///< marks that found all events in use, or no room
  std::int64_t captured = 0;   ///< marks while the stream's work went into a graph
  std::int64_t refused = 0;    ///< event records that the CUDA runtime refused
  std::int64_t lost = 0;       ///< marks whose time will never be known, for any reason
  Nanoseconds worstBound = 0;  ///< of all times resolved so far
};

/// A CUDA stream: marks are events recorded on it, from a pool made beforehand. A job costs two
/// event records, or one if it follows directly on another. Recording never synchronises with the
/// program's streams and threads.
///
/// Marks are the host's time at the call. Reading that clock costs time. So where
/// CudaStreamOptions::shareWithin was too short for 32 jobs in a row, it is read for every 32nd end
/// only. The mark of another end is that of its start, plus one, and the next job does not share
/// it.
///
/// A job that begins or ends while the stream is being captured into a graph is lost, and the graph
/// is as it would be without recording. Begin and end a job around the launch of the graph instead.
/// A job is lost, too, if the pool is exhausted or the runtime refuses. After several refusals in a
/// row (the device was reset, a kernel crashed) the runtime is not asked again.
///
/// Threads: mark(), markStart() and separate() on the one that queues work on the stream; poll()
/// and resolve() on the recorder's log thread. All streams of a CudaDevice must have the same log
/// thread.
class CudaStream final : public DeviceStream {
 public:
  /// Throws Error if the events cannot be made. `stream` must outlive this.
  CudaStream(std::shared_ptr<CudaDevice> device, CudaApi::Stream stream,
             const CudaStreamOptions& options = {});
  ~CudaStream() override;

  bool marksTicks() const noexcept override { return ticks_ != nullptr; }
  bool isAsynchronous() const noexcept override { return true; }
  std::string gpuUuid() override;
  void useClock(const HostClock& clock) noexcept override;

  Mark mark() noexcept override;
  Mark markStart() noexcept override;
  /// Says that something was queued on the stream since the last job ended (a wait for another
  /// stream, say) that is no part of the next job. So the next start is not shared. Only needed
  /// where that can happen within CudaStreamOptions::shareWithin.
  void separate() noexcept { shareUntil_ = 0; }

  void poll(bool hurry) noexcept override;
  bool resolve(Mark mark, Nanoseconds& time) noexcept override;
  /// The same, with how far the time can be off from the host's clock.
  bool resolve(Mark mark, BoundedTime& time) noexcept;

  /// Any thread; exact when nobody records.
  CudaStreamCounts counts() const noexcept;

 private:
  using Count = std::atomic<std::int64_t>;
  static constexpr EventPool::Index kShared = EventPool::kNone - 1;

  /// A job on its way to the log thread.
  struct Queued {
    Mark start = 0;
    Mark end = 0;
    EventPool::Index startEvent = EventPool::kNone;  // kNone: not recorded; kShared: the end before
    EventPool::Index endEvent = EventPool::kNone;
  };
  static constexpr BoundedTime kUnknown{.time = kLost};  // it will never be known

  static void add(Count& count, std::int64_t n = 1) noexcept {
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  Mark newMark() noexcept;
  Mark slowNow() noexcept;
  EventPool::Index record() noexcept;
  void lose() noexcept;
  bool isOwnEnd() noexcept;
  EventPool::Index refused(CudaApi::Status status) noexcept;

  bool isFinished(const Queued& job) noexcept;
  void time(const Queued& job) noexcept;
  bool timeAfterLastEnd(const Queued& job, BoundedTime& start, BoundedTime& end) noexcept;
  bool timeOwnStart(const Queued& job, BoundedTime& start, const BoundedTime& end) noexcept;
  void keepJob(const Queued& job, const BoundedTime& start, const BoundedTime& end);
  void fail() noexcept;
  void giveUp() noexcept;
  bool isOnItsWay(Mark mark) noexcept;

  const std::shared_ptr<CudaDevice> device_;
  const WallClock clock_;
  const HostClock* ticks_ = nullptr;

  // The recording thread's.
  alignas(64) CudaApi& api_;
  const CudaApi::Stream stream_;
  Mark shareWithin_;
  Mark lastMark_ = 0;
  Mark shareUntil_ = 0;  // a start up to then takes over the last end
  const void* endedBy_ = nullptr;
  int refusals_ = 0;
  std::atomic<bool> isDead_ = false;
  bool readsTsc_ = false;
  bool isLost_ = false;     // the open job found no room
  std::uint32_t late_ = 0;  // starts in a row that shared nothing
  Count shared_ = 0;
  Count exhausted_ = 0;
  Count captured_ = 0;
  Count refused_ = 0;
  SpscRing<Queued> queued_;
  std::optional<EventPool> pool_;

  // The log thread's.
  alignas(64) BoundedTime lastEnd_ = kUnknown;
  EventPool::Index lastEndEvent_ = EventPool::kNone;
  KnownJobs known_;
  Nanoseconds newest_ = kNsMin;  // by the device's clock, of all known
  int failures_ = 0;
  bool saidSo_ = false;
  Nanoseconds lastTime_ = kNsMin;
  Count lost_ = 0;
  std::atomic<Nanoseconds> worstBound_ = 0;
};

}  // namespace pipetrace
