#pragma once

#include <cstddef>
#include <vector>

#include "profiler/cuda/clock.h"
#include "profiler/device_stream.h"

namespace pipetrace {

/// A job that a device has finished, and its times by the device's clock.
struct KnownJob {
  DeviceStream::Mark start = 0;
  DeviceStream::Mark end = 0;
  BoundedTime startTime;
  BoundedTime endTime;
};

/// Keeps those jobs of one stream until their times are asked for. That happens in order, a job's
/// start before its end. Marks only grow. Not thread-safe.
class KnownJobs {
 public:
  /// Jobs that a full ring dropped are never asked for. They are forgotten when a later one is
  /// asked for; when there are more than this many, the oldest is forgotten at once.
  static constexpr std::size_t kMost = std::size_t{1} << 17;

  void add(const KnownJob& job) {
    if (size() == kMost) ++first_;
    // Reuses the places of forgotten jobs, so that memory is only taken at the start.
    if (first_ == jobs_.size()) {
      jobs_.clear();
      first_ = 0;
    } else if (jobs_.size() == jobs_.capacity() && first_ > jobs_.size() / 2) {
      jobs_.erase(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    jobs_.push_back(job);
  }

  /// The time of a mark; null: no job here has it. Forgets earlier jobs.
  const BoundedTime* find(DeviceStream::Mark mark) noexcept {
    while (first_ < jobs_.size() && jobs_[first_].end < mark) ++first_;
    if (first_ == jobs_.size()) return nullptr;
    const KnownJob& job = jobs_[first_];
    if (job.start == mark) return &job.startTime;
    return job.end == mark ? &job.endTime : nullptr;
  }

  std::size_t size() const { return jobs_.size() - first_; }

 private:
  std::vector<KnownJob> jobs_;
  std::size_t first_ = 0;
};

}  // namespace pipetrace
