#include <cstdint>
#include <string>

#include "schedule/builders/builders.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// Far above any real plan; a zero too many must not take the machine's memory, nor its time where
// a builder looks at every rank for every rank.
constexpr std::int64_t kMostActions = 50'000'000;
constexpr int kMostRanks = 10'000;

Schedule emptyPlan(const char* name, int ranks, int microBatches, int chunks) {
  requirePlanSize(name, ranks, microBatches, chunks);
  Schedule schedule;
  schedule.name = name;
  schedule.numStages = ranks * chunks;
  schedule.numMicroBatches = microBatches;
  schedule.ranks.resize(static_cast<std::size_t>(ranks));
  schedule.rankOfStage.reserve(static_cast<std::size_t>(schedule.numStages));
  return schedule;
}

}  // namespace

void requirePlanSize(std::string_view name, int ranks, int microBatches, int chunks) {
  const std::string what = "cannot plan " + std::string(name) + " for " + std::to_string(ranks) +
                           " ranks, " + std::to_string(microBatches) + " micro-batches and " +
                           std::to_string(chunks) + (chunks == 1 ? " chunk" : " chunks");
  if (ranks < 1 || microBatches < 1 || chunks < 1) {
    throw Error(what + "; each must be at least 1");
  }
  if (ranks > kMostRanks) {
    throw Error(what + ": that is more than " + std::to_string(kMostRanks) +
                " ranks; is a number too large?");
  }
  // Dividing, as the product may not fit.
  if (kMostActions / 3 / ranks / chunks < microBatches) {
    throw Error(what + ": that is more than " + std::to_string(kMostActions) +
                " actions; is a number too large?");
  }
}

Schedule oneStagePerRank(const char* name, int ranks, int microBatches) {
  return loopedStages(name, ranks, microBatches, 1);
}

Schedule loopedStages(const char* name, int ranks, int microBatches, int chunks) {
  Schedule schedule = emptyPlan(name, ranks, microBatches, chunks);
  for (int s = 0; s < schedule.numStages; ++s) schedule.rankOfStage.push_back(s % ranks);
  return schedule;
}

Schedule vShapedStages(const char* name, int ranks, int microBatches) {
  Schedule schedule = emptyPlan(name, ranks, microBatches, 2);
  for (int s = 0; s < ranks; ++s) schedule.rankOfStage.push_back(s);
  for (int s = ranks; s < 2 * ranks; ++s) schedule.rankOfStage.push_back(2 * ranks - 1 - s);
  return schedule;
}

}  // namespace pipetrace
