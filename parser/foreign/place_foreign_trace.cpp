#include "parser/foreign/place_foreign_trace.h"

#include <algorithm>
#include <map>
#include <set>

#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {
namespace {

void placeByProcess(ForeignTrace& trace) {
  const int first = trace.processes.size() == 1 ? trace.onlyRank() : trace.firstRank;
  for (std::size_t i = 0; i < trace.processes.size(); ++i) {
    ForeignTrace::Process& process = trace.processes[i];
    process.rank = first + static_cast<int>(i);
    const std::string& name = process.contents->name;
    trace.timeline.ranks[process.rank].device =
        name.empty() ? "process " + toText(*process.pid) : name;
  }
  for (ForeignTrace::Lane& lane : trace.lanes) {
    lane.rank = trace.processes[lane.process].rank;
    const std::string& name = lane.thread->name;
    lane.name = name.empty() ? "thread " + toText(*lane.tid) : name;
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
