#include "parser/foreign/kineto/placer.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "parser/device_time/communication.h"
#include "parser/device_time/device_jobs.h"
#include "parser/device_time/exposed_collectives.h"
#include "parser/device_time/launch_findings.h"
#include "parser/device_time/launches.h"
#include "parser/device_time/ranks_in_process.h"
#include "parser/foreign/found_jobs/find_jobs.h"
#include "parser/foreign/kineto/categories.h"
#include "parser/foreign/kineto/graph_work.h"
#include "parser/foreign/kineto/host/host_collectives.h"
#include "parser/foreign/kineto/host/host_only.h"
#include "parser/foreign/kineto/host/host_threads.h"
#include "parser/foreign/kineto/host_facts.h"
#include "parser/foreign/kineto/schedule_names.h"
#include "parser/foreign/kineto_trace.h"
#include "trace/event_arguments.h"
#include "trace/log/fused_pair.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// Annotations of single stages' jobs (`PP:1F3`) inside a schedule's own (`Forward 3`, `PP:1F3`).
/// Not thread-safe.
class NestedJobs {
 public:
  /// All must outlive it.
  NestedJobs(const KinetoWords& words, ForeignNames& names, const Timeline& timeline)
      : words_(words), names_(names), timeline_(timeline) {}

  /// Whether the annotation is a job of a single stage by its name.
  bool isStageJob(const Event& annotation) const;

  /// Whether events[named[n]] is a schedule's own and has such annotations inside, which then are
  /// the jobs. `named`: the named events of a thread, in order.
  bool areInside(const std::vector<Event>& events, const std::vector<std::size_t>& named,
                 std::size_t n) const;

  /// Whether events[index] is a schedule's mark of a collective (`PP:1UNSHARD`) in which nothing is
  /// sent: torch writes it for stages without sharded weights as well. `events`: of a thread, in
  /// order.
  bool isEmptyCollective(const std::vector<Event>& events, std::size_t index) const;

  /// Gives the job the name and kind of the annotation around it, if both are of one stage and
  /// micro-batch: the schedule knows whether a backward is a half.
  void takeNameOf(const Event& around, Event& job);

 private:
  const KinetoWords& words_;
  ForeignNames& names_;
  const Timeline& timeline_;
};

bool NestedJobs::isStageJob(const Event& annotation) const {
  return isStageJobName(timeline_.strings[annotation.name]);
}

bool NestedJobs::areInside(const std::vector<Event>& events, const std::vector<std::size_t>& named,
                           std::size_t n) const {
  const Event& outer = events[named[n]];
  if (!isScheduleName(timeline_.strings[outer.name])) return false;
  for (++n; n < named.size() && events[named[n]].begin < outer.end; ++n) {
    const Event& inner = events[named[n]];
    if (inner.end > outer.end) continue;  // the next one, which begins too early by rounding
    if (words_.categoryOf(inner) == KinetoCategory::kAnnotation && isStageJob(inner)) return true;
  }
  return false;
}

bool NestedJobs::isEmptyCollective(const std::vector<Event>& events, std::size_t index) const {
  const Event& mark = events[index];
  if (!isCollective(mark.kind) || !isScheduleName(timeline_.strings[mark.name])) return false;
  for (++index; index < events.size() && events[index].begin < mark.end; ++index) {
    if (words_.isOfProcessGroup(events[index])) return false;
  }
  return true;
}

void NestedJobs::takeNameOf(const Event& around, Event& job) {
  const JobName& outer = names_.known(around.name);
  const JobName& inner = names_.known(job.name);
  if (!isStageJob(around) || outer.stage != inner.stage || outer.microBatch != inner.microBatch) {
    return;
  }
  job.name = around.name;
  job.kind = outer.kind;
}

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

/// Gives each kernel and copy on the lanes the number of its job (Event::job), and `jobs` its time.
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

/// The images of the host's annotations on devices (`gpu_user_annotation`). An image covers the
/// work that the annotation's own thread launched on one stream.
class DeviceImages {
 public:
  DeviceImages(std::span<ForeignTrace::Lane* const> deviceLanes, const KinetoWords& words);

  bool empty() const { return images_.empty(); }

  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };
  /// From the first begin to the last end of the images of an annotation: those that have its name
  /// and `External id`. Nothing where it has none.
  std::optional<Span> of(const Event& annotation, const KinetoWords& words) const;

 private:
  struct Image {
    StringId name = 0;
    std::int64_t externalId = 0;
    Span span;
  };
  std::vector<Image> images_;  // by name, then id
};

DeviceImages::DeviceImages(std::span<ForeignTrace::Lane* const> deviceLanes,
                           const KinetoWords& words) {
  for (const ForeignTrace::Lane* lane : deviceLanes) {
    for (const Event& event : lane->thread->events) {
      if (words.categoryOf(event) != KinetoCategory::kDeviceAnnotation) continue;
      const auto id = words.numbersOf(event).externalId;
      if (id) images_.push_back({event.name, *id, {event.begin, event.end}});
    }
  }
  std::sort(images_.begin(), images_.end(), [](const Image& a, const Image& b) {
    return std::tie(a.name, a.externalId) < std::tie(b.name, b.externalId);
  });
}

std::optional<DeviceImages::Span> DeviceImages::of(const Event& annotation,
                                                   const KinetoWords& words) const {
  const auto id = words.numbersOf(annotation).externalId;
  if (!id) return std::nullopt;
  const std::pair key(annotation.name, *id);
  auto at = std::partition_point(images_.begin(), images_.end(), [&](const Image& image) {
    return std::pair(image.name, image.externalId) < key;
  });
  std::optional<Span> span;
  for (; at != images_.end() && std::pair(at->name, at->externalId) == key; ++at) {
    if (!span) span = at->span;
    span->begin = std::min(span->begin, at->span.begin);
    span->end = std::max(span->end, at->span.end);
  }
  return span;
}

/// Microseconds since the epoch are exact to a quarter where a program kept them as doubles, so a
/// job may seem to begin before the one before it has ended.
constexpr Nanoseconds kRounding = kNsPerUs;

/// Collectives that jobs of the host waited for.
constexpr std::string_view kHostCollectivesLane = "collectives";

std::string_view withoutBlanksAtEnd(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

class KinetoPlacer {
 public:
  explicit KinetoPlacer(ForeignTrace& trace)
      : trace_(trace),
        timeline_(trace.timeline),
        info_(trace.kineto),
        names_(trace.names),
        words_(trace, names_),
        steps_(trace, words_),
        nested_(words_, names_, trace.timeline) {}

  void place() {
    rank_ = info_.rank.value_or(trace_.onlyRank());
    ranks_ = RanksInProcess(rank_);
    nameLanes();
    splitLanes();
    nameProcess();
    readHost();
    if (!hasComputeJob() && isDeviceTimeAllowed()) takeGraphJobs();
    if (words_.hasMessages() && !hasComputeJob()) {
      reportNoJobs(timeline_.strings, trace_.file, trace_.diagnostics);
    } else if (!hasComputeJob() && hasGraphKernels_) {
      reportGraphsWithoutJobs(trace_.file, trace_.diagnostics);
    }
    if (!jobs_.empty() && wantsDeviceTime()) setJobTimes();
    if (devices_.empty() && isDeviceTimeAllowed()) placeWithoutDevice();
    describeDeviceEvents();
    if (isDeviceTimeAllowed()) moveCommunication();
    findRanks();
    for (auto& [name, events] : made_) addLanes(name, std::move(events));
    append(loads_, jobs_);
    addLanes(kComputeLane, std::move(jobs_));
    std::erase_if(trace_.lanes, [](const auto& lane) { return lane.thread->events.empty(); });
  }

 private:
  using Lanes = std::span<ForeignTrace::Lane* const>;

  void nameLanes() {
    std::set<std::size_t> devices;
    for (const ForeignTrace::Lane& lane : trace_.lanes) {
      if (words_.isDevice(lane)) devices.insert(lane.process);
    }
    RankInfo& info = timeline_.ranks[rank_];
    info.worldSize = info_.worldSize;
    if (devices.empty() && info_.backend == "gloo") info.device = "cpu";
    info.groups = info_.groups;
    for (ForeignTrace::Process& process : trace_.processes) process.rank = rank_;
    for (ForeignTrace::Lane& lane : trace_.lanes) {
      const ChromeProcess& process = *trace_.processes[lane.process].contents;
      lane.rank = rank_;
      lane.name = withoutBlanksAtEnd(lane.thread->name);
      if (lane.name.empty()) {
        lane.name = (words_.isDevice(lane) ? "stream " : "thread ") + toText(*lane.tid);
      }
      if (!devices.contains(lane.process)) continue;
      if (info.device.empty()) info.device = process.labels;
      if (devices.size() > 1) lane.name = process.labels + " " + lane.name;
    }
  }

  void splitLanes() {
    for (ForeignTrace::Lane& lane : trace_.lanes) all_.push_back(&lane);
    const auto isOfHost = [&](const ForeignTrace::Lane* lane) { return !words_.isDevice(*lane); };
    const auto devices = std::stable_partition(all_.begin(), all_.end(), isOfHost);
    host_ = Lanes(all_.begin(), devices);
    devices_ = Lanes(devices, all_.end());
  }

  void nameProcess() {
    trace_.recorded.run = info_.run;
    trace_.recorded.isRankGuessed = !info_.rank && !trace_.nameRank;
    if (!host_.empty()) {
      trace_.recorded.id = toText(*trace_.processes[host_.front()->process].pid);
    }
    timeline_.ranks[rank_].host = info_.host;
  }

  /// Whether jobs may have other times than those of their annotations.
  bool isDeviceTimeAllowed() const { return trace_.jobTime != JobTime::kHost; }

  bool hasComputeJob() const {
    return hasGraphJobs_ || std::any_of(jobs_.begin(), jobs_.end(),
                                        [](const Event& job) { return isCompute(job.kind); });
  }

  bool wantsDeviceTime() const {
    if (!isDeviceTimeAllowed()) return false;
    if (devices_.empty() && trace_.jobTime == JobTime::kDevice) {
      reportNoDevice(trace_.file, trace_.diagnostics);
    }
    return !devices_.empty();
  }

  void readHost() {
    const bool withLaunches = !devices_.empty() && isDeviceTimeAllowed();
    threads_.resize(host_.size());
    taken_.resize(host_.size());
    inParallel(trace_.threads, host_.size(), [&](std::size_t i) {
      threads_[i] = readHostThread(*host_[i], static_cast<std::uint32_t>(i), words_, steps_,
                                   names_.isAsked(), withLaunches);
    });
    for (std::size_t i = 0; i < host_.size(); ++i) {
      const auto& steps = threads_[i].steps;
      stepOf_.insert(stepOf_.end(), steps.begin(), steps.end());
      takeJobs(static_cast<std::uint32_t>(i));
    }
    std::sort(stepOf_.begin(), stepOf_.end());
    if (!names_.isAsked() && !host_.empty()) findJobsWithoutAnnotation();
    for (std::uint32_t i = 0; i < host_.size(); ++i) {
      for (const TakenJob& job : taken_[i]) addJob(job, i);
    }
    taken_.clear();
  }

  /// A job of a thread before it has its number.
  struct TakenJob {
    Event event;
    Event recorded;            // the annotation
    HostSpan scope;            // it, or the schedule's own around it
    std::vector<Event> inner;  // annotations inside
    std::vector<Event> loads;  // batches that it loads: work of the host, and jobs of their own
  };

  /// All annotated jobs of the host, by begin.
  std::vector<const TakenJob*> annotatedJobs() const {
    std::vector<const TakenJob*> all;
    for (const auto& jobs : taken_) {
      for (const TakenJob& job : jobs) all.push_back(&job);
    }
    std::stable_sort(all.begin(), all.end(), [](const TakenJob* a, const TakenJob* b) {
      return a->event.begin < b->event.begin;
    });
    return all;
  }

  /// Makes jobs and messages of kernels of CUDA graphs, which have none on the host.
  void takeGraphJobs() {
    const auto stepOfKernel = [&](const Event& event) {
      const auto id = words_.numbersOf(event).externalId;
      return id ? stepOf(*id) : steps_.at(event.begin);
    };
    GraphWork work = graphWork(devices_, words_, names_, stepOfKernel, timeline_);
    RankInfo& info = timeline_.ranks[rank_];
    info.jobsFound += work.jobsFound;
    info.jobsByOrder += work.jobsFound;
    info.jobsInPairs = work.arePairs ? work.jobsFound : 0;
    hasGraphJobs_ = !work.jobs.empty();
    hasGraphKernels_ = work.hasGraphs;
    append(work.sends, made_[kSendLane]);
    append(work.receives, made_[kRecvLane]);
    made_[kComputeLane] = std::move(work.jobs);
  }

  /// Adds the jobs that no annotation names.
  void findJobsWithoutAnnotation() {
    const std::vector<const TakenJob*> annotated = annotatedJobs();
    std::vector<AnnotatedSpan> spans;
    std::vector<Nanoseconds> optimizers;
    for (const TakenJob* const job : annotated) {
      spans.push_back({job->event.begin, job->event.end, job->event.kind});
      if (job->event.kind == JobKind::kOptimizer) optimizers.push_back(job->event.begin);
    }
    if (!hasUnannotatedWork(host_, words_, spans)) return;
    const FactsOfThreads read = readHostFacts(host_, words_, spans);
    const FoundJobs found = findJobs(read.facts);
    if (found.areTurns) reportTurnsOfJobs(trace_.file, trace_.diagnostics);
    RankInfo& info = timeline_.ranks[rank_];
    info.runsUnplaced = found.runsUnplaced;
    info.unplacedTime = found.unplacedTime;
    const std::vector<JobNumbers> numbers = numberByOrder(
        found.jobs, [&](Nanoseconds time) { return steps_.at(time); }, optimizers);
    std::map<std::int32_t, const TakenJob*> named;  // by pass
    for (const FoundJob& job : found.jobs) {
      if (job.annotated == HostOperator::kNoJob || job.pass == FoundJob::kNoPass) continue;
      named[job.pass] = annotated[static_cast<std::size_t>(job.annotated)];
    }
    std::vector<TakenJob> jobs;
    for (std::size_t i = 0; i < found.jobs.size(); ++i) {
      const FoundJob& job = found.jobs[i];
      if (job.annotated != HostOperator::kNoJob) continue;
      Event event;
      event.begin = job.begin;
      event.end = job.end;
      event.kind = job.kind;
      event.step = numbers[i].step;
      event.microBatch = numbers[i].microBatch;
      if (const auto other = named.find(job.pass); other != named.end()) {
        event.stage = other->second->event.stage;
        event.chunk = other->second->event.chunk;
        if (other->second->event.microBatch != kNotGiven) {
          event.microBatch = other->second->event.microBatch;
        }
      } else if (!named.empty()) {
        event.stage = onlyStageOf(named);
      }
      if (job.kind == JobKind::kForwardBackward) {
        const Argument argument = Argument::ofInteger(timeline_.strings.intern(kPairedMicroBatch),
                                                      numbers[i].backwardMicroBatch);
        timeline_.setArguments(event, {&argument, 1});
      }
      Event recorded = event;
      recorded.kind = JobKind::kOther;
      recorded.name = timeline_.strings.intern("found " + std::string(logName(job.kind)));
      jobs.push_back({event, recorded, {job.begin, job.end}, {}, {}});
    }
    info.jobsFound = static_cast<std::int64_t>(jobs.size());
    std::vector<TakenJob>& all = taken_[read.thread];
    all.insert(all.end(), jobs.begin(), jobs.end());
    std::stable_sort(all.begin(), all.end(), [](const TakenJob& a, const TakenJob& b) {
      return a.event.begin < b.event.begin;
    });
  }

  /// The stage that all of them name, or kNotGiven.
  static std::int32_t onlyStageOf(const std::map<std::int32_t, const TakenJob*>& jobs) {
    std::int32_t stage = jobs.begin()->second->event.stage;
    for (const auto& [pass, job] : jobs) {
      if (job->event.stage != stage) stage = kNotGiven;
    }
    return stage;
  }

  /// Whether the annotation is a job; if so, the event gets the kind and numbers in its name.
  bool describeAnnotation(Event& event) {
    if (names_.describeAsAsked(event)) return isComputeLane(event.kind);
    const JobName& name = names_.known(event.name);
    const bool isUsed =
        isComputeLane(name.kind) || (devices_.empty() && name.kind != JobKind::kOther);
    if (!isUsed) return false;
    event.kind = name.kind;
    return isComputeLane(name.kind);
  }

  /// Moves the jobs among the named events of a thread to the compute lane.
  void takeJobs(std::uint32_t thread) {
    std::vector<Event>& events = host_[thread]->thread->events;
    const std::vector<std::size_t>& named = threads_[thread].named;
    Nanoseconds jobEnd = kNsMin;
    Event around;  // the latest annotation of a schedule with jobs inside
    around.end = kNsMin;
    std::vector<std::size_t> taken;
    for (std::size_t n = 0; n < named.size(); ++n) {
      Event& event = events[named[n]];
      if (words_.categoryOf(event) != KinetoCategory::kAnnotation) {
        names_.describeAsAsked(event);
        continue;
      }
      const Event asRecorded = event;
      const bool isJob = describeAnnotation(event);
      const bool isInside = event.begin < around.end && event.end <= around.end;
      if (isJob && !isInside && event.begin < jobEnd && event.end > jobEnd) {
        cutLastJob(taken_[thread].back(), event.begin);
        jobEnd = event.begin;
      }
      if (event.begin < jobEnd || (isInside && !nested_.isStageJob(event))) {
        if (event.begin < jobEnd) {
          TakenJob& job = taken_[thread].back();
          job.inner.push_back(asRecorded);
          const bool isLoad = isJob && loadsData(event.kind);
          if (isLoad && isDeviceTimeAllowed() && isCompute(job.event.kind)) {
            job.loads.push_back(event);
          }
        }
        if (isJob) event.kind = JobKind::kOther;  // part of the job around it
        continue;
      }
      if (nested_.isEmptyCollective(events, named[n])) event.kind = JobKind::kOther;
      if (!isJob) continue;
      if (!isInside && isDeviceTimeAllowed() && nested_.areInside(events, named, n)) {
        event.kind = JobKind::kOther;
        around = asRecorded;
        continue;
      }
      jobEnd = event.end;
      if (isInside) nested_.takeNameOf(around, event);
      names_.give(event, names_.known(event.name));
      const Event& scope = isInside ? around : event;
      taken_[thread].push_back({event, asRecorded, {scope.begin, scope.end}, {}, {}});
      taken.push_back(named[n]);
    }
    removeAt(events, taken);
  }

  /// A thread does one thing at a time: what begins in a job and goes on after it is the next one.
  void cutLastJob(TakenJob& job, Nanoseconds end) {
    const Nanoseconds by = job.event.end - end;
    if (by > kRounding) {
      RankInfo& info = timeline_.ranks[rank_];
      ++info.overruns;
      info.overrunTime += by;
    }
    job.event.end = job.scope.end = end;
  }

  void addJob(const TakenJob& job, std::uint32_t thread) {
    Event event = job.event;
    for (const Event& inner : job.inner) inner_.emplace_back(inner, hostJobs_.size());
    for (const Event& load : job.loads) {
      loads_.push_back(load);
      loadsOf_[hostJobs_.size()].push_back({load.begin, load.end});
    }
    scopes_.push_back(job.scope);
    event.job = hostJobs_.add({.begin = event.begin,
                               .end = event.end,
                               .thread = thread,
                               .process = static_cast<std::uint32_t>(host_[thread]->process),
                               .kind = event.kind,
                               .stage = event.stage,
                               .microBatch = event.microBatch});
    jobs_.push_back(event);
    recorded_.push_back(job.recorded);
  }

  /// Gives the jobs of each thread the times of their operators, and finds their messages.
  void placeWithoutDevice() {
    std::vector<Event> all = std::exchange(jobs_, {});
    if (all.empty()) return;
    const HostCollectives collectives(host_, words_, timeline_, info_);
    std::vector<AnnotatedJob> jobs;
    OperatorShares shares;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint32_t thread = hostJobs_[static_cast<std::int32_t>(i)].thread;
      jobs.push_back({all[i], recorded_[i], scopes_[i], std::move(loadsOf_[i])});
      const bool isLast =
          i + 1 == all.size() || hostJobs_[static_cast<std::int32_t>(i + 1)].thread != thread;
      if (!isLast) continue;
      std::vector<Event>& events = host_[thread]->thread->events;
      const auto firstJob = static_cast<std::int64_t>(jobs_.size());
      const HostOnlyLanes placed =
          placeHostOnly(jobs, events, firstJob, collectives, thread, words_, names_, timeline_);
      for (const Event& job : placed.jobs) placeOf_[job.job] = {false, thread};
      append(placed.jobs, jobs_);
      append(placed.sends, made_[kSendLane]);
      append(placed.receives, made_[kRecvLane]);
      append(placed.collectives, made_[kHostCollectivesLane]);
      append(placed.noJobs, events);
      shares += placed.shares;
      jobs.clear();
    }
    shares.report(rank_, trace_.file, trace_.diagnostics);
  }

  static void append(const std::vector<Event>& more, std::vector<Event>& events) {
    events.insert(events.end(), more.begin(), more.end());
  }

  static void removeAt(std::vector<Event>& events, const std::vector<std::size_t>& places) {
    if (places.empty()) return;
    std::size_t kept = places.front();
    auto next = places.begin();
    for (std::size_t i = kept; i < events.size(); ++i) {
      if (next != places.end() && *next == i) {
        ++next;
      } else {
        events[kept++] = events[i];
      }
    }
    events.resize(kept);
  }

  void setJobTimes() {
    launches_.emplace(hostJobs_, launchesOf(threads_, host_, trace_, hostJobs_));
    if (!launches_->empty()) {
      setTimesOfWork(*launches_);
    } else if (!setTimesOfImages()) {
      return;
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Event& image = made_[kHostLane].emplace_back(recorded_[i]);
      image.job = jobs_[i].job;
    }
  }

  void setTimesOfWork(Launches& launches) {
    DeviceJobs device(jobs_.size());
    LaunchFindings findings = readWork(devices_, words_, launches, trace_.threads, device);
    findings.jobsWithoutWork = setDeviceTimes(jobs_, device, timeline_);
    findings.faults.addTo(timeline_.ranks[rank_]);
    reportLaunches(findings, trace_.file, trace_.diagnostics);
  }

  /// For a trace without launches. Returns whether it moved any.
  bool setTimesOfImages() {
    const DeviceImages images(devices_, words_);
    std::vector<std::optional<DeviceImages::Span>> spans(jobs_.size());
    const auto extend = [&](std::size_t job, const Event& annotation) {
      const auto image = images.of(annotation, words_);
      std::optional<DeviceImages::Span>& span = spans[job];
      if (!image) return;
      if (!span) span = *image;
      span->begin = std::min(span->begin, image->begin);
      span->end = std::max(span->end, image->end);
    };
    for (std::size_t i = 0; i < jobs_.size(); ++i) extend(i, recorded_[i]);
    for (const auto& [annotation, job] : inner_) extend(job, annotation);
    const auto moved = std::count_if(spans.begin(), spans.end(),
                                     [](const auto& span) { return span.has_value(); });
    reportNoLaunches(
        moved, static_cast<std::int64_t>(jobs_.size()), "cuda_runtime",
        "record with ProfilerActivity.CPU and ProfilerActivity.CUDA, so that the trace "
        "holds the launches (docs/inputs/torch.md)",
        trace_.file, trace_.diagnostics);
    if (moved == 0) return false;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (spans[i]) {
        moveFromAnnotation(jobs_[i], spans[i]->begin, spans[i]->end, timeline_);
      } else {
        markHostTimes(jobs_[i], timeline_);
      }
    }
    return true;
  }

  void describeDeviceEvents() {
    inParallel(trace_.threads, devices_.size(), [&](std::size_t i) {
      for (Event& event : devices_[i]->thread->events) {
        if (const auto id = words_.numbersOf(event).externalId) event.step = stepOf(*id);
      }
    });
    for (const ForeignTrace::Lane* lane : devices_) {
      for (Event& event : lane->thread->events) {
        if (names_.describeAsAsked(event)) continue;
        const KinetoCategory category = words_.categoryOf(event);
        if (category == KinetoCategory::kCopy) event.kind = JobKind::kCopy;
        if (category == KinetoCategory::kKernel) names_.describe(event);
      }
    }
  }

  /// Moves sends and receives to lanes of their own, and collectives from streams that compute.
  void moveCommunication() {
    std::vector<ThreadEvents> threads;
    for (const ForeignTrace::Lane* lane : host_) {
      threads.push_back({&lane->thread->events, static_cast<std::uint32_t>(lane->process)});
    }
    CommunicationCalls calls(threads, rank_, info_.ranksOfGroups, timeline_, names_, hostJobs_);
    const auto isComm = [&](const Event& event) {
      return words_.isCommunication(event) &&
             (event.kind == JobKind::kKernel || isCollective(event.kind));
    };
    for (const ForeignTrace::Lane* lane : devices_) {
      for (const Event& event : lane->thread->events) {
        if (isComm(event)) calls.addKernel(event, launchOf(event, *lane));
      }
    }
    for (const CommunicationGroup& group : calls.groups())
      addGroup(timeline_.ranks[rank_].groups, group);
    std::vector<StartedCollective> collectives;
    DeviceWork work;
    for (const ForeignTrace::Lane* lane : devices_) {
      std::vector<Event>& events = lane->thread->events;
      const bool computes = std::any_of(events.begin(), events.end(), [&](const Event& event) {
        return event.kind == JobKind::kKernel && !words_.isCommunication(event);
      });
      for (const Event& event : events) {
        const bool isOwnWork = isWork(words_.categoryOf(event)) && !words_.isCommunication(event);
        if (computes && isOwnWork) work.emplace_back(event.begin, event.end);
      }
      Nanoseconds lastEnd = kNsMax;  // of the messages of the stream so far
      std::erase_if(events, [&](Event& event) {
        if (!isComm(event)) return false;
        const Launch* const launch = launchOf(event, *lane);
        const auto messages = calls.describe(event, launch, lastEnd);
        for (const CommunicationCalls::Message& message : messages) {
          made_[message.isSend ? kSendLane : kRecvLane].push_back(message.event);
        }
        if (const auto group = groupOf(event)) {
          collectives.push_back({static_cast<std::int32_t>(event.job), *group, event.kind,
                                 event.begin, event.end, isOfReplicas(event)});
        }
        if (messages.empty() && computes) made_[kCommunicationLane].push_back(event);
        return computes || !messages.empty();
      });
    }
    addExposedCollectives(jobs_, std::move(collectives), std::move(work), messagesOfJobs(),
                          timeline_);
  }

  /// When the messages of each job were there, and when it sent its own. A message may be posted
  /// inside of another job than its own.
  std::vector<MessagesOfJob> messagesOfJobs() {
    using Key = std::tuple<bool, std::int32_t, std::int32_t>;  // is forward, stage, micro-batch
    std::map<Key, std::vector<std::size_t>> all;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const auto isForward = isForwardMessageOf(jobs_[i].kind);
      if (isForward) all[{*isForward, jobs_[i].stage, jobs_[i].microBatch}].push_back(i);
    }
    const auto jobsOf = [&](const Event& message) -> std::span<const std::size_t> {
      const auto found =
          all.find({isForwardTransfer(message.kind), message.stage, message.microBatch});
      if (!isTransfer(message.kind) || found == all.end()) return {};
      return found->second;
    };
    std::vector<MessagesOfJob> messages(jobs_.size());
    for (const Event& message : made_[kRecvLane]) {
      const std::span<const std::size_t> receivers = jobsOf(message);
      auto job = static_cast<std::size_t>(message.job);
      const bool isOfJob =
          message.job >= 0 && (!isTransfer(message.kind) || !isForwardMessageOf(jobs_[job].kind) ||
                               std::binary_search(receivers.begin(), receivers.end(), job));
      if (!isOfJob) {
        const auto next =
            std::partition_point(receivers.begin(), receivers.end(),
                                 [&](std::size_t each) { return jobs_[each].end <= message.end; });
        if (next == receivers.end()) continue;
        job = *next;
      }
      messages[job].received = std::max(messages[job].received, message.end);
    }
    for (const Event& message : made_[kSendLane]) {
      const std::span<const std::size_t> makers = jobsOf(message);
      const auto next = std::partition_point(makers.begin(), makers.end(), [&](std::size_t job) {
        return jobs_[job].begin <= message.begin;
      });
      if (next == makers.begin()) continue;
      Nanoseconds& first = messages[*std::prev(next)].sent;
      first = std::min(first, message.begin);
    }
    return messages;
  }

  bool isOfReplicas(const Event& collective) const {
    const auto key = timeline_.strings.find(collective_arguments::kUse);
    const auto arguments = timeline_.argumentsOf(collective);
    return key && std::any_of(arguments.begin(), arguments.end(), [&](const Argument& a) {
             return a.key == *key && a.type == ArgumentType::kText &&
                    timeline_.strings[a.text] == axisWords(GroupAxis::kData);
           });
  }

  /// The members of a collective that ranks meet in inside their jobs; nothing for others.
  std::optional<StringId> groupOf(const Event& collective) const {
    const auto key = timeline_.strings.find(collective_arguments::kGroup);
    if (!key || collective.job < 0) return std::nullopt;
    for (const Argument& argument : timeline_.argumentsOf(collective)) {
      if (argument.key == *key && argument.type == ArgumentType::kText) return argument.text;
    }
    return std::nullopt;
  }

  const Launch* launchOf(const Event& event, const ForeignTrace::Lane& lane) const {
    const auto correlation = words_.numbersOf(event).correlation;
    if (!launches_ || !correlation) return nullptr;
    return launches_->find(*correlation, event.begin, static_cast<std::uint32_t>(lane.process))
        .launch;
  }

  std::int32_t stepOf(std::int64_t id) const {
    const auto found =
        std::lower_bound(stepOf_.begin(), stepOf_.end(), std::pair{id, std::int32_t{kNotGiven}});
    return found != stepOf_.end() && found->first == id ? found->second : kNotGiven;
  }

  /// Makes ranks of the devices or threads of a process that computes on several.
  void findRanks() {
    const auto isOfOne = [&](const ForeignTrace::Lane* lane) {
      return lane->process == devices_.front()->process;
    };
    if (std::all_of(devices_.begin(), devices_.end(), isOfOne) && !devices_.empty()) return;
    for (const ForeignTrace::Lane* const lane : devices_) {
      const RanksInProcess::Place device = placeOfDevice(*lane);
      for (const Event& event : lane->thread->events) {
        const bool isWork = event.job >= 0 && words_.categoryOf(event) == KinetoCategory::kKernel;
        if (isWork) placeOf_.try_emplace(event.job, device);
      }
    }
    ranks_ = RanksInProcess(rank_, jobs_, placeOf_);
    if (!ranks_.areSeveral()) return;
    const RankInfo all = timeline_.ranks[rank_];
    timeline_.ranks.erase(rank_);
    for (const auto& [place, rank] : ranks_.ranks()) {
      RankInfo& info = timeline_.ranks[rank];
      info.rank = rank;
      info.host = all.host;
    }
    for (ForeignTrace::Lane* const lane : devices_) {
      lane->rank = ranks_.rankOfPlace(placeOfDevice(*lane));
      timeline_.ranks[lane->rank].device = trace_.processes[lane->process].contents->labels;
    }
    for (std::size_t i = 0; i < host_.size(); ++i) {
      host_[i]->rank = ranks_.rankOfPlace({false, static_cast<std::int64_t>(i)});
    }
    trace_.diagnostics.add({.severity = Severity::kNote,
                            .file = trace_.file,
                            .message = ranks_.note(ranks_.ranks().begin()->second)});
  }

  RanksInProcess::Place placeOfDevice(const ForeignTrace::Lane& lane) const {
    const ChromeId& pid = *trace_.processes[lane.process].pid;
    return {true, pid.isText ? static_cast<std::int64_t>(lane.process) : pid.number};
  }

  /// Adds a lane with these events for each of their ranks.
  void addLanes(std::string_view name, std::vector<Event> events) {
    if (!ranks_.areSeveral()) return addLane(name, rank_, std::move(events));
    std::map<int, std::vector<Event>> byRank;
    for (const Event& event : events) byRank[ranks_.rankOfJob(event.job)].push_back(event);
    for (auto& [rank, ofRank] : byRank) addLane(name, rank, std::move(ofRank));
  }

  void addLane(std::string_view name, int rank, std::vector<Event> events) {
    if (events.empty()) return;
    trace_.made.emplace_back().events = std::move(events);
    ForeignTrace::Lane lane = trace_.lanes.front();
    lane.thread = &trace_.made.back();
    lane.name = name;
    lane.rank = rank;
    trace_.lanes.push_back(lane);
  }

  ForeignTrace& trace_;
  Timeline& timeline_;
  const KinetoInfo& info_;
  ForeignNames& names_;
  KinetoWords words_;
  StepSpans steps_;
  NestedJobs nested_;
  int rank_ = 0;
  RanksInProcess ranks_;
  std::map<std::int64_t, RanksInProcess::Place> placeOf_;  // by number of a job
  bool hasGraphJobs_ = false;                              // of kernels of CUDA graphs
  bool hasGraphKernels_ = false;
  std::vector<ForeignTrace::Lane*> all_;
  Lanes host_;
  Lanes devices_;
  std::vector<HostThread> threads_;                            // of host_
  std::vector<std::pair<std::int64_t, std::int32_t>> stepOf_;  // external id, step
  std::vector<std::vector<TakenJob>> taken_;                   // by thread, until they have numbers
  HostJobs hostJobs_;
  std::optional<Launches> launches_;
  std::vector<Event> jobs_;                           // of hostJobs_
  std::vector<Event> recorded_;                       // the same as they were recorded
  std::vector<std::pair<Event, std::size_t>> inner_;  // annotations inside a job, and the job
  std::vector<HostSpan> scopes_;  // of jobs_: their annotation, or the schedule's own around it
  std::vector<Event> loads_;      // data loaders inside of compute jobs
  std::map<std::size_t, std::vector<HostSpan>> loadsOf_;  // the same, by index in jobs_
  std::map<std::string_view, std::vector<Event>> made_;   // lanes besides the compute lane
};

}  // namespace

void placeKinetoLanes(ForeignTrace& trace) { KinetoPlacer(trace).place(); }

}  // namespace pipetrace
