#include "analysis/causes/held_lines.h"

#include <algorithm>
#include <functional>

#include "analysis/causes/logged_messages.h"
#include "analysis/run/costs/measured_costs.h"
#include "analysis/run/graph/job_name.h"
#include "analysis/run/plans/measured_plan.h"
#include "analysis/run/run.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// From the first start of a compute job.
Nanoseconds lengthOfStep(const Simulation& simulation) {
  Nanoseconds first = simulation.length;
  for (const Simulation::Rank& rank : simulation.ranks) first = std::min(first, rank.first);
  return simulation.length - first;
}

}  // namespace

CommStreams linesOfRun(const JobGraph& graph) {
  const auto describe = [&](Id end) {
    const Id message = graph.messageOf(end);
    const JobGraph::Node& node = graph.node(message);
    const bool sends = JobGraph::isSendEnd(end);
    MessageEnd found{.peer = static_cast<int>(node.rank),
                     .sends = sends,
                     .forward = isForwardTransfer(graph.eventOf(end).kind)};
    if (!sends && node.inputs[0] != JobGraph::kNone) {
      found.peer = static_cast<int>(graph.node(node.inputs[0]).rank);
    }
    return found;
  };
  bool isOfPeers = false;  // ends of a line have different peers
  bool isOfBoth = false;   // sends and receives
  bool isOfKinds = false;  // activations and gradients
  bool hasGradients = false;
  const Id count = 2 * static_cast<Id>(graph.messageEnd() - graph.jobCount());
  for (Id end = 0; end < count; ++end) {
    const JobGraph::LineEnd& place = graph.lineEnd(end);
    if (!place.isOnLine || place.before == JobGraph::kNone) continue;
    const MessageEnd one = describe(end);
    const MessageEnd before = describe(place.before);
    isOfPeers |= one.peer != before.peer;
    isOfBoth |= one.sends != before.sends;
    isOfKinds |= one.forward != before.forward;
    hasGradients |= !one.forward;
  }
  if (!isOfPeers && !isOfBoth) return CommStreams::kEdge;
  if (hasGradients && !isOfKinds) return CommStreams::kDirection;
  return isOfPeers ? CommStreams::kRank : CommStreams::kPeer;
}

HeldLines heldLinesOf(const JobGraph& graph, const CulpritGroup& group) {
  std::vector<std::pair<Nanoseconds, Id>> fronts = group.fronts;
  std::sort(fronts.begin(), fronts.end(), std::greater<>());
  Nanoseconds left = group.time - group.time / 5;
  std::size_t count = 0;
  std::size_t sends = 0;
  while (count < fronts.size() && (count == 0 || left > 0)) {
    left -= fronts[count].first;
    sends += JobGraph::isSendEnd(fronts[count].second) ? 1 : 0;
    ++count;
  }
  using Ends = HeldLines::Ends;
  const Id first = fronts.front().second;
  const JobGraph::Node& message = graph.node(graph.messageOf(first));
  return {.first = messageName(graph.eventOf(first), message.microBatch),
          .rank = graph.ranks()[graph.lineEnd(first).rank].number,
          .count = count,
          .ends = sends == 0       ? Ends::kReceives
                  : sends == count ? Ends::kSends
                                   : Ends::kBoth};
}

std::optional<RunInTime> runInTime(const Run& of) {
  const JobGraph& graph = of.graph();
  const FollowedSchedule& followed = of.schedule();
  if (!graph.hasLines() || followed.step < 0) return std::nullopt;
  const MeasuredPlan measured =
      measuredPlan(of.timeline(), of.topology(), followed.replica, followed.step);
  if (!measured.isWhole()) return std::nullopt;
  try {
    const Costs costs = measuredCosts(of);
    RunInTime run{.lines = linesOfRun(graph)};
    if (!followed.recognised.names.empty()) run.schedule = followed.recognised.names.front();
    run.ranks = measured.plan.numRanks();
    run.microBatches = measured.plan.numMicroBatches;
    if (measured.plan.numStages > run.ranks) run.chunks = measured.plan.numStages / run.ranks;
    const auto lengthOf = [&](const CheckedPlan& plan) {
      return lengthOfStep(simulate(plan, costs, {.commStreams = run.lines}));
    };
    const Plan logged = withLoggedMessages(measured.plan, measured, graph, followed.step);
    if (logged.ranks.empty()) return std::nullopt;
    run.asItWas = lengthOf(CheckedPlan(logged));
    run.length = lengthOf(CheckedPlan(withMessagesInTime(CheckedPlan(measured.plan), costs)));
    return run;
  } catch (const Error&) {
    return std::nullopt;  // a plan that cannot be simulated, as one with jobs that are missing
  }
}

}  // namespace pipetrace
