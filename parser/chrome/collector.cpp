#include "parser/chrome/collector.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <unordered_map>

#include "parser/foreign/kineto_trace.h"
#include "parser/foreign/place_foreign_trace.h"
#include "parser/profile/common_format.h"
#include "parser/profile/slice_matcher.h"
#include "parser/profile/viewer_rows.h"
#include "parser/runs/rank_names.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

namespace cf = common_format;

}  // namespace

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

}  // namespace pipetrace
