#include "parser/sqlite/nsys_tables.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parser/device_time/communication.h"
#include "parser/device_time/device_jobs.h"
#include "parser/device_time/launch_findings.h"
#include "parser/device_time/launches.h"
#include "parser/device_time/ranks_in_process.h"
#include "parser/device_time/stream_times.h"
#include "parser/foreign/names/foreign_names.h"
#include "parser/trace_reader.h"
#include "trace/kernel_names.h"
#include "trace/text/utf8.h"
#include "trace/timeline.h"

namespace pipetrace {

namespace {

// Serialized ids hold the process in bits 24 to 47 and the thread in the lowest 24.
constexpr std::int64_t kIdMask = 0xffffff;
std::int64_t processOf(std::int64_t globalId) { return (globalId >> 24) & kIdMask; }
std::int64_t threadOf(std::int64_t globalId) { return globalId & kIdMask; }

/// Moves the jobs of an export of Nsight Systems, which are NVTX ranges of the host, to the times
/// at which devices ran their work. Use: the add functions, then place().
class NsysJobs {
 public:
  using Lane = std::pair<std::int64_t, std::string>;  ///< (process, name)
  using Lanes = std::map<Lane, std::vector<Event>>;

  /// A call that put work on a device. `thread`: the serialized id of its thread.
  void addLaunch(std::int64_t process, std::int64_t thread, std::int64_t correlation,
                 Nanoseconds time);

  /// The lane with the ranges of a thread.
  void addRangeLane(const Lane& lane, std::int64_t thread) { rangeLanes_[lane] = thread; }

  /// The number to put in Event::job of work on a device, until place(): its launch has the same.
  static std::int64_t launchOf(std::int64_t process, std::int64_t correlation);

  /// Replaces the launches in Event::job of the work by the numbers of jobs. Jobs are the outermost
  /// ranges of a thread whose names say a job's kind. They go to the lane `compute` of their
  /// process, with the times of their work, and as they were recorded to the lane `host`. Without
  /// work or launches, or with JobTime::kHost, they stay where they are.
  ///
  /// A thread without a job of its own is taken for autograd's: its launches belong to the backward
  /// pass that is open in its process, if there is only one.
  ///
  /// A message is a kernel of NCCL that was launched in a range around the post of a message, such
  /// as `PP:1SEND_F3`; it leaves its stream (moved()). So do collectives on streams that compute.
  /// Beside work on a device no range is a message or a collective by itself.
  void place(Lanes& lanes, JobTime time, ForeignNames& names, const std::string& file,
             Timeline& timeline, Diagnostics& diagnostics);

  /// An event that place() took from the lane of its stream.
  struct Moved {
    Lane stream;
    std::string_view lane;
    Event event;
  };
  const std::vector<Moved>& moved() const { return moved_; }

  /// Counts of times that place() found impossible in the work of a process, and corrected.
  StreamFaults faultsOf(std::int64_t process) const {
    const auto found = faults_.find(process);
    return found == faults_.end() ? StreamFaults{} : found->second;
  }

 private:
  struct Jobs;
  using LanesOfWork = std::vector<std::pair<Lane, std::vector<Event>*>>;

  static bool isWork(const Event& event);
  void takePosts(Lanes& lanes, StringTable& strings);
  Jobs takeRanges(Lanes& lanes, Timeline& timeline);
  void moveCommunication(const LanesOfWork& work,
                         const std::vector<std::vector<const Launch*>>& launched,
                         const HostJobs& jobs, ForeignNames& names, const std::string& file,
                         Timeline& timeline, Diagnostics& diagnostics);
  std::uint32_t threadNumber(std::int64_t thread);
  static std::uint32_t processNumber(std::int64_t process) {
    return static_cast<std::uint32_t>(process);
  }

  std::vector<Launch> launches_;
  std::map<std::int64_t, std::uint32_t> threads_;
  std::map<Lane, std::int64_t> rangeLanes_;
  std::map<std::int64_t, std::vector<Event>> posts_;  // by thread: ranges around posts of messages
  std::map<std::int64_t, StreamFaults> faults_;       // by process
  std::vector<Moved> moved_;
};

bool isKernel(const Event& event) {
  return event.kind == JobKind::kKernel || isCollective(event.kind);
}

bool isCommunication(const Event& event, const Timeline& timeline) {
  return isCollective(event.kind) || isCommunicationKernel(timeline.strings[event.name]);
}

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

/// Ranges say when the host posted something, not when it ran.
void NsysJobs::takePosts(Lanes& lanes, StringTable& strings) {
  for (const auto& [lane, thread] : rangeLanes_) {
    for (Event& range : lanes[lane]) {
      if (!isTransfer(range.kind) && !isCollective(range.kind)) continue;
      if (range.name == 0) range.name = strings.intern(logName(range.kind));
      if (isTransfer(range.kind)) posts_[thread].push_back(range);
      range.kind = JobKind::kOther;
    }
  }
  for (auto& [thread, posts] : posts_) {
    std::stable_sort(posts.begin(), posts.end(), outerComesFirst);
  }
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

void NsysJobs::moveCommunication(const LanesOfWork& work,
                                 const std::vector<std::vector<const Launch*>>& launched,
                                 const HostJobs& jobs, ForeignNames& names, const std::string& file,
                                 Timeline& timeline, Diagnostics& diagnostics) {
  static const std::vector<Event> kNoPosts;
  std::vector<ThreadEvents> threads(threads_.size());
  for (const auto& [thread, number] : threads_) {
    const auto posts = posts_.find(thread);
    threads[number] = {posts == posts_.end() ? &kNoPosts : &posts->second,
                       processNumber(processOf(thread)), true};
  }
  const RanksOfGroups noGroups;
  const CommunicationCalls calls(threads, 0, noGroups, timeline, names, jobs);
  std::set<std::pair<std::uint32_t, Nanoseconds>> posted;  // launches of messages
  for (std::size_t i = 0; i < work.size(); ++i) {
    const auto& [lane, events] = work[i];
    const bool computes = std::any_of(events->begin(), events->end(), [&](const Event& event) {
      return isKernel(event) && !isCommunication(event, timeline);
    });
    auto next = launched[i].begin();
    Nanoseconds lastEnd = kNsMax;  // of the messages of the stream so far
    std::erase_if(*events, [&, &lane = lane](Event& event) {
      if (!isWork(event) || !isCommunication(event, timeline)) return false;
      const Launch* const launch = *next++;
      std::vector<CommunicationCalls::Message> messages;
      if (!isCollective(event.kind)) messages = calls.describe(event, launch, lastEnd);
      for (const CommunicationCalls::Message& message : messages) {
        moved_.push_back({lane, message.isSend ? kSendLane : kRecvLane, message.event});
        posted.insert({launch->thread, launch->time});
      }
      if (messages.empty() && computes) moved_.push_back({lane, kCommunicationLane, event});
      return computes || !messages.empty();
    });
  }
  std::int64_t silent = 0;
  for (const auto& [thread, posts] : posts_) {
    const std::uint32_t number = threadNumber(thread);
    for (const Event& post : posts) {
      const auto inside = posted.lower_bound({number, post.begin});
      if (inside == posted.end() || *inside >= std::pair(number, post.end)) ++silent;
    }
  }
  if (silent == 0) return;
  diagnostics.add({.file = file,
                   .message = "a range around the post of a message launched no kernel of NCCL; "
                              "when its message ran is not known, and it was left out",
                   .count = silent});
}

void NsysJobs::place(Lanes& lanes, JobTime time, ForeignNames& names, const std::string& file,
                     Timeline& timeline, Diagnostics& diagnostics) {
  LanesOfWork work;
  for (auto& [lane, events] : lanes) {
    if (!rangeLanes_.contains(lane)) work.emplace_back(lane, &events);
  }
  const auto forget = [&] {
    for (const auto& [lane, events] : work) {
      for (Event& event : *events) event.job = kNotGiven;
    }
  };
  if (!work.empty()) takePosts(lanes, timeline.strings);
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
  std::vector<std::vector<const Launch*>> ofCommunication(work.size());
  for (std::size_t lane = 0; lane < work.size(); ++lane) {
    std::vector<Event>& events = *work[lane].second;
    stream.clear();
    pieces.clear();
    launched.clear();
    for (Event& event : events) {
      if (!isWork(event)) continue;
      const LaunchedBy& by = launched.emplace_back(launches.find(event.job, event.begin, 0));
      event.job = by.job;
      pieces.push_back({.event = &event, .launch = by.launch});
    }
    faults_[work[lane].first.first] += correctStream(pieces);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].hasNoTime) {
        if (launched[i].job >= 0) device.addUntimed(launched[i].job);
        continue;
      }
      const Event& event = *pieces[i].event;
      const bool communicates = isCommunication(event, timeline);
      findings.beforeLaunch += launched[i].isBeforeLaunch ? 1 : 0;
      if (communicates) {
        ofCommunication[lane].push_back(launched[i].launch);
      } else {
        ++findings[launched[i].origin];
      }
      stream.push_back({.job = launched[i].job,
                        .begin = event.begin,
                        .end = event.end,
                        .isKernel = isKernel(event),
                        .isCommunication = communicates});
    }
    device.addStream(stream);
    removeWithoutTime(pieces, events);
  }
  findings.jobsWithoutWork = setDeviceTimes(jobs.events, device, timeline);
  for (std::size_t i = 0; i < jobs.events.size(); ++i) {
    lanes[{jobs.processes[i], std::string(kComputeLane)}].push_back(jobs.events[i]);
  }
  reportLaunches(findings, file, diagnostics);
  moveCommunication(work, ofCommunication, jobs.host, names, file, timeline, diagnostics);
}

constexpr std::string_view kNvtx = "NVTX_EVENTS";
constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr std::string_view kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr std::string_view kRuntime = "CUPTI_ACTIVITY_KIND_RUNTIME";

/// Events with an end are ranges; the others are marks, names of threads and categories, and
/// domains.
constexpr std::int64_t kNvtxMark = 34;

class ExportReader {
 public:
  ExportReader(const SqliteDatabase& database, const std::string& file, const ReadRequest& request,
               Timeline& timeline, Diagnostics& diagnostics)
      : database_(database),
        file_(file),
        request_(request),
        jobTime_(request.jobTime),
        timeline_(timeline),
        diagnostics_(diagnostics),
        names_(request.kinds, timeline) {}

  /// Returns whether the ranks are guessed.
  bool read() {
    readStrings();
    readThreadNames();
    readOrigin();
    readNvtx();
    readKernels();
    readMemory(kCopies, "copy");
    readMemory(kMemsets, "memset");
    readGraphs();
    readLaunches();
    jobs_.place(lanes_, jobTime_, names_, file_, timeline_, diagnostics_);
    noteOtherTables();
    return addTo();
  }

 private:
  using Lane = NsysJobs::Lane;

  void complain(const char* message, Severity severity = Severity::kWarning,
                std::int64_t count = 1) {
    diagnostics_.add({.severity = severity, .file = file_, .message = message, .count = count});
  }

  void checkDamage(const SqliteStatement& statement) {
    if (statement.failed()) complain("the database is damaged; what could be read of it was read");
  }

  void readStrings() {
    if (!database_.hasColumns("StringIds", {"id", "value"})) return;
    SqliteStatement rows = database_.prepare("SELECT id, value FROM StringIds");
    while (rows.next()) strings_[rows.integer(0)] = intern(rows.text(1));
    checkDamage(rows);
  }

  void readThreadNames() {
    if (!database_.hasColumns("ThreadNames", {"nameId", "globalTid"})) return;
    SqliteStatement rows = database_.prepare("SELECT nameId, globalTid FROM ThreadNames");
    while (rows.next()) {
      const auto name = strings_.find(rows.integer(0));
      if (name != strings_.end()) threadNames_[rows.integer(1)] = name->second;
    }
    checkDamage(rows);
  }

  void readOrigin() {
    if (!database_.hasColumns("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"})) return;
    SqliteStatement rows =
        database_.prepare("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME");
    if (rows.next() && rows.isInteger(0)) origin_ = rows.integer(0);
  }

  StringId intern(std::string_view text) {
    return isUtf8(text) ? timeline_.strings.intern(text) : timeline_.strings.intern(toUtf8(text));
  }

  /// Sets begin and end from two columns. False for times that cannot be used.
  bool setTimes(const SqliteStatement& rows, int column, Event& event) {
    const bool fits = rows.isInteger(column) && rows.isInteger(column + 1) &&
                      !__builtin_add_overflow(rows.integer(column), origin_, &event.begin) &&
                      !__builtin_add_overflow(rows.integer(column + 1), origin_, &event.end) &&
                      event.begin <= event.end;
    if (fits) return true;
    diagnostics_.add({.file = file_,
                      .message = "a row has no times that can be used and was left out",
                      .doubt = DoubtKind::kNoTime});
    return false;
  }

  void readNvtx() {
    if (!database_.hasColumns(kNvtx, {"start", "end", "eventType", "text", "globalTid"})) return;
    const bool hasTextId = database_.hasColumns(kNvtx, {"textId"});
    SqliteStatement rows =
        database_.prepare(std::string("SELECT start, end, eventType, globalTid, text, ") +
                          (hasTextId ? "textId" : "NULL") + " FROM NVTX_EVENTS ORDER BY rowid");
    std::int64_t marks = 0;
    std::int64_t open = 0;
    while (rows.next()) {
      if (rows.isNull(1)) {
        // Names and domains have no times either and nothing is lost with them.
        if (rows.integer(2) == kNvtxMark) ++marks;
        if (isRange(rows.integer(2))) ++open;
        continue;
      }
      Event event;
      if (!setTimes(rows, 0, event)) continue;
      const auto known = rows.isNull(5) ? strings_.end() : strings_.find(rows.integer(5));
      const StringId text = known == strings_.end() ? intern(rows.text(4)) : known->second;
      event.name = withoutNumbersOfEmitNvtx(text);
      names_.describe(event);
      const std::int64_t thread = rows.integer(3);
      const Lane lane(processOf(thread), "nvtx " + nameOfThread(thread));
      jobs_.addRangeLane(lane, thread);
      lanes_[lane].push_back(event);
    }
    checkDamage(rows);
    if (marks > 0) complain("an NVTX mark has no length and was left out", Severity::kNote, marks);
    if (open > 0) complain("an NVTX range has no end and was left out", Severity::kWarning, open);
  }

  /// torch.autograd.profiler.emit_nvtx appends numbers of the operator to each name, as in
  /// "PP:1F3, op_id = 42" and "aten::mm, seq = 7, op_id = 9, sizes = [[2, 3]]". They are in this
  /// order, and some may lack.
  StringId withoutNumbersOfEmitNvtx(StringId text) {
    const std::string_view name = timeline_.strings[text];
    std::size_t end = std::string_view::npos;
    for (const std::string_view word : {", seq = ", ", op_id = ", ", sizes = ["}) {
      end = std::min(end, name.find(word));
    }
    if (end == std::string_view::npos) return text;
    return timeline_.strings.intern(std::string(name.substr(0, end)));
  }

  static bool isRange(std::int64_t type) { return type == 59 || type == 60; }

  std::string nameOfThread(std::int64_t globalId) const {
    const auto name = threadNames_.find(globalId);
    const std::string number = "thread " + std::to_string(threadOf(globalId));
    if (name == threadNames_.end() || name->second == 0) return number;
    return std::string(timeline_.strings[name->second]) + " (" + number + ")";
  }

  /// The columns that the tables of activities on the device have in common.
  std::string deviceColumns(std::string_view table) const {
    std::string columns = "start, end, deviceId, streamId, ";
    columns += database_.hasColumns(table, {"globalPid"}) ? "globalPid" : "0";
    columns += database_.hasColumns(table, {"correlationId"}) ? ", correlationId" : ", NULL";
    return columns;
  }

  void addOnStream(const SqliteStatement& rows, Event event) {
    const std::int64_t process = processOf(rows.integer(4));
    const std::int64_t device = rows.integer(2);
    if (rows.isInteger(5)) event.job = NsysJobs::launchOf(process, rows.integer(5));
    const std::int64_t stream = rows.integer(3);
    const Lane lane(process,
                    "device " + std::to_string(device) + " stream " + std::to_string(stream));
    deviceOf_[lane] = device;
    streamOf_[lane] = stream;
    lanes_[lane].push_back(event);
  }

  void readKernels() {
    if (!database_.hasColumns(kKernels, {"start", "end", "deviceId", "streamId"})) return;
    const char* name = "NULL";
    for (const char* column : {"mangledName", "demangledName", "shortName"}) {
      if (database_.hasColumns(kKernels, {column})) name = column;
    }
    SqliteStatement rows = database_.prepare("SELECT " + deviceColumns(kKernels) + ", " + name +
                                             " FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY rowid");
    while (rows.next()) {
      Event event;
      if (!setTimes(rows, 0, event)) continue;
      event.kind = JobKind::kKernel;
      const auto known = strings_.find(rows.integer(6));
      if (known != strings_.end()) event.name = known->second;
      names_.describe(event);
      addOnStream(rows, event);
    }
    checkDamage(rows);
  }

  void readMemory(std::string_view table, std::string_view what) {
    if (!database_.hasColumns(table, {"start", "end", "deviceId", "streamId"})) return;
    const bool hasKind = database_.hasColumns(table, {"copyKind"});
    SqliteStatement rows = database_.prepare(
        "SELECT " + deviceColumns(table) + ", " +
        (database_.hasColumns(table, {"bytes"}) ? "bytes" : "NULL") + ", " +
        (hasKind ? "copyKind" : "NULL") + " FROM " + std::string(table) + " ORDER BY rowid");
    const StringId bytes = timeline_.strings.intern("bytes");
    while (rows.next()) {
      Event event;
      if (!setTimes(rows, 0, event)) continue;
      event.kind = JobKind::kCopy;
      std::string name(what);
      if (!rows.isNull(7)) name += " " + copyName(rows.integer(7));
      event.name = timeline_.strings.intern(name);
      if (rows.isInteger(6)) {
        const Argument argument = Argument::ofInteger(bytes, rows.integer(6));
        timeline_.setArguments(event, {&argument, 1});
      }
      names_.describeAsAsked(event);
      addOnStream(rows, event);
    }
    checkDamage(rows);
  }

  /// Whole graphs, where the nodes were not recorded.
  void readGraphs() {
    if (!database_.hasColumns(kGraphs, {"start", "end", "deviceId", "streamId"})) return;
    SqliteStatement rows =
        database_.prepare("SELECT " + deviceColumns(kGraphs) +
                          " FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE ORDER BY rowid");
    while (rows.next()) {
      Event event;
      if (!setTimes(rows, 0, event)) continue;
      event.kind = JobKind::kKernel;
      event.name = timeline_.strings.intern("CUDA graph");
      addOnStream(rows, event);
    }
    checkDamage(rows);
  }

  void readLaunches() {
    if (!hasLaunches()) return;
    SqliteStatement rows = database_.prepare(
        "SELECT start, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY rowid");
    while (rows.next()) {
      Nanoseconds time = 0;
      const bool fits = rows.isInteger(0) && rows.isInteger(1) && rows.isInteger(2) &&
                        !__builtin_add_overflow(rows.integer(0), origin_, &time);
      if (!fits) continue;
      jobs_.addLaunch(processOf(rows.integer(1)), rows.integer(1), rows.integer(2), time);
    }
    checkDamage(rows);
  }

  bool hasLaunches() const {
    return database_.hasColumns(kRuntime, {"start", "globalTid", "correlationId"});
  }

  /// CUpti_ActivityMemcpyKind, as far as it occurs.
  static std::string copyName(std::int64_t kind) {
    switch (kind) {
      case 1: return "host to device";
      case 2: return "device to host";
      case 8: return "device to device";
      case 9: return "host to host";
      case 10: return "device to another device";
      default: return "of kind " + std::to_string(kind);
    }
  }

  /// Notes the tables with times that are not read.
  void noteOtherTables() {
    SqliteStatement rows = database_.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'");
    std::string left;
    while (rows.next()) {
      const std::string name(rows.text(0));
      const bool isRead = name == kNvtx || name == kKernels || name == kCopies ||
                          name == kMemsets || name == kGraphs ||
                          (name == kRuntime && hasLaunches());
      if (isRead || !database_.hasColumns(name, {"start", "end"})) continue;
      left += (left.empty() ? "" : ", ") + toUtf8(name);
    }
    if (!left.empty()) {
      diagnostics_.add({.severity = Severity::kNote,
                        .file = file_,
                        .message = "tables that are not read were left out: " + left});
    }
  }

  bool addTo() {
    struct Numbered {
      RanksInProcess ranks;
      int first = 0;
    };
    std::map<std::int64_t, Numbered> ranks;  // by process
    for (const auto& [lane, events] : lanes_) ranks.try_emplace(lane.first);
    int next = ranks.size() == 1 ? request_.rankOfFile() : request_.nextRank;
    for (auto& [process, of] : ranks) {
      of.ranks = ranksOf(process);
      const int count = static_cast<int>(of.ranks.count());
      of.first = ranks.size() == 1 && next <= kHighestRank / count - 1 ? next * count : next;
      next = of.first + count;
      for (int rank = of.first; rank < next; ++rank) {
        RankInfo& info = timeline_.ranks[rank];
        info.rank = rank;
        info.device = "process " + std::to_string(process);
      }
      jobs_.faultsOf(process).addTo(timeline_.ranks[of.first]);
      if (of.ranks.areSeveral()) {
        diagnostics_.add(
            {.severity = Severity::kNote, .file = file_, .message = of.ranks.note(of.first)});
      }
    }
    for (auto& [lane, events] : lanes_) {
      const Numbered& of = ranks.at(lane.first);
      const auto device = deviceOf_.find(lane);
      if (!of.ranks.areSeveral() || device != deviceOf_.end()) {
        const int rank =
            of.first +
            (device == deviceOf_.end() ? 0 : of.ranks.rankOfPlace({true, device->second}));
        std::vector<Event>& target = timeline_.track(rank, lane.second).events;
        target.insert(target.end(), events.begin(), events.end());
        continue;
      }
      for (const Event& event : events) {
        const int rank = of.first + of.ranks.rankOfJob(event.job);
        timeline_.track(rank, lane.second).events.push_back(event);
      }
    }
    const StringId stream = timeline_.strings.intern("stream");
    for (const NsysJobs::Moved& moved : jobs_.moved()) {
      const Numbered& of = ranks.at(moved.stream.first);
      const int rank = of.first + of.ranks.rankOfPlace({true, deviceOf_.at(moved.stream)});
      Event& event = timeline_.track(rank, moved.lane).events.emplace_back(moved.event);
      const Argument argument = Argument::ofInteger(stream, streamOf_.at(moved.stream));
      timeline_.addArguments(event, {&argument, 1});
    }
    return ranks.size() == 1 ? request_.isRankGuessed() : request_.nextRank > 0;
  }

  /// The devices of a process are ranks where each runs stages of its own.
  RanksInProcess ranksOf(std::int64_t process) const {
    std::map<std::int64_t, RanksInProcess::Place> placeOf;
    std::set<std::int64_t> devices;
    for (const auto& [lane, device] : deviceOf_) {
      if (lane.first == process) devices.insert(device);
    }
    const auto jobs = lanes_.find({process, std::string(kComputeLane)});
    if (devices.size() < 2 || jobs == lanes_.end()) return RanksInProcess();
    for (const auto& [lane, device] : deviceOf_) {
      if (lane.first != process) continue;
      for (const Event& event : lanes_.at(lane)) {
        const bool isWork = event.job >= 0 && event.kind == JobKind::kKernel;
        if (isWork) placeOf.try_emplace(event.job, RanksInProcess::Place{true, device});
      }
    }
    return {0, jobs->second, placeOf};
  }

  const SqliteDatabase& database_;
  const std::string& file_;
  const ReadRequest& request_;
  JobTime jobTime_;
  Timeline& timeline_;
  Diagnostics& diagnostics_;
  ForeignNames names_;
  std::unordered_map<std::int64_t, StringId> strings_;
  std::unordered_map<std::int64_t, StringId> threadNames_;
  NsysJobs jobs_;
  NsysJobs::Lanes lanes_;
  std::map<NsysJobs::Lane, std::int64_t> deviceOf_;  // by lane of a stream
  std::map<NsysJobs::Lane, std::int64_t> streamOf_;  // the same
  Nanoseconds origin_ = 0;
};

}  // namespace

bool isNsysExport(const SqliteDatabase& database) {
  for (const std::string_view table : {kNvtx, kKernels, kCopies, kMemsets}) {
    if (database.hasColumns(table, {"start", "end"})) return true;
  }
  return database.hasColumns("StringIds", {"id", "value"}) && database.hasTable("ANALYSIS_DETAILS");
}

bool readNsysExport(const SqliteDatabase& database, const std::string& file,
                    const ReadRequest& request, Timeline& timeline, Diagnostics& diagnostics) {
  return ExportReader(database, file, request, timeline, diagnostics).read();
}

}  // namespace pipetrace
