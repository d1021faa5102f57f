#include "analysis/run/graph/job_name.h"

#include <algorithm>

#include "schedule/action.h"
#include "trace/log/fused_pair.h"
#include "trace/text/display_name.h"

namespace pipetrace {

std::string jobName(const Timeline& timeline, const JobGraph::Node& job) {
  if (job.microBatch == job.event->microBatch) return jobName(timeline, *job.event);
  Event named = *job.event;
  named.microBatch = job.microBatch;
  return jobName(timeline, named);
}

std::string jobName(const Timeline& timeline, const Event& event) {
  if (const auto pair = fusedPairOf(timeline, event)) {
    return toText(Action{event.kind, pair->forwardStage, pair->forwardMicroBatch,
                         pair->backwardStage, pair->backwardMicroBatch});
  }
  if (!isCompute(event.kind)) return displayName(timeline, event);
  return actionName(event);
}

std::string messageName(const Event& end, std::int32_t microBatch) {
  const std::string text = toText(Action{end.kind, std::max(0, end.stage), microBatch});
  return end.stage >= 0 ? text : text.substr(text.find_first_not_of("0123456789"));
}

}  // namespace pipetrace
