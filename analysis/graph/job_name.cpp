#include "analysis/graph/job_name.h"

#include "schedule/action.h"
#include "trace/display_name.h"
#include "trace/log/fused_pair.h"

namespace pipetrace {

std::string jobName(const Timeline& timeline, const JobGraph::Node& job) {
  const Event& event = *job.event;
  if (const auto pair = fusedPairOf(timeline, event)) {
    return toText(Action{event.kind, pair->forwardStage, pair->forwardMicroBatch,
                         pair->backwardStage, pair->backwardMicroBatch});
  }
  if (!isCompute(event.kind)) return displayName(timeline, event);
  Event named = event;
  named.microBatch = job.microBatch;
  const std::string name = shortName(named);
  return event.stage < 0 ? name : std::to_string(event.stage) + name;
}

}  // namespace pipetrace
