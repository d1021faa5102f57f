#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "parser/device_time/launches.h"
#include "parser/device_time/stream_times.h"
#include "parser/trace_reader.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Moves the jobs of an export of Nsight Systems, which are NVTX ranges of the host, to the times
/// at which devices ran their work. Use: the add functions, then place().
class NsysJobs {
 public:
  using Lane = std::pair<std::int64_t, std::string>;  ///< (process, name)
  using Lanes = std::map<Lane, std::vector<Event>>;

  /// A call that put work on a device. `thread`: the serialized id of its thread.
  void addLaunch(std::int64_t process, std::int64_t thread, std::int64_t correlation,
                 Nanoseconds time);

  /// The lane with the ranges of a thread.
  void addRangeLane(const Lane& lane, std::int64_t thread) { rangeLanes_[lane] = thread; }

  /// The number to put in Event::job of work on a device, until place(): its launch has the same.
  static std::int64_t launchOf(std::int64_t process, std::int64_t correlation);

  /// Replaces the launches in Event::job of the work by the numbers of jobs. Jobs are the outermost
  /// ranges of a thread whose names say a job's kind. They go to the lane `compute` of their
  /// process, with the times of their work, and as they were recorded to the lane `host`. Without
  /// work or launches, or with JobTime::kHost, they stay where they are.
  ///
  /// A thread without a job of its own is taken for autograd's: its launches belong to the backward
  /// pass that is open in its process, if there is only one.
  void place(Lanes& lanes, JobTime time, const std::string& file, Timeline& timeline,
             Diagnostics& diagnostics);

  /// Counts of times that place() found impossible in the work of a process, and corrected.
  StreamFaults faultsOf(std::int64_t process) const {
    const auto found = faults_.find(process);
    return found == faults_.end() ? StreamFaults{} : found->second;
  }

 private:
  struct Jobs;

  static bool isWork(const Event& event);
  Jobs takeRanges(Lanes& lanes, Timeline& timeline);
  std::uint32_t threadNumber(std::int64_t thread);
  static std::uint32_t processNumber(std::int64_t process) {
    return static_cast<std::uint32_t>(process);
  }

  std::vector<Launch> launches_;
  std::map<std::int64_t, std::uint32_t> threads_;
  std::map<Lane, std::int64_t> rangeLanes_;
  std::map<std::int64_t, StreamFaults> faults_;  // by process
};

}  // namespace pipetrace
