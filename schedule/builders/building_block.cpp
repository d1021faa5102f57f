#include "schedule/builders/building_block.h"

#include <cstddef>
#include <limits>

namespace pipetrace {
namespace {

/// The jobs of a pass on a stage: one micro-batch after the other, an interval apart.
struct Series {
  JobKind kind;
  int stage;
  std::int64_t begin;
};

std::vector<Series> seriesOfRank(const Plan& plan, const BuildingBlock& block, int rank) {
  std::vector<Series> series;
  for (const int stage : plan.stagesOfRank(rank)) {
    const auto s = static_cast<std::size_t>(stage);
    series.push_back({JobKind::kForward, stage, block.forward[s]});
    series.push_back({JobKind::kBackwardInput, stage, block.backwardInput[s]});
  }
  return series;
}

}  // namespace

Plan repeat(Plan plan, const BuildingBlock& block) {
  const int microBatches = plan.numMicroBatches;
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const std::vector<Series> series = seriesOfRank(plan, block, rank);
    std::vector<int> next(series.size(), 0);
    const auto begin = [&](std::size_t i) {
      return next[i] == microBatches ? std::numeric_limits<std::int64_t>::max()
                                     : series[i].begin + block.interval * next[i];
    };
    auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t n = series.size() * static_cast<std::size_t>(microBatches); n > 0; --n) {
      std::size_t first = 0;
      for (std::size_t i = 1; i < series.size(); ++i) {
        if (begin(i) < begin(first)) first = i;
      }
      actions.push_back({series[first].kind, series[first].stage, next[first]++});
    }
  }
  return plan;
}

}  // namespace pipetrace
