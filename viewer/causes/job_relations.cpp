#include "viewer/causes/job_relations.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/graph/made_data.h"

namespace pipetrace {

/// Visits the jobs of the pipeline that are of the job's step, those near it in time first.
template <typename Visit>
void JobRelations::visitStep(Id job, const Visit& visit) const {
  const JobGraph::Node& node = graph_.node(job);
  const auto& pipeline = graph_.pipelines()[places_.pipelineOf(node.rank)];
  const std::size_t most = std::max<std::size_t>(64, kMostJobs / pipeline.size());
  for (const std::uint32_t r : pipeline) {
    const JobGraph::Rank& rank = graph_.ranks()[r];
    const auto jobs = graph_.nodes().subspan(rank.first, rank.end - rank.first);
    const auto at = std::partition_point(jobs.begin(), jobs.end(),
                                         [&](const auto& each) { return each.begin < node.begin; });
    const auto middle = rank.first + static_cast<Id>(at - jobs.begin());
    // Jobs without a step of their own, such as `default`, may stand between those of a step.
    const auto isOther = [&](Id id) {
      return graph_.node(id).step >= 0 && graph_.node(id).step != node.step;
    };
    std::size_t left = most;
    for (Id id = middle; id < rank.end && left > 0 && !isOther(id); ++id, --left) visit(id);
    left = most;
    for (Id id = middle; id > rank.first && left > 0 && !isOther(id - 1); --id, --left) {
      visit(id - 1);
    }
  }
}

std::vector<JobRelations::Made> JobRelations::madeBy(Id job) const {
  std::vector<Made> made;
  visitMadeData(places_.model().timeline(), graph_.node(job), [&](const JobKey& key) {
    made.push_back({job, key.stage, key.microBatch, key.isForward});
  });
  return made;
}

std::vector<Relation> JobRelations::waitedFor(Id id) const {
  std::vector<Relation> found;
  const JobGraph::Node& node = graph_.node(id);
  if (node.before != JobGraph::kNone) {
    found.push_back({.job = node.before, .kind = Relation::Kind::kLane});
  }
  if (node.collective != JobGraph::kNone) {
    found.push_back({.job = node.collective, .kind = Relation::Kind::kCollective});
  }
  for (int i = 0; i < 2; ++i) {
    const Id input = node.inputs[i];
    if (input == JobGraph::kNone) continue;
    const bool isMessage = graph_.node(input).isMessage;
    const Id maker = graph_.producer(id, i);
    if (maker == JobGraph::kNone && !isMessage) continue;
    found.push_back(
        {.job = maker == JobGraph::kNone ? input : maker,
         .message = isMessage ? input : JobGraph::kNone,
         .kind = node.isCollective ? Relation::Kind::kCollective : Relation::Kind::kData});
  }
  const Id last = places_.explanation().basis->paths().predecessor(id);
  for (Relation& relation : found) {
    relation.isLast = last != JobGraph::kNone && (relation.job == last || relation.message == last);
  }
  return found;
}

std::vector<Relation> JobRelations::waiting(Id id) const {
  std::vector<Relation> found;
  const auto& paths = places_.explanation().basis->paths();
  visitStep(id, [&](Id other) {
    if (other == id) return;
    const JobGraph::Node& node = graph_.node(other);
    const auto add = [&](Relation::Kind kind, Id message) {
      const Id last = paths.predecessor(other);
      const bool isLast = last != JobGraph::kNone && (last == id || last == message);
      found.push_back({.job = other, .message = message, .kind = kind, .isLast = isLast});
    };
    for (int i = 0; i < 2; ++i) {
      const Id input = node.inputs[i];
      if (input == JobGraph::kNone || (input != id && graph_.producer(other, i) != id)) continue;
      return add(Relation::Kind::kData, graph_.node(input).isMessage ? input : JobGraph::kNone);
    }
    if (node.collective == id) return add(Relation::Kind::kCollective, JobGraph::kNone);
    if (node.before == id) add(Relation::Kind::kLane, JobGraph::kNone);
  });
  // The next step's first job waits for the last one of this step.
  const JobGraph::Rank& rank = graph_.ranks()[graph_.node(id).rank];
  const bool isJob = id >= rank.first && id + 1 < rank.end;
  if (isJob && graph_.node(id + 1).before == id &&
      std::none_of(found.begin(), found.end(), [&](const auto& r) { return r.job == id + 1; })) {
    found.push_back({.job = id + 1, .isLast = paths.predecessor(id + 1) == id});
  }
  std::sort(found.begin(), found.end(), [&](const Relation& a, const Relation& b) {
    return std::pair(graph_.node(a.job).begin, a.job) < std::pair(graph_.node(b.job).begin, b.job);
  });
  return found;
}

JobRelations::Id JobRelations::waitedForLast(Id node) const {
  const auto& paths = places_.explanation().basis->paths();
  const auto isJob = [&](Id id) { return id < graph_.jobCount(); };
  Id at = paths.predecessor(node);
  // Paths end at an optimizer, which yet follows the job before it.
  if (at == JobGraph::kNone) at = graph_.node(node).before;
  while (at != JobGraph::kNone && !isJob(at)) at = paths.predecessor(at);
  return at;
}

JobRelations::Id JobRelations::waitingFirst(Id node) const {
  const std::vector<Relation> all = waiting(node);
  const auto last =
      std::find_if(all.begin(), all.end(), [](const Relation& each) { return each.isLast; });
  if (last != all.end()) return last->job;
  return all.empty() ? JobGraph::kNone : all.front().job;
}

/// Finds what the jobs of its step make of the job's micro-batches.
std::vector<JobRelations::Made> JobRelations::madeAround(Id job) const {
  const std::vector<Made> own = madeBy(job);
  std::vector<std::int32_t> microBatches;
  for (const Made& made : own) microBatches.push_back(made.microBatch);
  const JobGraph::Node& node = graph_.node(job);
  if (own.empty() && isCompute(node.kind)) microBatches.push_back(node.microBatch);
  std::vector<Made> all;
  visitStep(job, [&](Id other) {
    const JobGraph::Node& each = graph_.node(other);
    const bool isPair = each.kind == JobKind::kForwardBackward;
    const auto isAsked = [&](std::int32_t microBatch) {
      return std::find(microBatches.begin(), microBatches.end(), microBatch) != microBatches.end();
    };
    if (!isCompute(each.kind) || (!isPair && !isAsked(each.microBatch))) return;
    for (const Made& made : madeBy(other)) {
      if (isAsked(made.microBatch)) all.push_back(made);
    }
  });
  return all;
}

std::vector<ChainLink> JobRelations::chainOf(Id job) const {
  if (job >= graph_.jobCount()) return {};
  using Key = std::pair<std::int32_t, std::int32_t>;  // micro-batch, place on the way
  const std::vector<Made> made = madeAround(job);
  std::int32_t stages = 0;
  for (const Made& each : made) stages = std::max(stages, each.stage + 1);
  // Forward through the stages 0 .. s − 1, then back: places s .. 2 s − 1.
  std::map<Key, Id> way;
  for (const Made& each : made) {
    if (each.stage < 0) continue;
    const std::int32_t place = each.isForward ? each.stage : 2 * stages - 1 - each.stage;
    Id& at = way.try_emplace({each.microBatch, place}, each.job).first->second;
    if (graph_.node(at).end < graph_.node(each.job).end) at = each.job;  // the last of its parts
  }
  std::vector<ChainLink> chain;
  for (const auto& [key, to] : way) {
    const auto from = way.find({key.first, key.second - 1});
    if (from == way.end() || from->second == to) continue;
    ChainLink link{from->second, to, JobGraph::kNone};
    for (int i = 0; i < 2; ++i) {
      const bool isIt = graph_.producer(to, i) == link.from;
      if (isIt && graph_.node(graph_.node(to).inputs[i]).isMessage) {
        link.message = graph_.node(to).inputs[i];
      }
    }
    chain.push_back(link);
  }
  return chain;
}

}  // namespace pipetrace
