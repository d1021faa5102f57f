#include "analysis/explain/slower_stages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/ratio.h"
#include "trace/log/fused_pair.h"

namespace pipetrace {

using Id = JobGraph::Id;

SlowerStages::SlowerStages(const Timeline& timeline, const JobGraph& graph, const UsualTimes& times)
    : timeline_(timeline), graph_(graph) {
  std::vector<int> latestOf;  // by group of jobs: the rank whose jobs of it came last
  std::map<std::int32_t, Stage> pairs;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isCompute(job.kind)) continue;
      const std::uint32_t group = times.group(id);
      if (group == 0) continue;
      if (group >= latestOf.size()) latestOf.resize(group + 1, -1);
      if (std::exchange(latestOf[group], rank.number) == rank.number) continue;
      const bool isPair = job.kind == JobKind::kForwardBackward;
      if (!isPair) unfused_.insert(job.stage);
      Stage& stage = isPair ? pairs[job.stage] : stages_[job.stage];
      stage.own += static_cast<double>(times.median(id));
      stage.usual += static_cast<double>(times.balanced(id));
      stage.ranks.insert(rank.number);
    }
  }
  for (auto& [number, stage] : pairs) {
    const auto [place, isNew] = stages_.try_emplace(number, stage);
    if (!isNew) place->second.ranks.insert(stage.ranks.begin(), stage.ranks.end());
  }
}

const SlowerStages::Stage& SlowerStages::of(std::int32_t stage) const {
  static const Stage none;
  const auto found = stages_.find(stage);
  return found == stages_.end() ? none : found->second;
}

std::int32_t SlowerStages::slowest() const {
  return std::max_element(stages_.begin(), stages_.end(),
                          [](const auto& a, const auto& b) {
                            return ratio(a.second.own, a.second.usual) <
                                   ratio(b.second.own, b.second.usual);
                          })
      ->first;
}

SlowerStages::Factor SlowerStages::besideOthers(const std::vector<std::int32_t>& stages) const {
  double own = 0;
  double usual = 0;
  for (const std::int32_t number : stages) {
    own += of(number).own;
    usual += of(number).usual;
  }
  Factor factor{
      .times = usual > 0 ? own / usual : 2, .others = "the median of stages", .isKnown = usual > 0};
  // The median of two is the mean of both, which says less than the other stage.
  if (stages.size() == 1 && count() == 2 && factor.times < 2) {
    factor.times /= 2 - factor.times;
    factor.others = "the other stage";
  }
  return factor;
}

std::vector<std::int32_t> SlowerStages::slowOnes(const std::vector<std::int32_t>& stages) const {
  const auto longer = [&](std::int32_t stage) { return of(stage).own - of(stage).usual; };
  double most = 0;
  for (const std::int32_t stage : stages) most = std::max(most, longer(stage));
  std::vector<std::int32_t> slow;
  for (const std::int32_t stage : stages) {
    if (longer(stage) >= kPartOfMost * most) slow.push_back(stage);
  }
  return most > 0 ? slow : stages;
}

std::int32_t SlowerStages::toBlame(Id id) const {
  const JobGraph::Node& job = graph_.node(id);
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
