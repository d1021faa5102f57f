#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "parser/device_time/host_jobs.h"

namespace pipetrace {

/// A call of the host that put work on a device.
struct Launch {
  Nanoseconds time = 0;          ///< its begin
  std::int64_t correlation = 0;  ///< the work on the device has the same
  std::uint32_t thread = 0;
  std::uint32_t process = 0;
  bool isByAutograd = false;  ///< on a thread that runs autograd's engine
  /// For one by autograd: the job with the forward operator that it is the backward of, or kNone.
  std::int32_t forwardJob = HostJobs::kNone;
};

/// Why work on a device belongs to a job, or to none.
enum class LaunchOrigin : std::uint8_t {
  kJob,        ///< its launch lies in the job, on the job's thread
  kAutograd,   ///< autograd launched it for the one backward pass that can be meant
  kOutside,    ///< launched while no job was open on the thread
  kUndecided,  ///< autograd launched it while several backward passes were open
  kNoLaunch,   ///< the trace holds no launch with its correlation
  kCount,
};

/// The job that work on a device belongs to.
struct LaunchedBy {
  std::int32_t job = HostJobs::kNone;
  LaunchOrigin origin = LaunchOrigin::kNoLaunch;
  bool isBeforeLaunch = false;  ///< the work began before its launch: the clocks do not agree
  const Launch* launch = nullptr;
};

/// Finds the launches of work on devices. A launch may have much work (a graph), or none.
class Launches {
 public:
  /// `jobs` must outlive it. Jobs are those of the launches' threads.
  Launches(const HostJobs& jobs, std::vector<Launch> launches);

  bool empty() const { return launches_.empty(); }

  /// The launch of work that began at `begin` on `device`. Where a correlation was used several
  /// times, those of a process that works on the device come first, and among them the last before
  /// `begin`.
  LaunchedBy find(std::int64_t correlation, Nanoseconds begin, std::uint32_t device) const;

  /// Notes which processes work on which devices, from work whose correlation was used once. Call
  /// it for all work before find(); needed only where a correlation was used several times.
  void learnDevice(std::int64_t correlation, std::uint32_t device);
  bool hasRepeats() const { return hasRepeats_; }

 private:
  struct Use {
    std::uint32_t process = 0;
    std::uint32_t device = 0;
    auto operator<=>(const Use&) const = default;
  };

  LaunchedBy jobOf(const Launch& launch) const;
  std::span<const Launch> ofCorrelation(std::int64_t correlation) const;
  bool isKnown(const Use& use) const;

  const HostJobs& jobs_;
  std::vector<Launch> launches_;  // by correlation, then time
  bool hasRepeats_ = false;
  std::vector<Use> uses_;
};

}  // namespace pipetrace
