#include "parser/sqlite/nsys_jobs.h"

#include <algorithm>
#include <set>

#include "parser/device_time/device_jobs.h"
#include "parser/device_time/job_arguments.h"
#include "parser/device_time/launch_findings.h"

namespace pipetrace {
namespace {

bool isKernel(const Event& event) {
  return event.kind == JobKind::kKernel || isCollective(event.kind);
}

bool isCommunication(const Event& event, const Timeline& timeline) {
  return isCollective(event.kind) || isCommunicationName(timeline.strings[event.name]);
}

}  // namespace

/// The jobs of all processes, by their numbers.
struct NsysJobs::Jobs {
  HostJobs host;
  std::vector<Event> events;
  std::vector<std::int64_t> processes;
  std::set<std::uint32_t> threads;  // with a job
};

std::int64_t NsysJobs::launchOf(std::int64_t process, std::int64_t correlation) {
  return (process << 32) | (correlation & 0xffffffff);
}

std::uint32_t NsysJobs::threadNumber(std::int64_t thread) {
  return threads_.try_emplace(thread, static_cast<std::uint32_t>(threads_.size())).first->second;
}

void NsysJobs::addLaunch(std::int64_t process, std::int64_t thread, std::int64_t correlation,
                         Nanoseconds time) {
  launches_.push_back({.time = time,
                       .correlation = launchOf(process, correlation),
                       .thread = threadNumber(thread),
                       .process = processNumber(process)});
}

bool NsysJobs::isWork(const Event& event) {
  return isKernel(event) || event.kind == JobKind::kCopy;
}

NsysJobs::Jobs NsysJobs::takeRanges(Lanes& lanes, Timeline& timeline) {
  Jobs jobs;
  for (const auto& [lane, thread] : rangeLanes_) {
    std::vector<Event>& ranges = lanes[lane];
    std::stable_sort(ranges.begin(), ranges.end(), outerComesFirst);
    Nanoseconds jobEnd = kNsMin;
    std::vector<Event> others;
    for (Event& range : ranges) {
      const bool isJob = isComputeLane(range.kind);
      if (!isJob || range.begin < jobEnd) {
        if (isJob) range.kind = JobKind::kOther;  // part of the job around it
        others.push_back(range);
        continue;
      }
      jobEnd = range.end;
      const std::uint32_t number = threadNumber(thread);
      range.job = jobs.host.add({.begin = range.begin,
                                 .end = range.end,
                                 .thread = number,
                                 .process = processNumber(lane.first),
                                 .kind = range.kind,
                                 .stage = range.stage,
                                 .microBatch = range.microBatch});
      jobs.threads.insert(number);
      jobs.events.push_back(range);
      jobs.processes.push_back(lane.first);
      Event& image = lanes[{lane.first, std::string(kHostLane)}].emplace_back(range);
      image.kind = JobKind::kOther;
      if (image.name == 0) image.name = timeline.strings.intern(logName(range.kind));
    }
    ranges = std::move(others);
  }
  return jobs;
}

void NsysJobs::place(Lanes& lanes, JobTime time, const std::string& file, Timeline& timeline,
                     Diagnostics& diagnostics) {
  std::vector<std::vector<Event>*> work;
  std::vector<std::int64_t> processes;  // of these
  for (auto& [lane, events] : lanes) {
    if (rangeLanes_.contains(lane)) continue;
    work.push_back(&events);
    processes.push_back(lane.first);
  }
  const auto forget = [&] {
    for (std::vector<Event>* lane : work) {
      for (Event& event : *lane) event.job = kNotGiven;
    }
  };
  const bool hasJobs = std::any_of(rangeLanes_.begin(), rangeLanes_.end(), [&](const auto& lane) {
    const auto& ranges = lanes[lane.first];
    return std::any_of(ranges.begin(), ranges.end(),
                       [](const Event& range) { return isComputeLane(range.kind); });
  });
  if (!hasJobs || time == JobTime::kHost) return forget();
  if (work.empty()) {
    if (time == JobTime::kDevice) reportNoDevice(file, diagnostics);
    return;
  }
  if (launches_.empty()) {
    reportNoLaunches(0, 0, "CUPTI_ACTIVITY_KIND_RUNTIME",
                     "record with nsys profile --trace=cuda,nvtx (docs/inputs/nsight.md)", file,
                     diagnostics);
    return forget();
  }
  Jobs jobs = takeRanges(lanes, timeline);
  for (Launch& launch : launches_) launch.isByAutograd = !jobs.threads.contains(launch.thread);
  const Launches launches(jobs.host, std::move(launches_));
  DeviceJobs device(jobs.events.size());
  LaunchFindings findings;
  std::vector<DeviceJobs::Work> stream;
  std::vector<StreamWork> pieces;
  std::vector<LaunchedBy> launched;
  for (std::size_t lane = 0; lane < work.size(); ++lane) {
    stream.clear();
    pieces.clear();
    launched.clear();
    for (Event& event : *work[lane]) {
      if (!isWork(event)) continue;
      const LaunchedBy& by = launched.emplace_back(launches.find(event.job, event.begin, 0));
      event.job = by.job;
      pieces.push_back({.event = &event, .launch = by.launch});
    }
    faults_[processes[lane]] += correctStream(pieces);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].hasNoTime) {
        if (launched[i].job >= 0) device.addUntimed(launched[i].job);
        continue;
      }
      const Event& event = *pieces[i].event;
      const bool communicates = isCommunication(event, timeline);
      findings.beforeLaunch += launched[i].isBeforeLaunch ? 1 : 0;
      if (!communicates) ++findings[launched[i].origin];
      stream.push_back({.job = launched[i].job,
                        .begin = event.begin,
                        .end = event.end,
                        .isKernel = isKernel(event),
                        .isCommunication = communicates});
    }
    device.addStream(stream);
    removeWithoutTime(pieces, *work[lane]);
  }
  findings.jobsWithoutWork = setDeviceTimes(jobs.events, device, timeline);
  for (std::size_t i = 0; i < jobs.events.size(); ++i) {
    lanes[{jobs.processes[i], std::string(kComputeLane)}].push_back(jobs.events[i]);
  }
  reportLaunches(findings, file, diagnostics);
}

}  // namespace pipetrace
