#include "parser/device_time/device_jobs.h"

#include <algorithm>
#include <array>

#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

namespace keys = device_arguments;

using Interval = std::pair<Nanoseconds, Nanoseconds>;

/// The intervals in order, those that touch made one.
std::vector<Interval> merged(std::vector<Interval> list) {
  std::sort(list.begin(), list.end());
  std::vector<Interval> out;
  for (const Interval& next : list) {
    if (out.empty() || next.first > out.back().second) {
      out.push_back(next);
    } else {
      out.back().second = std::max(out.back().second, next.second);
    }
  }
  return out;
}

Nanoseconds lengthOf(const std::vector<Interval>& list) {
  Nanoseconds sum = 0;
  for (const Interval& each : list) sum += each.second - each.first;
  return sum;
}

/// The length of the parts that two merged lists have in common.
Nanoseconds lengthOfBoth(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  Nanoseconds sum = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    sum += std::max<Nanoseconds>(0, std::min(i->second, j->second) - std::max(i->first, j->first));
    i->second < j->second ? ++i : ++j;
  }
  return sum;
}

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

void DeviceJobs::addStream(std::span<const Work> stream) {
  const bool computes = std::any_of(stream.begin(), stream.end(), [](const Work& work) {
    return work.isKernel && !work.isCommunication;
  });
  for (const Work& work : stream) {
    if (work.job < 0) continue;
    Job& to = jobs_[static_cast<std::size_t>(work.job)];
    const Interval interval(work.begin, work.end);
    if (work.isCommunication) {
      to.communication.push_back(interval);
      continue;
    }
    to.kernels += work.isKernel ? 1 : 0;
    (computes ? to.work : to.copies).push_back(interval);
  }
}

bool DeviceJobs::hasWork(std::int32_t job) const {
  const Job& of = jobs_[static_cast<std::size_t>(job)];
  return !of.work.empty() || !of.copies.empty();
}

DeviceTimes DeviceJobs::timesOf(std::int32_t job) const {
  const Job& of = jobs_[static_cast<std::size_t>(job)];
  const std::vector<Interval> work = merged(of.work.empty() ? of.copies : of.work);
  DeviceTimes times{.begin = work.front().first, .end = work.back().second, .kernels = of.kernels};
  times.busy = lengthOf(work);
  std::vector<Interval> communication = of.communication;
  for (Interval& each : communication) {
    each.first = std::clamp(each.first, times.begin, times.end);
    each.second = std::clamp(each.second, times.begin, times.end);
  }
  communication = merged(std::move(communication));
  times.commInside = lengthOf(communication) - lengthOfBoth(communication, work);
  return times;
}

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
