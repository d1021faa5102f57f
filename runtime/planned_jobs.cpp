#include "runtime/planned_jobs.h"

#include "trace/error.h"

namespace pipetrace {

namespace {

MessageEnd endAt(const Plan& plan, int neighbour, int receiver, const Action& action,
                 Direction direction) {
  if (neighbour < 0 || neighbour >= plan.numStages) return {};
  return {.rank = plan.rankOfStage[static_cast<std::size_t>(neighbour)],
          .key = {.stage = receiver, .microBatch = action.microBatch, .direction = direction}};
}

/// Refuses plans that would silently train in another way than planned.
void requirePlain(const Plan& plan) {
  const std::string cannot = "cannot run the plan " + plan.name + ": ";
  if (plan.updates.every > 0) {
    throw Error(cannot +
                "its weights change without a flush; training and rehearsals take one "
                "optimizer step after all micro-batches");
  }
  if (plan.isBidirectional()) {
    throw Error(cannot +
                "each of its stages is on two ranks; training and rehearsals keep a stage "
                "on one");
  }
}

}  // namespace

std::vector<PlannedJob> plannedJobs(const Plan& plan, int rank) {
  requirePlain(plan);
  std::vector<PlannedJob> jobs;
  for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
    const bool forward = action.kind == JobKind::kForward;
    if (!forward && action.kind != JobKind::kBackward) {
      throw Error("the plan " + plan.name + " has the action " + toText(action) +
                  "; training and rehearsals run forward (F) and whole backward (B) actions only" +
                  (isTransfer(action.kind) ? ", and see to the messages themselves" : ""));
    }
    const int towards = forward ? 1 : -1;
    const Direction direction = forward ? Direction::kForward : Direction::kBackward;
    const int s = action.stage;
    jobs.push_back({.action = action,
                    .text = toText(action),
                    .chunk = plan.chunkOfStage(s),
                    .input = endAt(plan, s - towards, s, action, direction),
                    .output = endAt(plan, s + towards, s + towards, action, direction)});
  }
  return jobs;
}

}  // namespace pipetrace
