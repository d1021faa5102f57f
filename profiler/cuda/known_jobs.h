#pragma once

#include <cstddef>
#include <vector>

#include "profiler/cuda/clock.h"
#include "profiler/device_stream.h"

namespace pipetrace {

/// A job of a device whose work is done, and when that was by the device's clock.
struct KnownJob {
  DeviceStream::Mark start = 0;
  DeviceStream::Mark end = 0;
  BoundedTime startTime;
  BoundedTime endTime;
};

/// Those jobs of one stream until their times are asked for, which happens in order, a job's start
/// before its end. Marks only grow. Not thread-safe.
class KnownJobs {
 public:
  /// Jobs that a full ring dropped are never asked for, and go when a later one is; the oldest of
  /// more than that many go at once.
  static constexpr std::size_t kMost = std::size_t{1} << 17;

  void add(const KnownJob& job) {
    if (size() == kMost) ++first_;
    // The places of those that were asked for, again and again, and no memory but at the start.
    if (first_ == jobs_.size()) {
      jobs_.clear();
      first_ = 0;
    } else if (jobs_.size() == jobs_.capacity() && first_ > jobs_.size() / 2) {
      jobs_.erase(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    jobs_.push_back(job);
  }

  /// The time of a mark; null: it is of no job that is here. Earlier jobs are forgotten.
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
