#include "analysis/explain/slower_stages.h"

#include <tuple>

#include "analysis/ratio.h"
#include "trace/log/fused_pair.h"

namespace pipetrace {

using Id = JobGraph::Id;

SlowerStages::SlowerStages(const Timeline& timeline, const RunBasis& basis)
    : timeline_(timeline), basis_(basis) {
  const JobGraph& graph = basis.graph();
  std::set<std::tuple<int, std::int32_t, JobKind>> known;
  std::map<std::int32_t, Stage> pairs;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isCompute(job.kind) || !known.insert({rank.number, job.stage, job.kind}).second) {
        continue;
      }
      const bool isPair = job.kind == JobKind::kForwardBackward;
      if (!isPair) unfused_.insert(job.stage);
      Stage& stage = isPair ? pairs[job.stage] : stages_[job.stage];
      stage.own += static_cast<double>(basis.times().median(id));
      stage.usual += static_cast<double>(basis.times().balanced(id));
      stage.ranks.insert(rank.number);
    }
  }
  for (auto& [number, stage] : pairs) {
    const auto [place, isNew] = stages_.try_emplace(number, stage);
    if (!isNew) place->second.ranks.insert(stage.ranks.begin(), stage.ranks.end());
  }
}

std::int32_t SlowerStages::toBlame(Id id) const {
  const JobGraph::Node& job = basis_.graph().node(id);
  if (job.kind != JobKind::kForwardBackward) return job.stage;
  const auto pair = fusedPairOf(timeline_, *job.event);
  if (!pair || !unfused_.contains(pair->forwardStage) || !unfused_.contains(pair->backwardStage)) {
    return job.stage;
  }
  const auto factor = [&](int stage) { return ratio(of(stage).own, of(stage).usual); };
  return factor(pair->backwardStage) > factor(pair->forwardStage) ? pair->backwardStage
                                                                  : pair->forwardStage;
}

}  // namespace pipetrace
