#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "profiler/device_stream.h"
#include "profiler/job.h"
#include "profiler/spsc_ring.h"

namespace pipetrace {

/// A finished job on its way to the log thread.
struct JobRecord {
  Job job;
  DeviceStream::Mark begin = 0;
  DeviceStream::Mark end = 0;
};

/// The recording side of one stream of a recorder: stamps its jobs and queues them. begin() and
/// end() belong to the thread that records the stream, `ring`'s consumer side to the log thread;
/// the counts may be read from anywhere.
class Lane {
 public:
  Lane(std::string name, std::unique_ptr<DeviceStream> stream, std::size_t slots)
      : name_(std::move(name)), stream_(std::move(stream)), ring_(slots) {}

  const std::string& name() const { return name_; }
  DeviceStream& stream() { return *stream_; }
  SpscRing<JobRecord>& ring() { return ring_; }

  void begin(const Job& job) noexcept;
  void end(std::int64_t bytes) noexcept;

  /// Jobs that found the ring full.
  std::int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  /// Calls out of turn, a job left open included.
  std::int64_t misuses() const;
  /// Time that begin() and end() took: one call in 64 is timed, and stands for the others.
  Nanoseconds ownCost() const;

 private:
  class Stopwatch;
  using Count = std::atomic<std::int64_t>;

  // Only the recording thread writes the counts, so no read-modify-write is needed.
  static void add(Count& count, std::int64_t n) noexcept {
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  const std::string name_;
  const std::unique_ptr<DeviceStream> stream_;
  JobRecord open_;
  std::atomic<bool> isOpen_ = false;
  Count dropped_ = 0;
  Count misuses_ = 0;
  Count calls_ = 0;
  Count timedCalls_ = 0;
  Count timedNs_ = 0;
  SpscRing<JobRecord> ring_;
};

}  // namespace pipetrace
