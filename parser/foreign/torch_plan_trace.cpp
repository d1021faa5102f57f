#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {
namespace {

constexpr std::string_view kComputation = "computation";
constexpr std::string_view kCommunication = "communication";
constexpr std::string_view kOthersLane = "collectives";

/// The meaning of an action, "0F0", which annotations call "PP:0F0".
const JobName& meaningOf(const Event& event, const ForeignTrace& trace, ForeignNames& names) {
  std::string name = "PP:";
  name += trace.timeline.strings[event.name];
  return names.known(trace.timeline.strings.intern(name));
}

std::string_view laneOfAction(JobKind kind) {
  if (isSend(kind)) return kSendLane;
  if (isRecv(kind)) return kRecvLane;
  return isCompute(kind) ? kComputeLane : kOthersLane;
}

}  // namespace

bool isTorchPlanTrace(const ForeignTrace& trace) {
  const StringId computation = trace.timeline.strings.intern(kComputation);
  const StringId communication = trace.timeline.strings.intern(kCommunication);
  ForeignNames names(nullptr, trace.timeline);
  bool computes = false;
  for (const ForeignTrace::Lane& lane : trace.lanes) {
    const ChromeId& pid = *trace.processes[lane.process].pid;
    if (pid.isText || pid != *lane.tid || pid.number < 0 || pid.number > kHighestRank) return false;
    for (const Event& event : lane.thread->events) {
      const StringId category = names.categoryOf(event);
      const JobName& meaning = meaningOf(event, trace, names);
      const bool fits =
          category == computation ? isCompute(meaning.kind) : category == communication;
      if (!fits) return false;
      computes = computes || category == computation;
    }
  }
  return computes;
}

void placeTorchPlanTrace(ForeignTrace& trace) {
  std::map<std::pair<std::size_t, std::string_view>, std::vector<Event>> lanes;
  for (std::size_t i = 0; i < trace.lanes.size(); ++i) {
    ForeignTrace::Lane& lane = trace.lanes[i];
    ForeignTrace::Process& process = trace.processes[lane.process];
    lane.rank = process.rank = static_cast<int>(process.pid->number);
    trace.timeline.ranks[lane.rank].rank = lane.rank;
    for (Event& event : lane.thread->events) {
      if (!trace.names.describeAsAsked(event)) {
        const JobName& meaning = meaningOf(event, trace, trace.names);
        event.kind = meaning.kind;
        trace.names.give(event, meaning);
      }
      lanes[{i, laneOfAction(event.kind)}].push_back(event);
    }
  }
  std::vector<ForeignTrace::Lane> split;
  for (auto& [place, events] : lanes) {
    trace.made.emplace_back().events = std::move(events);
    ForeignTrace::Lane lane = trace.lanes[place.first];
    lane.thread = &trace.made.back();
    lane.name = place.second;
    split.push_back(std::move(lane));
  }
  trace.lanes = std::move(split);
  trace.diagnostics.add(
      {.file = trace.file,
       .message = "it is a plan that torch's _dump_chrometrace wrote, no recording: each action "
                  "takes one step of the plan, which counts as 1 us",
       .advice =
           "shares of time are those of such a plan; pipe-trace plan gives its actions costs"});
}

}  // namespace pipetrace
