#include "parser/foreign/kineto/device_lanes.h"

#include <vector>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

bool isWork(KinetoCategory category) {
  return category == KinetoCategory::kKernel || category == KinetoCategory::kCopy;
}

void learnDevices(std::span<ForeignTrace::Lane* const> lanes, const KinetoWords& words,
                  Launches& launches) {
  for (const ForeignTrace::Lane* lane : lanes) {
    for (const Event& event : lane->thread->events) {
      if (!isWork(words.categoryOf(event))) continue;
      if (const auto correlation = words.numbersOf(event).correlation) {
        launches.learnDevice(*correlation, static_cast<std::uint32_t>(lane->process));
      }
    }
  }
}

LaunchFindings findJobs(ForeignTrace::Lane& lane, const KinetoWords& words,
                        const Launches& launches) {
  LaunchFindings findings;
  std::vector<StreamWork> stream;
  std::vector<LaunchedBy> launched;
  for (Event& event : lane.thread->events) {
    if (!isWork(words.categoryOf(event))) continue;
    LaunchedBy& by = launched.emplace_back();
    if (const auto correlation = words.numbersOf(event).correlation) {
      by = launches.find(*correlation, event.begin, static_cast<std::uint32_t>(lane.process));
    }
    event.job = by.job;
    stream.push_back({.event = &event, .launch = by.launch});
  }
  findings.faults = correctStream(stream);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (stream[i].hasNoTime) {
      if (launched[i].job >= 0) findings.jobsWithoutTime.push_back(launched[i].job);
      continue;
    }
    findings.beforeLaunch += launched[i].isBeforeLaunch ? 1 : 0;
    if (!words.isCommunication(*stream[i].event)) ++findings[launched[i].origin];
  }
  removeWithoutTime(stream, lane.thread->events);
  return findings;
}

}  // namespace

LaunchFindings readWork(std::span<ForeignTrace::Lane* const> lanes, const KinetoWords& words,
                        Launches& launches, int threads, DeviceJobs& jobs) {
  if (launches.hasRepeats()) learnDevices(lanes, words, launches);
  std::vector<LaunchFindings> ofLanes(lanes.size());
  inParallel(threads, lanes.size(),
             [&](std::size_t i) { ofLanes[i] = findJobs(*lanes[i], words, launches); });
  LaunchFindings findings;
  std::vector<DeviceJobs::Work> stream;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    findings += ofLanes[i];
    for (const std::int32_t job : ofLanes[i].jobsWithoutTime) jobs.addUntimed(job);
    stream.clear();
    for (const Event& event : lanes[i]->thread->events) {
      const KinetoCategory category = words.categoryOf(event);
      if (!isWork(category)) continue;
      stream.push_back({.job = static_cast<std::int32_t>(event.job),
                        .begin = event.begin,
                        .end = event.end,
                        .isKernel = category == KinetoCategory::kKernel,
                        .isCommunication = words.isCommunication(event)});
    }
    jobs.addStream(stream);
  }
  return findings;
}

}  // namespace pipetrace
