#include "analysis/causes/efficiency.h"

#include <algorithm>

#include "analysis/ratio.h"
#include "analysis/run/steps/interval.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

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

std::vector<StepEfficiency> efficiencyOf(const PipelineBasis& pipeline,
                                         const std::vector<const StepSummary*>& steps,
                                         std::size_t first) {
  std::vector<StepEfficiency> results(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepEfficiency& result = results[i];
    const StepSummary& step = *steps[i];
    const BubbleWindow& window = pipeline.windows[first + i];
    Nanoseconds most = 0;
    double busy = 0;
    for (const RankStep& rank : step.ranks) {
      most = std::max(most, rank.busy);
      busy += static_cast<double>(rank.busy);
    }
    result.parallel = 1 - step.bubbleRatio;
    result.communication = ratio(most, step.window());
    result.loadBalance =
        ratio(busy, static_cast<double>(most) * static_cast<double>(step.ranks.size()));
    // The plan of an asynchronous run is longer than its window.
    if (!window.isWhole || window.lacksRanks || window.isWholeRun) continue;
    result.planned = window.ownLength;
    result.schedule = ratio(result.planned, step.window());
  }
  return results;
}

CommunicationTime communicationOf(const Timeline& timeline, const JobGraph& graph,
                                  const std::map<int, std::vector<Interval>>& windows, int threads,
                                  std::size_t manyMessages) {
  const std::size_t count = graph.ranks().size();
  // By part of the messages and by rank, so that several threads can fill them.
  const std::size_t parts = graph.messageEnd() - graph.jobCount() < manyMessages ? 1 : 8;
  std::vector<std::vector<std::vector<Interval>>> messages(parts);
  inParallel(threads, parts, [&](std::size_t part) {
    messages[part].resize(count);
    const std::size_t total = graph.messageEnd() - graph.jobCount();
    const std::size_t end = graph.jobCount() + (part + 1) * total / parts;
    for (std::size_t id = graph.jobCount() + part * total / parts; id < end; ++id) {
      const JobGraph::Node& message = graph.node(static_cast<JobGraph::Id>(id));
      messages[part][message.rank].push_back({message.begin, message.end});
      if (message.inputs[0] == JobGraph::kNone) continue;
      messages[part][graph.node(message.inputs[0]).rank].push_back({message.begin, message.end});
    }
  });
  std::vector<CommunicationTime> times(count);
  inParallel(threads, count, [&](std::size_t r) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    std::vector<Interval> all;
    for (std::vector<std::vector<Interval>>& part : messages) {
      all.insert(all.end(), part[r].begin(), part[r].end());
      part[r] = {};
    }
    const auto& tracks = timeline.tracks;  // in the order of ranks
    auto track = std::partition_point(tracks.begin(), tracks.end(),
                                      [&](const Track& each) { return each.rank < rank.number; });
    for (; track != tracks.end() && track->rank == rank.number; ++track) {
      for (const Event& event : track->events) {
        if (isCollective(event.kind)) all.push_back({event.begin, event.end});
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
        shared(unionOf(std::move(all)), unionOf(counted->second));
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
