#include "schedule/builders/placements.h"

#include <cstdint>
#include <string>

#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

// Far above any real plan. A zero too many must not take the machine's memory, nor its time where a
// builder looks at every rank for every rank.
constexpr std::int64_t kMostActions = 50'000'000;
constexpr int kMostRanks = 10'000;

}  // namespace

void requirePlanSize(std::string_view name, const PlanSize& size) {
  const auto& [ranks, microBatches, chunks] = size;
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

Plan emptyPlan(const ScheduleInfo& schedule, const PlanSize& size) {
  requirePlanSize(schedule.name, size);
  Plan plan;
  plan.name = schedule.name;
  plan.numStages = size.ranks * size.chunks;
  plan.numMicroBatches = size.microBatches;
  plan.ranks.resize(static_cast<std::size_t>(size.ranks));
  plan.placement.ranksOfStage.reserve(static_cast<std::size_t>(plan.numStages));
  for (int s = 0; s < plan.numStages; ++s) {
    const bool turnsBack = schedule.places == StagePlaces::kVShaped && s >= size.ranks;
    const int rank = turnsBack ? plan.numStages - 1 - s : s % size.ranks;
    plan.placement.ranksOfStage.push_back({rank});
    if (schedule.isBidirectional) {
      plan.placement.ranksOfStage.back().push_back(size.ranks - 1 - rank);
    }
  }
  if (schedule.isBidirectional) plan.placement.run = (size.microBatches + 1) / 2;
  return plan;
}

}  // namespace pipetrace
