#include "analysis/explain/efficiency.h"

#include <algorithm>

#include "analysis/graph/order_times.h"
#include "analysis/ratio.h"
#include "analysis/steps/interval.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// Joins intervals that touch or overlap.
std::vector<Interval> unionOf(std::vector<Interval> all) {
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> joined;
  for (const Interval& each : all) {
    if (each.end <= each.begin) continue;
    if (!joined.empty() && each.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, each.end);
    } else {
      joined.push_back(each);
    }
  }
  return joined;
}

Nanoseconds lengthOf(const std::vector<Interval>& intervals) {
  Nanoseconds length = 0;
  for (const Interval& each : intervals) length += each.length();
  return length;
}

/// The time that two lists of intervals share.
std::vector<Interval> shared(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval common{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (common.end > common.begin) both.push_back(common);
    (a[i].end < b[j].end ? i : j)++;
  }
  return both;
}

}  // namespace

std::vector<StepEfficiency> efficiencyOf(const RunBasis& basis, const PipelineBasis& pipeline,
                                         const std::vector<const StepSummary*>& steps) {
  std::vector<StepEfficiency> results(steps.size());
  OrderTimes order(basis.graph(), pipeline.jobs);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepEfficiency& result = results[i];
    const StepSummary& step = *steps[i];
    const BubbleWindow& window = pipeline.windows[i];
    Nanoseconds most = 0;
    for (const RankStep& rank : step.ranks) most = std::max(most, rank.busy);
    result.parallel = 1 - step.bubbleRatio;
    result.communication = ratio(most, step.window());
    // Where all ranks are equally busy, rounding may give more than 1.
    result.loadBalance = std::min(1.0, ratio(result.parallel, result.communication));
    if (!window.isWhole || !window.hasPlan) continue;
    order.run(
        window.index, [&](JobGraph::Id job) { return basis.times().median(job); },
        [](JobGraph::Id, Nanoseconds, Nanoseconds) {});
    result.planned = order.length();
    result.schedule = ratio(result.planned, step.window());
  }
  return results;
}

CommunicationTime communicationOf(const Timeline& timeline, const JobGraph& graph,
                                  const std::map<int, std::vector<Interval>>& windows,
                                  int threads) {
  const std::size_t count = graph.ranks().size();
  std::vector<std::vector<Interval>> ofRank(count);
  for (std::size_t id = graph.jobCount(); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& message = graph.node(static_cast<JobGraph::Id>(id));
    ofRank[message.rank].push_back({message.begin, message.end});
    if (message.inputs[0] == JobGraph::kNone) continue;
    ofRank[graph.node(message.inputs[0]).rank].push_back({message.begin, message.end});
  }
  std::vector<CommunicationTime> times(count);
  inParallel(threads, count, [&](std::size_t r) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (const Track& track : timeline.tracks) {
      if (track.rank != rank.number) continue;
      for (const Event& event : track.events) {
        if (isCollective(event.kind)) ofRank[r].push_back({event.begin, event.end});
      }
    }
    std::vector<Interval> jobs;
    for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (isCompute(job.kind)) jobs.push_back({job.begin, job.end});
    }
    const auto counted = windows.find(rank.replica);
    if (counted == windows.end()) return;
    const std::vector<Interval> communication =
        shared(unionOf(std::move(ofRank[r])), unionOf(counted->second));
    times[r].all = lengthOf(communication);
    times[r].exposed = times[r].all - lengthOf(shared(communication, unionOf(std::move(jobs))));
  });
  CommunicationTime sum;
  for (const CommunicationTime& each : times) {
    sum.all += each.all;
    sum.exposed += each.exposed;
  }
  return sum;
}

}  // namespace pipetrace
