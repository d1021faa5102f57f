#pragma once

#include <cstdint>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/kineto/device_lanes.h"

namespace pipetrace {

/// The outcome of giving work on devices to jobs.
struct LaunchFindings {
  LaunchCounts counts;
  std::int64_t jobsWithoutWork = 0;
};

/// Adds what people should know of it to the trace's diagnostics.
void reportLaunches(const LaunchFindings& findings, const ForeignTrace& trace);

/// For a trace without launches: `moved` of its jobs have the times of their images on the device.
void reportNoLaunches(std::int64_t moved, std::int64_t jobs, const ForeignTrace& trace);

/// The user asked for device times, and the trace has no work on a device.
void reportNoDevice(const ForeignTrace& trace);

/// The trace has messages between ranks, and no compute job.
void reportNoJobs(const ForeignTrace& trace);

}  // namespace pipetrace
