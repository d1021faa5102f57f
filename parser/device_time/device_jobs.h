#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/nanoseconds.h"
#include "trace/timeline.h"

namespace pipetrace {

/// When a job ran on its device. Times are those of the device's events.
struct DeviceTimes {
  Nanoseconds begin = 0;       ///< first start of its work on compute streams
  Nanoseconds end = 0;         ///< last end of it
  std::int64_t kernels = 0;    ///< the number of its kernels
  Nanoseconds busy = 0;        ///< the union of its work on compute streams
  Nanoseconds commInside = 0;  ///< the part of the rest in which a collective of the job ran

  /// Neither work nor a collective: the device waited for the host.
  Nanoseconds launchBound() const { return end - begin - busy - commInside; }
};

/// Gathers the work of jobs on their devices.
class DeviceJobs {
 public:
  explicit DeviceJobs(std::size_t jobs) : jobs_(jobs) {}

  /// Communication counts for commInside only.
  struct Work {
    std::int32_t job = -1;  ///< that launched it; below 0: none
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    bool isKernel = false;
    bool isCommunication = false;
  };

  /// Adds all work of one stream, also that of no job. It is a compute stream if it has a kernel
  /// that is no communication.
  void addStream(std::span<const Work> stream);

  /// Notes work of a job whose time nobody knows.
  void addUntimed(std::int32_t job) { ++jobs_[static_cast<std::size_t>(job)].untimed; }
  std::int64_t untimedOf(std::int32_t job) const {
    return jobs_[static_cast<std::size_t>(job)].untimed;
  }

  /// Whether the job had any work but communication.
  bool hasWork(std::int32_t job) const;

  /// The job must have work. A job with work on other streams only has the times of that.
  DeviceTimes timesOf(std::int32_t job) const;

 private:
  using Interval = std::pair<Nanoseconds, Nanoseconds>;
  struct Job {
    std::vector<Interval> work;
    std::vector<Interval> copies;  // on streams without a kernel
    std::vector<Interval> communication;
    std::int64_t kernels = 0;
    std::int64_t untimed = 0;
  };
  std::vector<Job> jobs_;
};

/// Moves jobs from the times of their annotations to those of their work on devices. The
/// annotations' times, and what the devices say of the jobs, become arguments
/// (trace/event_arguments.h). Jobs without work stay and are marked. Job i of `jobs` is job i of
/// `device`. Returns how many had no work; loading data
/// is none of a device.
std::int64_t setDeviceTimes(std::span<Event> jobs, const DeviceJobs& device, Timeline& timeline);

/// Moves an event from the times of its annotation, which become arguments.
void moveFromAnnotation(Event& event, Nanoseconds begin, Nanoseconds end, Timeline& timeline);

/// Marks a job that keeps the times of its annotation, as it had no work of its own.
void markHostTimes(Event& job, Timeline& timeline);

}  // namespace pipetrace
