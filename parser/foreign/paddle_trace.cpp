#include <algorithm>
#include <list>

#include "parser/foreign/foreign_trace.h"
#include "parser/foreign/names/name_pattern.h"
#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {
namespace {

constexpr std::string_view kCategory = "pipeline timeline";
constexpr Nanoseconds kPerUnit = 1000;  // the records hold milliseconds in place of microseconds

void describe(Event& event, ForeignTrace& trace) {
  static const std::list<NamePattern> patterns = [] {
    std::list<NamePattern> list;
    for (const NameRow& row : paddleNames()) list.emplace_back(row.pattern, row.kind);
    return list;
  }();
  if (trace.names.describeAsAsked(event)) return;
  for (const NamePattern& pattern : patterns) {
    const auto job = pattern.match(trace.timeline.strings[event.name]);
    if (!job) continue;
    event.kind = job->kind;
    return trace.names.give(event, *job);
  }
}

}  // namespace

bool isPaddleTrace(const ForeignTrace& trace) {
  const StringId category = trace.timeline.strings.intern(kCategory);
  return !trace.lanes.empty() &&
         std::all_of(trace.lanes.begin(), trace.lanes.end(), [&](const ForeignTrace::Lane& lane) {
           const auto& events = lane.thread->events;
           return !lane.tid->isText && lane.tid->number > 0 && lane.tid->number <= kHighestRank &&
                  std::all_of(events.begin(), events.end(), [&](const Event& event) {
                    return trace.names.categoryOf(event) == category;
                  });
         });
}

void placePaddleTrace(ForeignTrace& trace) {
  for (ForeignTrace::Lane& lane : trace.lanes) {
    lane.rank = static_cast<int>(lane.tid->number) - 1;
    lane.name = kComputeLane;
    trace.timeline.ranks[lane.rank].rank = lane.rank;
    std::erase_if(lane.thread->events, [](Event& event) {
      return __builtin_mul_overflow(event.begin, kPerUnit, &event.begin) ||
             __builtin_mul_overflow(event.end, kPerUnit, &event.end);
    });
    for (Event& event : lane.thread->events) {
      describe(event, trace);
      // Where ranks have several chunks, the stage follows from the depth of the pipeline.
      if (isCompute(event.kind) && event.chunk == kNotGiven) event.stage = lane.rank;
    }
  }
}

}  // namespace pipetrace
