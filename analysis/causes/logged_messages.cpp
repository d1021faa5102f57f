#include "analysis/causes/logged_messages.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/planned_message.h"
#include "trace/error.h"
#include "trace/job_kind.h"

namespace pipetrace {
namespace {

/// A send or a receive, and when it began.
struct LoggedEnd {
  Nanoseconds begin = 0;
  Action action;
};

/// The row with its sends and receives. A send comes after the job that makes its message, a
/// receive before the one that needs it, whatever the clocks say.
std::vector<Action> rowWith(const std::vector<Action>& row, const std::vector<Nanoseconds>& begins,
                            std::vector<LoggedEnd> ends) {
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const auto needs = [](const Action& job, const Action& receive) {
    const PlannedMessages to = messagesTo(job);
    return std::find(to.begin(), to.end(), messageOf(receive)) != to.end();
  };
  const auto makes = [](const Action& job, const Action& send) {
    const PlannedMessages from = messagesFrom(job);
    return std::find(from.begin(), from.end(), messageOf(send)) != from.end();
  };
  // The place of each end: it stands before the job of that index.
  std::vector<std::vector<Action>> before(row.size() + 1);
  std::size_t least = 0;  // ends keep their order
  for (const LoggedEnd& end : ends) {
    std::size_t place = least;
    while (place < row.size() && begins[place] < end.begin) ++place;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (isSend(end.action.kind) && makes(row[i], end.action)) place = std::max(place, i + 1);
      if (isRecv(end.action.kind) && needs(row[i], end.action)) place = std::min(place, i);
    }
    place = std::max(place, least);
    before[place].push_back(end.action);
    least = place;
  }
  std::vector<Action> all;
  for (std::size_t i = 0; i <= row.size(); ++i) {
    all.insert(all.end(), before[i].begin(), before[i].end());
    if (i < row.size()) all.push_back(row[i]);
  }
  return all;
}

}  // namespace

Plan withLoggedMessages(const Plan& plan, const MeasuredPlan& measured, const JobGraph& graph,
                        std::int32_t step) {
  std::map<std::int32_t, int> microBatches;
  for (std::size_t i = 0; i < measured.microBatchNumbers.size(); ++i) {
    microBatches[measured.microBatchNumbers[i]] = static_cast<int>(i);
  }
  const auto positionOf = [&](std::uint32_t rank) {
    const auto at = std::find(measured.rankNumbers.begin(), measured.rankNumbers.end(),
                              graph.ranks()[rank].number);
    return static_cast<std::size_t>(at - measured.rankNumbers.begin());
  };
  std::vector<std::vector<LoggedEnd>> ends(plan.ranks.size() + 1);
  for (auto id = static_cast<JobGraph::Id>(graph.jobCount()); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& node = graph.node(id);
    const JobGraph::Message& message = graph.message(id);
    const auto microBatch = microBatches.find(node.microBatch);
    if (node.step != step || node.inputs[0] == JobGraph::kNone) continue;
    if (microBatch == microBatches.end() || node.stage < 0) continue;
    const bool isForward = isForwardTransfer(node.kind);
    // A send that stands alone names the stage that makes the message.
    const int to = message.receive != nullptr ? node.stage : node.stage + (isForward ? 1 : -1);
    const PlannedMessage planned{isForward, isForward ? to - 1 : to + 1, microBatch->second};
    const Event& sent = message.send != nullptr ? *message.send : *message.receive;
    const Event& received = message.receive != nullptr ? *message.receive : *message.send;
    const std::size_t from = positionOf(graph.node(node.inputs[0]).rank);
    const std::size_t at = positionOf(node.rank);
    if (from >= plan.ranks.size() || at >= plan.ranks.size()) continue;
    ends[from].push_back({sent.begin, sendOf(planned)});
    ends[at].push_back({received.begin, receiveOf(planned)});
  }
  Plan full = plan;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    // Jobs that the plan has beside the measured ones stand right before one of those.
    std::vector<Nanoseconds> begins;
    std::size_t next = 0;
    const std::vector<const Event*>& jobs = measured.jobs[r];
    for (std::size_t i = 0; i < plan.ranks[r].size(); ++i) {
      if (next >= jobs.size()) return {};
      begins.push_back(jobs[next]->begin);
      if (plan.ranks[r][i].kind != JobKind::kRecompute) ++next;
    }
    full.ranks[r] = rowWith(plan.ranks[r], begins, std::move(ends[r]));
  }
  try {
    return *CheckedPlan(std::move(full));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace pipetrace
