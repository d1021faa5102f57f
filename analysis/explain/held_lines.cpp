#include "analysis/explain/held_lines.h"

#include <algorithm>
#include <map>

#include "analysis/costs/measured_costs.h"
#include "analysis/graph/job_name.h"
#include "analysis/plans/measured_plan.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

std::string commandFor(const FollowedSchedule& followed, const Plan& plan, CommStreams lines,
                       const std::string& logs) {
  if (followed.recognised.names.empty()) return {};
  const int ranks = plan.numRanks();
  std::string command = "pipe-trace plan --schedule " + followed.recognised.names.front() +
                        " --ranks " + std::to_string(ranks) + " --micro-batches " +
                        std::to_string(plan.numMicroBatches);
  if (plan.numStages > ranks) command += " --chunks " + std::to_string(plan.numStages / ranks);
  return command + " --costs-from " + logs + " --comm-streams " +
         (lines == CommStreams::kRank ? "rank" : "peer") +
         " --transfers in-time --csv better.csv --for torch";
}

/// From the first start of a compute job.
Nanoseconds lengthOfStep(const Simulation& simulation) {
  Nanoseconds first = simulation.length;
  for (const Simulation::Rank& rank : simulation.ranks) first = std::min(first, rank.first);
  return simulation.length - first;
}

}  // namespace

CommStreams linesOfRun(const JobGraph& graph) {
  const auto peerOf = [&](Id end) {
    const Id message = graph.messageOf(end);
    const std::uint32_t receiver = graph.node(message).rank;
    if (!JobGraph::isSendEnd(end)) {
      const Id producer = graph.node(message).inputs[0];
      return producer == JobGraph::kNone ? receiver : graph.node(producer).rank;
    }
    return receiver;
  };
  const Id count = 2 * static_cast<Id>(graph.messageEnd() - graph.jobCount());
  for (Id end = 0; end < count; ++end) {
    const JobGraph::LineEnd& place = graph.lineEnd(end);
    if (!place.isOnLine || place.before == JobGraph::kNone) continue;
    if (peerOf(end) != peerOf(place.before)) return CommStreams::kRank;
  }
  return CommStreams::kPeer;
}

std::string heldLinesText(const JobGraph& graph, const CulpritGroup& group) {
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
  const Id first = fronts.front().second;
  const JobGraph::Node& message = graph.node(graph.messageOf(first));
  std::string text = messageName(graph.eventOf(first), message.microBatch) + " on rank " +
                     std::to_string(graph.ranks()[graph.lineEnd(first).rank].number);
  const std::size_t more = count - 1;
  const bool isOne = more == 0;
  if (!isOne) {
    const std::string kind = sends == 0 ? "receive" : sends == count ? "send" : "message";
    text += " and " + std::to_string(more) + " more " + kind + (more == 1 ? "" : "s");
  }
  text += sends == 0 ? std::string(", posted before ") + (isOne ? "its" : "their") + " data came,"
          : sends == count ? ", whose turn at the receiver came later,"
                           : ", whose data or whose turn at the other end came later,";
  return text + (isOne ? " holds up messages behind it" : " hold up messages behind them");
}

std::optional<RunInTime> runInTime(const Run& of, const std::string& logs) {
  const JobGraph& graph = of.graph();
  const FollowedSchedule& followed = of.schedule();
  if (!graph.hasLines() || followed.step < 0) return std::nullopt;
  MeasuredPlan measured =
      measuredPlan(of.timeline(), of.topology(), followed.replica, followed.step);
  if (!measured.isWhole()) return std::nullopt;
  try {
    const Costs costs = measuredCosts(of);
    RunInTime run{.lines = linesOfRun(graph)};
    run.command = commandFor(followed, measured.plan, run.lines, logs);
    const CheckedPlan order(std::move(measured.plan));
    const CheckedPlan inTime(withMessagesInTime(order, costs));
    run.length = lengthOfStep(simulate(inTime, costs, {.commStreams = run.lines}));
    return run;
  } catch (const Error&) {
    return std::nullopt;  // a plan that cannot be simulated, as one with jobs that are missing
  }
}

}  // namespace pipetrace
