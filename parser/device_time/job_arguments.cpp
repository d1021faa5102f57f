#include "parser/device_time/job_arguments.h"

#include <initializer_list>
#include <vector>

#include "trace/device_arguments.h"

namespace pipetrace {
namespace {

namespace keys = device_arguments;

void addArguments(Event& event, std::initializer_list<Argument> more, Timeline& timeline) {
  const auto old = timeline.argumentsOf(event);
  std::vector<Argument> all(old.begin(), old.end());
  all.insert(all.end(), more);
  timeline.setArguments(event, all);
}

Argument integer(std::string_view key, std::int64_t value, Timeline& timeline) {
  return Argument::ofInteger(timeline.strings.intern(key), value);
}

}  // namespace

void setDeviceSpan(Event& job, Nanoseconds begin, Nanoseconds end, Timeline& timeline) {
  addArguments(
      job,
      {integer(keys::kHostBegin, job.begin, timeline), integer(keys::kHostEnd, job.end, timeline)},
      timeline);
  job.begin = begin;
  job.end = end;
}

void setDeviceTimes(Event& job, const DeviceTimes& times, Timeline& timeline) {
  setDeviceSpan(job, times.begin, times.end, timeline);
  addArguments(job,
               {integer(keys::kKernels, times.kernels, timeline),
                integer(keys::kDeviceBusy, times.busy, timeline),
                integer(keys::kCommInside, times.commInside, timeline)},
               timeline);
}

void markHostTimes(Event& job, Timeline& timeline) {
  addArguments(job,
               {Argument::ofText(timeline.strings.intern(keys::kTime),
                                 timeline.strings.intern(keys::kTimeOfHost))},
               timeline);
}

}  // namespace pipetrace
