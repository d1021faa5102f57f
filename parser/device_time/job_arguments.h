#pragma once

#include "parser/device_time/device_jobs.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Moves a job from the host's times to those of its work on a device. The host's times, and what
/// the device says of the job, become arguments (trace/device_arguments.h).
void setDeviceTimes(Event& job, const DeviceTimes& times, Timeline& timeline);

/// The same where only the first start and the last end are known.
void setDeviceSpan(Event& job, Nanoseconds begin, Nanoseconds end, Timeline& timeline);

/// Marks a job that keeps the host's times, as it had no work on a device.
void markHostTimes(Event& job, Timeline& timeline);

}  // namespace pipetrace
