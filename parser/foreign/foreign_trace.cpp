#include "parser/foreign/foreign_trace.h"

#include <algorithm>
#include <map>
#include <set>

#include "parser/device_time/ranks_in_process.h"
#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {
namespace {

/// The threads of a process that each drive a device of their own. Each has forwards and backwards,
/// one at a time, and they run at the same time as those of the others. Else empty.
std::vector<std::size_t> threadsThatAreRanks(const ForeignTrace& trace, std::size_t process) {
  std::vector<std::size_t> threads;
  std::vector<Timeline::Span> all;
  for (std::size_t i = 0; i < trace.lanes.size(); ++i) {
    if (trace.lanes[i].process != process) continue;
    std::vector<Timeline::Span> jobs;
    bool hasForward = false;
    bool hasBackward = false;
    for (const Event& event : trace.lanes[i].thread->events) {
      if (!isCompute(event.kind)) continue;
      jobs.push_back({event.begin, event.end});
      (event.kind == JobKind::kForward ? hasForward : hasBackward) = true;
    }
    if (!hasForward || !hasBackward || doOverlap(jobs)) continue;
    threads.push_back(i);
    all.insert(all.end(), jobs.begin(), jobs.end());
  }
  if (threads.size() < 2 || !doOverlap(all)) threads.clear();
  return threads;
}

void placeByProcess(ForeignTrace& trace) {
  std::vector<std::vector<std::size_t>> threads;
  int count = 0;
  for (std::size_t i = 0; i < trace.processes.size(); ++i) {
    threads.push_back(threadsThatAreRanks(trace, i));
    count += std::max(1, static_cast<int>(threads.back().size()));
  }
  int next = count == 1 ? trace.onlyRank() : trace.firstRank;
  trace.recorded.isRankGuessed = count == 1 ? !trace.nameRank : trace.firstRank > 0;
  for (std::size_t i = 0; i < trace.processes.size(); ++i) {
    ForeignTrace::Process& process = trace.processes[i];
    process.rank = next;
    next += std::max(1, static_cast<int>(threads[i].size()));
    const std::string& name = process.contents->name;
    const std::string text = name.empty() ? "process " + toText(*process.pid) : name;
    for (int rank = process.rank; rank < next; ++rank) trace.timeline.ranks[rank].device = text;
  }
  for (ForeignTrace::Lane& lane : trace.lanes) {
    lane.rank = trace.processes[lane.process].rank;
    const std::string& name = lane.thread->name;
    lane.name = name.empty() ? "thread " + toText(*lane.tid) : name;
  }
  for (std::size_t i = 0; i < trace.processes.size(); ++i) {
    if (threads[i].empty()) continue;
    const int first = trace.processes[i].rank;
    for (std::size_t t = 0; t < threads[i].size(); ++t) {
      trace.lanes[threads[i][t]].rank = first + static_cast<int>(t);
    }
    const int last = first + static_cast<int>(threads[i].size()) - 1;
    trace.diagnostics.add({.severity = Severity::kNote,
                           .file = trace.file,
                           .message = ranksInProcessNote(false, first, last)});
  }
}

bool holdsOnlyJobs(const ForeignTrace::Lane& lane) {
  const auto& events = lane.thread->events;
  return std::all_of(events.begin(), events.end(),
                     [](const Event& event) { return isComputeLane(event.kind); }) &&
         std::any_of(events.begin(), events.end(),
                     [](const Event& event) { return isCompute(event.kind); });
}

/// Gives two threads of one rank that have the same name different lanes.
void giveUniqueLanes(ForeignTrace& trace) {
  std::set<std::pair<int, std::string>> names;
  for (ForeignTrace::Lane& lane : trace.lanes) {
    if (!names.insert({lane.rank, lane.name}).second) {
      lane.name += " [" + toText(*lane.tid) + "]";
      names.insert({lane.rank, lane.name});
    }
  }
}

/// Finds the program that wrote the trace; null: it is unknown.
const ProgramTraces* tracesOf(ForeignTrace& trace) {
  bool areDescribed = false;
  const auto describe = [&] {
    if (areDescribed) return;
    areDescribed = true;
    for (ForeignTrace::Lane& lane : trace.lanes) {
      for (Event& event : lane.thread->events) trace.names.describe(event);
    }
  };
  for (const TracedProgram& program : kTracedPrograms) {
    if (program.traces.isIts == nullptr) continue;
    if (!program.traces.describesEvents) describe();
    if (program.traces.isIts(trace)) return &program.traces;
  }
  describe();
  return nullptr;
}

}  // namespace

void nameComputeLanes(ForeignTrace& trace) {
  std::map<int, std::vector<ForeignTrace::Lane*>> candidates;
  std::set<int> settled;
  for (ForeignTrace::Lane& lane : trace.lanes) {
    if (lane.name == kComputeLane) settled.insert(lane.rank);
    if (holdsOnlyJobs(lane)) candidates[lane.rank].push_back(&lane);
  }
  for (auto& [rank, lanes] : candidates) {
    if (lanes.size() == 1 && !settled.contains(rank)) lanes.front()->name = kComputeLane;
  }
}

void placeForeignTrace(ForeignTrace& trace) {
  if (const ProgramTraces* const traces = tracesOf(trace)) {
    traces->place(trace);
  } else {
    placeByProcess(trace);
    nameComputeLanes(trace);
  }
  giveUniqueLanes(trace);
}

}  // namespace pipetrace
