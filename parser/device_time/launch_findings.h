#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "parser/device_time/launches.h"
#include "parser/device_time/stream_times.h"
#include "trace/diagnostic.h"
#include "trace/strings/string_table.h"

namespace pipetrace {

/// The outcome of giving work on devices to jobs. Communication does not count.
struct LaunchFindings {
  /// How much work belongs to jobs, and why the rest does not.
  std::array<std::int64_t, static_cast<std::size_t>(LaunchOrigin::kCount)> work{};
  std::int64_t beforeLaunch = 0;  ///< work that began before its launch, communication too
  std::int64_t jobsWithoutWork = 0;
  StreamFaults faults;                        ///< of work, communication too
  std::vector<std::int32_t> jobsWithoutTime;  ///< jobs with work that has none, in any order

  std::int64_t& operator[](LaunchOrigin origin) { return work[static_cast<std::size_t>(origin)]; }
  std::int64_t operator[](LaunchOrigin origin) const {
    return work[static_cast<std::size_t>(origin)];
  }
  LaunchFindings& operator+=(const LaunchFindings& other);
};

/// Adds to the diagnostics of the input `file` what people should know of it.
void reportLaunches(const LaunchFindings& findings, const std::string& file,
                    Diagnostics& diagnostics);

/// For a trace without launches: `moved` of its jobs have the times of their images on the device.
/// `launches` names what is missing, `advice` says how to record it.
void reportNoLaunches(std::int64_t moved, std::int64_t jobs, const std::string& launches,
                      const std::string& advice, const std::string& file, Diagnostics& diagnostics);

/// The user asked for device times, and the trace has no work on a device.
void reportNoDevice(const std::string& file, Diagnostics& diagnostics);

/// The trace has messages between ranks, and no compute job. `names`: those in the trace. Where
/// they tell the program (recorded `with_stack`), the report leads to its page.
void reportNoJobs(const StringTable& names, const std::string& file, Diagnostics& diagnostics);

/// Says that the kernels of a trace are of CUDA graphs that name no job and do not tell any.
void reportGraphsWithoutJobs(const std::string& file, Diagnostics& diagnostics);

/// Says that a rank's forwards and backwards take turns inside of what lies between two messages.
void reportTurnsOfJobs(const std::string& file, Diagnostics& diagnostics);

}  // namespace pipetrace
