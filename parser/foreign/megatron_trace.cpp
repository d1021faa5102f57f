#include <algorithm>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/names/programs/programs.h"
#include "parser/foreign/pipeline_positions.h"
#include "parser/trace_reader.h"

namespace pipetrace {

bool isMegatronTrace(const ForeignTrace& trace) {
  if (!trace.names.hasPositions()) return false;
  const bool hasRanks =
      std::all_of(trace.processes.begin(), trace.processes.end(), [&](const auto& process) {
        const ChromeId& pid = *process.pid;
        return !pid.isText && pid.number >= 0 && pid.number <= kHighestRank - trace.firstRank;
      });
  if (!hasRanks) return false;
  return std::any_of(trace.lanes.begin(), trace.lanes.end(), [](const auto& lane) {
    const auto& events = lane.thread->events;
    return std::any_of(events.begin(), events.end(), [](const Event& event) {
      return isCompute(event.kind) && event.stage != kNotGiven && event.step != kNotGiven;
    });
  });
}

void placeMegatronTrace(ForeignTrace& trace) {
  trace.recorded.isRankGuessed = trace.firstRank > 0;
  for (ForeignTrace::Process& process : trace.processes) {
    process.rank = trace.firstRank + static_cast<int>(process.pid->number);
  }
  LanesOfRanks lanes;
  for (ForeignTrace::Lane& lane : trace.lanes) {
    lane.rank = trace.processes[lane.process].rank;
    lane.name = lane.thread->name.empty() ? "thread " + toText(*lane.tid) : lane.thread->name;
    lanes.emplace_back(lane.rank, &lane.thread->events);
  }
  giveVirtualStages(lanes, trace.timeline);
  nameComputeLanes(trace);
}

}  // namespace pipetrace
