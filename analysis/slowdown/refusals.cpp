#include "analysis/slowdown/refusals.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "trace/log/fused_pair.h"
#include "trace/text/count_text.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// Jobs of a step, or messages that a job waits for, whose input is on a rank that is missing.
std::int64_t countLacking(const JobGraph& graph, const RunWork& work, std::size_t step) {
  std::int64_t count = 0;
  for (std::size_t r = 0; r < graph.ranks().size(); ++r) {
    work.fetch(step, r);
    for (const Id id : work.chain(step, r)) {
      if (work.isCollective(id)) continue;
      const JobGraph::Node& node = graph.node(id);
      bool lacks = node.lacksInput;
      for (const Id input : node.inputs) {
        if (input == JobGraph::kNone || !graph.node(input).isMessage) continue;
        lacks = lacks || graph.node(input).lacksInput;
      }
      if (lacks) ++count;
    }
  }
  return count;
}

/// Why the jobs of a step, of pipelines of several ranks, cannot be linked.
std::string unlinked(const Timeline& timeline, const JobGraph& graph, const RunWork& work,
                     std::size_t step) {
  for (const auto& pipeline : graph.pipelines()) {
    if (pipeline.size() < 2) continue;
    for (const std::uint32_t r : pipeline) {
      work.fetch(step, r);
      for (const Id id : work.chain(step, r)) {
        if (work.isCollective(id)) continue;
        const JobGraph::Node& job = graph.node(id);
        if (!isCompute(job.kind)) continue;
        if (job.stage < 0) {
          return "the stages of jobs on rank " + std::to_string(graph.ranks()[r].number) +
                 " are not known";
        }
        if (job.kind == JobKind::kForwardBackward && !fusedPairOf(timeline, *job.event)) {
          return "the halves of fused jobs on rank " + std::to_string(graph.ranks()[r].number) +
                 " are not known";
        }
      }
    }
  }
  return {};
}

/// In numbered runs messages name no chunk.
bool hasMessagesWithoutStage(const Timeline& timeline, std::span<const std::int32_t> steps) {
  return std::any_of(timeline.tracks.begin(), timeline.tracks.end(), [&](const Track& track) {
    return std::any_of(track.events.begin(), track.events.end(), [&](const Event& event) {
      return isTransfer(event.kind) && (event.stage < 0 || event.microBatch < 0) &&
             std::binary_search(steps.begin(), steps.end(), event.step);
    });
  });
}

}  // namespace

std::string refusalOf(const Timeline& timeline, const JobGraph& graph, const RunWork& work,
                      std::span<const std::int32_t> steps, int threads) {
  std::vector<std::string> reasons(work.stepCount());
  inParallel(threads, reasons.size(),
             [&](std::size_t step) { reasons[step] = unlinked(timeline, graph, work, step); });
  for (const std::string& reason : reasons) {
    if (!reason.empty()) return reason;
  }
  if (work.isNumbered()) {
    if (hasMessagesWithoutStage(timeline, steps)) {
      return "the messages do not name the chunks that they are for";
    }
    std::set<std::size_t> sizes;
    for (const auto& pipeline : graph.pipelines()) sizes.insert(pipeline.size());
    if (sizes.size() > 1) return "ranks of some replicas are missing";
    if (work.stages().back() + 1 > static_cast<std::int32_t>(work.stages().size())) {
      return "ranks of some stages are missing";
    }
    return {};
  }
  std::vector<std::int64_t> counts(work.stepCount());
  inParallel(threads, counts.size(),
             [&](std::size_t step) { counts[step] = countLacking(graph, work, step); });
  const std::int64_t lacking = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (lacking == 0) return {};
  return countText(lacking, "job gets its input", "jobs get their inputs") +
         " from jobs that are missing: the logs of all ranks are needed";
}

}  // namespace pipetrace
