#include "parser/device_time/job_arguments.h"

#include <array>

#include "trace/device_arguments.h"

namespace pipetrace {
namespace {

namespace keys = device_arguments;

Argument integer(std::string_view key, std::int64_t value, Timeline& timeline) {
  return Argument::ofInteger(timeline.strings.intern(key), value);
}

void setTimes(Event& job, const DeviceTimes& times, Timeline& timeline) {
  moveFromAnnotation(job, times.begin, times.end, timeline);
  timeline.addArguments(job, std::array{integer(keys::kKernels, times.kernels, timeline),
                                        integer(keys::kDeviceBusy, times.busy, timeline),
                                        integer(keys::kCommInside, times.commInside, timeline)});
}

}  // namespace

void moveFromAnnotation(Event& event, Nanoseconds begin, Nanoseconds end, Timeline& timeline) {
  timeline.addArguments(event, std::array{integer(keys::kHostBegin, event.begin, timeline),
                                          integer(keys::kHostEnd, event.end, timeline)});
  event.begin = begin;
  event.end = end;
}

std::int64_t setDeviceTimes(std::span<Event> jobs, const DeviceJobs& device, Timeline& timeline) {
  std::int64_t without = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    if (device.hasWork(number)) {
      setTimes(jobs[i], device.timesOf(number), timeline);
    } else {
      markHostTimes(jobs[i], timeline);
      without += loadsData(jobs[i].kind) ? 0 : 1;
    }
    if (const std::int64_t untimed = device.untimedOf(number); untimed > 0) {
      timeline.addArguments(jobs[i], std::array{integer(keys::kUntimed, untimed, timeline)});
    }
  }
  return without;
}

void markHostTimes(Event& job, Timeline& timeline) {
  timeline.addArguments(job,
                        std::array{Argument::ofText(timeline.strings.intern(keys::kTime),
                                                    timeline.strings.intern(keys::kTimeOfHost))});
}

}  // namespace pipetrace
