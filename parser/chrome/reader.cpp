#include "parser/chrome/reader.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "parser/chrome/arrow_ends.h"
#include "parser/chrome/blocks.h"
#include "parser/chrome/event.h"
#include "parser/chrome/format.h"
#include "parser/chrome/parsed_block.h"
#include "parser/chrome/trace.h"
#include "parser/foreign/chrome_process.h"
#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/kineto_trace.h"
#include "parser/json/json_splitter.h"
#include "parser/profile/common_format.h"
#include "parser/profile/slice_matcher.h"
#include "parser/profile/viewer_rows.h"
#include "parser/runs/rank_names.h"
#include "parser/trace_reader.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/turns.h"

namespace pipetrace {

namespace {

/// Makes tracks of the threads of a Chrome trace, once all names and the origin of time are known.
class ChromeCollector {
 public:
  /// `trace` must outlive it.
  explicit ChromeCollector(ChromeTrace& trace)
      : trace_(trace), timeline_(trace.timeline), diagnostics_(trace.diagnostics) {}

  /// Adds everything to the timeline and returns the number of events. Call it once.
  std::int64_t finish(const ReadRequest& request);

 private:
  using Row = ChromeProcess::Thread;
  using Edge = ChromeProcess::Edge;

  void matchEdges(Row& row);
  void shiftToEpoch(std::vector<Event>& events, Nanoseconds origin);
  std::int64_t finishOurs();
  std::int64_t finishForeign(const ReadRequest& request);
  ForeignTrace foreignTrace(const ReadRequest& request);
  std::vector<ForeignTrace::ForwardArrow> forwardArrows() const;
  void shiftForeign(ForeignTrace& trace, Nanoseconds base);
  void reportArrows();
  void reportMissingBase(const ForeignTrace& trace);
  void reportOtherRank(const ForeignTrace& trace);
  std::int64_t moveRow(Row& row, int rank, const std::string& lane);
  void complain(const char* message, std::int64_t line, const char* advice = "",
                std::int64_t count = 1);

  ChromeTrace& trace_;
  Timeline& timeline_;
  Diagnostics& diagnostics_;
};

namespace cf = common_format;

void ChromeCollector::complain(const char* message, std::int64_t line, const char* advice,
                               std::int64_t count) {
  diagnostics_.add(
      {.file = trace_.file, .line = line, .message = message, .advice = advice, .count = count});
}

/// Makes spans of the begins and ends of one thread, which nest.
void ChromeCollector::matchEdges(Row& row) {
  std::vector<SliceEdge> edges;
  edges.reserve(row.edges.size());
  for (const Edge& edge : row.edges) {
    edges.push_back({.time = edge.event.begin,
                     .index = static_cast<std::uint32_t>(edges.size()),
                     .isBegin = edge.isBegin});
  }
  const auto close = [&](const SliceEdge& begin, Nanoseconds time, const Event* end) {
    endSlice(row.events.emplace_back(row.edges[begin.index].event), time, end, timeline_);
  };
  const auto open = matchSlices(
      edges,
      [&](const SliceEdge& begin, const SliceEdge& end) {
        close(begin, end.time, &row.edges[end.index].event);
      },
      [&](const SliceEdge& end) {
        complain("an `E` event has no `B` before it and was left out", row.edges[end.index].line);
      });
  if (open.empty()) return;
  Nanoseconds last = edges.back().time;
  for (const Event& event : row.events) last = std::max(last, event.end);
  for (auto begin = open.rbegin(); begin != open.rend(); ++begin) {
    complain("a `B` event has no `E`; it is taken to last until the end of its thread",
             row.edges[begin->index].line, "the recording was stopped in the middle of it");
    close(*begin, last, nullptr);
  }
}

void ChromeCollector::shiftToEpoch(std::vector<Event>& events, Nanoseconds origin) {
  const auto isOut = [&](Event& event) {
    return __builtin_add_overflow(event.begin, origin, &event.begin) ||
           __builtin_add_overflow(event.end, origin, &event.end);
  };
  const auto kept = std::remove_if(events.begin(), events.end(), isOut);
  if (kept == events.end()) return;
  complain("an event has no time that can be used and was left out", 0, "", events.end() - kept);
  events.erase(kept, events.end());
}

std::int64_t ChromeCollector::moveRow(Row& row, int rank, const std::string& lane) {
  const auto count = static_cast<std::int64_t>(row.events.size());
  std::vector<Event>& target = timeline_.track(rank, lane).events;
  if (target.empty()) {
    target = std::move(row.events);
  } else {
    target.insert(target.end(), row.events.begin(), row.events.end());
  }
  return count;
}

std::int64_t ChromeCollector::finishOurs() {
  std::int64_t count = 0;
  if (trace_.metadata->format > cf::kVersion) {
    complain("the profile was written in a newer format than this program knows", 0);
  }
  for (const auto& [rank, info] : trace_.metadata->ranks) {
    if (timeline_.ranks.contains(rank)) {
      complain("a rank of it was read from another file already; the events are put together", 0,
               "give the files of one run only");
    }
    timeline_.ranks[rank] = info;
  }
  std::map<std::pair<int, std::string>, CounterSeries> counters;
  for (CounterSeries& series : trace_.metadata->counters) {
    counters[{series.rank, series.name}] = std::move(series);
  }
  for (auto& [pid, process] : trace_.processes) {
    const bool isRank =
        !pid.isText && pid.number >= 1 && pid.number <= ViewerRows::pidOf(kHighestRank);
    if (!isRank) {
      complain("a process is no rank (its pid is not a number from 1) and was left out", 0);
      continue;
    }
    const int rank = static_cast<int>(pid.number - 1);
    for (auto& [tid, row] : process.threads) {
      matchEdges(row);
      shiftToEpoch(row.events, trace_.metadata->origin);
      count += moveRow(row, rank, row.lane.empty() ? row.name : row.lane);
    }
    for (auto& [name, series] : process.counters) {
      CounterSeries& target = counters[{rank, name}];
      target.rank = rank;
      target.name = name;
      for (CounterSample sample : series.samples) {
        if (!__builtin_add_overflow(sample.time, trace_.metadata->origin, &sample.time)) {
          target.samples.push_back(sample);
        }
      }
    }
  }
  for (auto& [key, series] : counters) timeline_.counters.push_back(std::move(series));
  return count;
}

/// The processes in the order of their sort index and pid, with their contents.
ForeignTrace ChromeCollector::foreignTrace(const ReadRequest& request) {
  ForeignTrace trace{.timeline = timeline_,
                     .kineto = trace_.kineto,
                     .names = ForeignNames(request.kinds, timeline_),
                     .diagnostics = diagnostics_,
                     .file = trace_.file,
                     .jobTime = request.jobTime,
                     .firstRank = request.nextRank,
                     .nameRank = request.rank ? request.rank : request.nameRank,
                     .threads = request.threads,
                     .processes = {},
                     .lanes = {},
                     .made = {},
                     .forwardArrows = forwardArrows(),
                     .recorded = {}};
  for (auto& [pid, process] : trace_.processes) {
    bool isUsed = !process.counters.empty();
    for (auto& [tid, row] : process.threads) {
      matchEdges(row);
      isUsed = isUsed || !row.events.empty();
    }
    if (isUsed) trace.processes.push_back({&pid, &process, 0});
  }
  std::stable_sort(
      trace.processes.begin(), trace.processes.end(),
      [](const auto& a, const auto& b) { return a.contents->sortIndex < b.contents->sortIndex; });
  for (std::size_t i = 0; i < trace.processes.size(); ++i) {
    for (auto& [tid, row] : trace.processes[i].contents->threads) {
      if (!row.events.empty()) trace.lanes.push_back({i, &tid, &row, 0, {}});
    }
  }
  return trace;
}

/// The arrows between forward operators and their backwards, whose ends have been read.
std::vector<ForeignTrace::ForwardArrow> ChromeCollector::forwardArrows() const {
  std::unordered_map<std::uint64_t, const ChromeArrowEnd*> begins;
  for (const ChromeArrowEnd& end : trace_.ends) {
    if (end.isForwardBackward && end.what == ChromeArrowEnd::What::kBegin) begins[end.arrow] = &end;
  }
  std::vector<ForeignTrace::ForwardArrow> arrows;
  for (const ChromeArrowEnd& end : trace_.ends) {
    const auto begin = begins.find(end.arrow);
    if (end.what == ChromeArrowEnd::What::kBegin || begin == begins.end()) continue;
    const ChromeArrowEnd& from = *begin->second;
    arrows.push_back({from.thread, from.time, end.thread, end.time});
  }
  return arrows;
}

/// Shifts times of the program's own clock, which began at `base`, to times since the epoch.
void ChromeCollector::shiftForeign(ForeignTrace& trace, Nanoseconds base) {
  for (ForeignTrace::Lane& lane : trace.lanes) shiftToEpoch(lane.thread->events, base);
  for (ForeignTrace::ForwardArrow& arrow : trace.forwardArrows) {
    // Where that overflows, the events at its ends are left out.
    if (__builtin_add_overflow(arrow.begin, base, &arrow.begin) ||
        __builtin_add_overflow(arrow.end, base, &arrow.end)) {
      arrow = {};
    }
  }
  for (ForeignTrace::Process& process : trace.processes) {
    for (auto& [name, series] : process.contents->counters) {
      std::erase_if(series.samples, [&](CounterSample& sample) {
        return __builtin_add_overflow(sample.time, base, &sample.time);
      });
    }
  }
}

void ChromeCollector::reportArrows() {
  if (trace_.arrowEnds == 0) return;
  diagnostics_.add({.severity = Severity::kNote,
                    .file = trace_.file,
                    .line = trace_.firstArrow,
                    .message = "an end of an arrow between events was left out",
                    .advice = "arrows are drawn again, between the jobs of a micro-batch",
                    .count = trace_.arrowEnds});
}

/// Old versions of PyTorch wrote times since the epoch, and no base.
void ChromeCollector::reportMissingBase(const ForeignTrace& trace) {
  constexpr Nanoseconds kYear2001 = 1'000'000'000 * kNsPerSecond;
  std::atomic<bool> isOld{false};
  inParallel(trace.threads, trace.lanes.size(), [&](std::size_t lane) {
    const auto& events = trace.lanes[lane].thread->events;
    const bool found = std::any_of(events.begin(), events.end(),
                                   [](const Event& event) { return event.begin >= kYear2001; });
    if (found) isOld = true;
  });
  if (isOld || trace.lanes.empty()) return;
  complain("it lacks baseTimeNanoseconds, so its times do not count from the epoch", 0,
           "durations are right; to put it beside other files, record or copy it again");
}

void ChromeCollector::reportOtherRank(const ForeignTrace& trace) {
  const std::optional<int> rank = trace_.kineto.rank;
  const bool isKineto = !trace.recorded.run.empty();
  if (!isKineto || !rank || !trace.nameRank || rank == trace.nameRank) return;
  diagnostics_.add({.severity = Severity::kNote,
                    .file = trace_.file,
                    .message = "it is rank " + std::to_string(*rank) +
                               ", as its distributedInfo says; its name says rank " +
                               std::to_string(*trace.nameRank)});
}

std::int64_t ChromeCollector::finishForeign(const ReadRequest& request) {
  reportArrows();
  ForeignTrace trace = foreignTrace(request);
  if (trace_.kineto.base) {
    shiftForeign(trace, *trace_.kineto.base);
  } else if (trace_.kineto.isThere || hasKinetoCategories(trace)) {
    reportMissingBase(trace);
  }
  std::set<int> taken;
  for (const auto& [rank, info] : timeline_.ranks) taken.insert(rank);
  if (trace_.kineto.host.empty()) trace_.kineto.host = hostInName(trace_.file);
  placeForeignTrace(trace);
  reportOtherRank(trace);
  trace_.recorded = std::move(trace.recorded);
  const bool isTaken = std::any_of(trace.lanes.begin(), trace.lanes.end(),
                                   [&](const auto& lane) { return taken.contains(lane.rank); });
  if (isTaken) {
    complain("a rank of it was read from another file already; the events are put together", 0,
             "give the files of one run only");
  }
  std::int64_t count = 0;
  for (ForeignTrace::Lane& lane : trace.lanes) {
    timeline_.ranks[lane.rank].rank = lane.rank;
    count += moveRow(*lane.thread, lane.rank, lane.name);
  }
  for (const ForeignTrace::Process& process : trace.processes) {
    for (auto& [name, series] : process.contents->counters) {
      timeline_.ranks[process.rank].rank = process.rank;
      series.rank = process.rank;
      timeline_.counters.push_back(std::move(series));
    }
  }
  return count;
}

std::int64_t ChromeCollector::finish(const ReadRequest& request) {
  return trace_.metadata ? finishOurs() : finishForeign(request);
}

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view withoutBlanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

void note(Diagnostics& diagnostics, const ByteSource& source, std::int64_t line,
          const char* message, const char* advice) {
  diagnostics.add({.file = source.name(), .line = line, .message = message, .advice = advice});
}

/// Reading a smaller file takes less time than starting a thread.
constexpr std::size_t kWorthThreads = std::size_t{4} << 20;

int threadsFor(ByteSource& source, const ReadRequest& request, std::size_t blockSize) {
  const auto size = source.plainSize();
  const bool isSmall = size && *size < std::min(kWorthThreads, 16 * blockSize);
  return isSmall ? 1 : threadCount(request.threads);
}

void readPiece(const JsonSplitter::Piece& piece, ParsedChromeBlock& parsed) {
  switch (piece.kind) {
    case JsonSplitter::Kind::kField: return parsed.addField(piece.key, piece.text);
    case JsonSplitter::Kind::kBroken: return parsed.addBroken(ChromePlace({}, piece.line));
    case JsonSplitter::Kind::kEvent: return readChromeElement(piece.text, piece.line, parsed);
  }
}

/// The work of each thread that reads a trace. `size`: of the input; 0: not known.
void readBlocks(ChromeBlocks& blocks, Turns& turns, double size, ChromeTrace& trace) {
  ParsedChromeBlock parsed(trace.file);
  ChromeBlocks::Block block;
  const auto use = [&](const JsonSplitter::Piece& piece) { readPiece(piece, parsed); };
  while (blocks.next(block, use)) {
    const std::size_t read = readChromeElements(block.text, block.line, parsed);
    if (!turns.await(block.number)) return;
    if (blocks.settle(block, read)) {
      trace.read = size > 0 ? static_cast<double>(block.end) / size : 0;
      parsed.moveTo(trace);
    } else {
      parsed.forget();
    }
    turns.finish();
  }
}

/// Whether the input is events alone, one after the other, without the brackets of a list.
bool isBareList(std::string_view head) {
  head = withoutBlanks(head);
  if (!head.starts_with('{')) return false;
  JsonValueScanner scanner;
  std::size_t last = 0;
  while (last < head.size() && scanner.feed(head[last]) == JsonValueScanner::Result::kMore) ++last;
  if (last == head.size()) return false;
  const std::string_view first = head.substr(0, last + 1);
  ChromeEvent event;
  return first.find(chrome_format::kTraceEvents) == std::string_view::npos &&
         parseChromeEvent(first, event) && !event.phase.empty();
}

/// Whether a field of the trace, besides its events, is used.
bool isWantedField(std::string_view key) {
  return key == chrome_format::kOtherData || KinetoInfo::isField(key);
}

bool hasSpans(const ChromeTrace& trace) {
  for (const auto& [pid, process] : trace.processes) {
    for (const auto& [tid, thread] : process.threads) {
      if (!thread.events.empty()) return true;
    }
  }
  return false;
}

}  // namespace

FormatMatch ChromeJsonReader::probe(std::string_view head) const {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  head = withoutBlanks(head);
  if (head.empty()) return FormatMatch::kNo;
  std::string_view inner = withoutBlanks(head.substr(1));
  // Some programs write a comma before each element, the first one too.
  if (inner.starts_with(',')) inner = withoutBlanks(inner.substr(1));
  const char first = inner.empty() ? '\0' : inner.front();
  const bool isArray = head.front() == '[' && (first == '{' || first == ']');
  const bool isObject = head.front() == '{' && (first == '"' || first == '}');
  if (!isArray && !isObject) return FormatMatch::kNo;
  const bool hasEvents = head.find("\"traceEvents\"") != std::string_view::npos ||
                         head.find("\"ph\"") != std::string_view::npos;
  return hasEvents ? FormatMatch::kCertain : FormatMatch::kLikely;
}

ReadOutcome ChromeJsonReader::read(ByteSource& source, const ReadRequest& request,
                                   Timeline& timeline, Diagnostics& diagnostics) const {
  const bool isBare = isBareList(source.peek(kProbeSize));
  JsonSplitter splitter(
      source,
      {.array = chrome_format::kTraceEvents, .isWanted = isWantedField, .isBareList = isBare});
  ChromeTrace trace{.timeline = timeline, .diagnostics = diagnostics, .file = source.name()};
  const auto size = static_cast<double>(source.plainSize().value_or(0));
  ChromeBlocks blocks(splitter, reading_ == ChromeReading::kFast ? blockSize_ : 0);
  Turns::run(threadsFor(source, request, blockSize_), [&](Turns& turns) {
    try {
      readBlocks(blocks, turns, size, trace);
    } catch (...) {
      blocks.giveUp();
      throw;
    }
  });
  if (splitter.isNested()) {
    diagnostics.add(
        {.severity = Severity::kNote,
         .file = source.name(),
         .message = "its \"traceEvents\" is no list but a whole trace, which was read"});
  }
  if (splitter.cutOff()) {
    note(diagnostics, source, 0,
         splitter.cutInElement() ? "the file ends in the middle of an event, which was left out"
                                 : "the file ends before its JSON does",
         "events are missing; copy or record it again");
  }
  if (request.run >= 0) {
    diagnostics.add(
        {.severity = Severity::kNote,
         .file = source.name(),
         .message = "a profile holds one run only, which was read whatever --run says"});
  }
  ReadOutcome outcome;
  outcome.arrows = trace.metadata ? trace.arrows : countChromeArrows(trace.ends, hasSpans(trace));
  outcome.events = ChromeCollector(trace).finish(request);
  outcome.process = std::move(trace.recorded);
  if (outcome.events == 0) {
    outcome.whyNone = trace.elements == 0 ? "it is JSON without any element of \"traceEvents\""
                                          : "it is JSON with " + std::to_string(trace.elements) +
                                                " trace events, none with a length";
  }
  return outcome;
}

}  // namespace pipetrace
