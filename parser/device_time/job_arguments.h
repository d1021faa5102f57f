#pragma once

#include <cstdint>
#include <span>

#include "parser/device_time/device_jobs.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Moves jobs from the times of their annotations to those of their work on devices. The
/// annotations' times, and what the devices say of the jobs, become arguments
/// (trace/device_arguments.h). Jobs without work stay and are marked. Job i of `jobs` is job i of
/// `device`. Returns how many had no work; loading data
/// is none of a device.
std::int64_t setDeviceTimes(std::span<Event> jobs, const DeviceJobs& device, Timeline& timeline);

/// Moves an event from the times of its annotation, which become arguments.
void moveFromAnnotation(Event& event, Nanoseconds begin, Nanoseconds end, Timeline& timeline);

/// Marks a job that keeps the times of its annotation, as it had no work of its own.
void markHostTimes(Event& job, Timeline& timeline);

}  // namespace pipetrace
