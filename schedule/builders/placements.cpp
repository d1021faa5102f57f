#include "schedule/builders/placements.h"

#include <cstdint>
#include <string>

#include "trace/error.h"
#include "trace/text/count_text.h"

namespace pipetrace {
namespace {

// Far above any real plan. A zero too many must not take the machine's memory, nor its time where a
// builder looks at every rank for every rank.
constexpr std::int64_t kMostActions = 50'000'000;
constexpr int kMostRanks = 10'000;

Plan emptyPlan(const char* name, int ranks, int microBatches, int chunks) {
  requirePlanSize(name, ranks, microBatches, chunks);
  Plan plan;
  plan.name = name;
  plan.numStages = ranks * chunks;
  plan.numMicroBatches = microBatches;
  plan.ranks.resize(static_cast<std::size_t>(ranks));
  plan.placement.ranksOfStage.reserve(static_cast<std::size_t>(plan.numStages));
  return plan;
}

}  // namespace

void requirePlanSize(std::string_view name, int ranks, int microBatches, int chunks) {
  const std::string what = "cannot plan " + std::string(name) + " for " + std::to_string(ranks) +
                           " ranks, " + std::to_string(microBatches) + " micro-batches and " +
                           countText(chunks, "chunk");
  if (ranks < 1 || microBatches < 1 || chunks < 1) {
    throw Error(what + "; each must be at least 1");
  }
  if (ranks > kMostRanks) {
    throw Error(what + ": that is more than " + std::to_string(kMostRanks) +
                " ranks; is a number too large?");
  }
  // Divides, as the product may not fit.
  if (kMostActions / 3 / ranks / chunks < microBatches) {
    throw Error(what + ": that is more than " + std::to_string(kMostActions) +
                " actions; is a number too large?");
  }
}

Plan oneStagePerRank(const char* name, int ranks, int microBatches) {
  return loopedStages(name, ranks, microBatches, 1);
}

Plan loopedStages(const char* name, int ranks, int microBatches, int chunks) {
  Plan plan = emptyPlan(name, ranks, microBatches, chunks);
  for (int s = 0; s < plan.numStages; ++s) plan.placement.ranksOfStage.push_back({s % ranks});
  return plan;
}

Plan vShapedStages(const char* name, int ranks, int microBatches) {
  Plan plan = emptyPlan(name, ranks, microBatches, 2);
  for (int s = 0; s < ranks; ++s) plan.placement.ranksOfStage.push_back({s});
  for (int s = ranks; s < 2 * ranks; ++s)
    plan.placement.ranksOfStage.push_back({2 * ranks - 1 - s});
  return plan;
}

}  // namespace pipetrace
