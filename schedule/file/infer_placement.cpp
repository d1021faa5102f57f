#include "schedule/file/infer_placement.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "schedule/check/plan_index.h"

namespace pipetrace {
namespace {

/// Calls visit(rank, stage, microBatch) for all work and transfers.
template <typename Visit>
void forEachPlace(const Plan& plan, const Visit& visit) {
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    for (const Action& action : plan.ranks[static_cast<std::size_t>(rank)]) {
      if (action.stage < 0 || isDataParallel(action.kind)) continue;  // below 0: not read
      visit(rank, action.stage, action.microBatch);
      if (action.kind == JobKind::kForwardBackward) {
        visit(rank, action.backwardStage, action.backwardMicroBatch);
      }
    }
  }
}

/// By stage: the rank that has most of its actions, of the micro-batches before `end`.
std::vector<int> mostFrequentRanks(const Plan& plan, int end) {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;  // (stage, rank)
  forEachPlace(plan, [&](int rank, int stage, int microBatch) {
    if (microBatch < end) places.emplace_back(stage, rank);
  });
  std::sort(places.begin(), places.end());
  std::vector<int> ranks(static_cast<std::size_t>(plan.numStages), -1);
  std::vector<std::ptrdiff_t> most(ranks.size(), 0);
  for (auto from = places.begin(); from != places.end();) {
    const auto to = std::find_if(from, places.end(), [&](const auto& p) { return p != *from; });
    const auto stage = static_cast<std::size_t>(from->first);
    if (to - from > most[stage]) {
      most[stage] = to - from;
      ranks[stage] = static_cast<int>(from->second);
    }
    from = to;
  }
  return ranks;
}

struct Mistakes {
  std::int64_t oneDirection = 0;
  std::int64_t twoDirections = 0;
  int firstReversed = 0;  // of the best reading with two directions
};

Mistakes countMistakes(const Plan& plan, int size, const std::vector<int>& oneWay,
                       const std::vector<int>& there, const std::vector<int>& back) {
  Mistakes mistakes;
  const auto microBatches = static_cast<std::size_t>(size);
  std::vector<std::int64_t> wrongThere(microBatches, 0);
  std::vector<std::int64_t> wrongBack(microBatches, 0);
  forEachPlace(plan, [&](int rank, int stage, int microBatch) {
    const auto s = static_cast<std::size_t>(stage);
    const auto m = static_cast<std::size_t>(microBatch);
    if (m >= microBatches) return;
    mistakes.oneDirection += oneWay[s] != rank;
    wrongThere[m] += there[s] != rank;
    wrongBack[m] += back[s] != rank;
  });
  std::int64_t sum = 0;
  for (const std::int64_t wrong : wrongBack) sum += wrong;
  mistakes.twoDirections = sum;
  for (std::size_t m = 0; m < microBatches; ++m) {
    sum += wrongThere[m] - wrongBack[m];
    // A run of 1 takes turns.
    if (sum >= mistakes.twoDirections || (m == 0 && microBatches > 2)) continue;
    mistakes.twoDirections = sum;
    mistakes.firstReversed = static_cast<int>(m) + 1;
  }
  return mistakes;
}

}  // namespace

void inferPlacement(Plan& plan) {
  const std::vector<int> oneWay = mostFrequentRanks(plan, plan.numMicroBatches);
  plan.placement = Placement::ofRanks(oneWay);
  plan.replicas = 1;
  if (plan.ranks.empty() || plan.numStages % plan.numRanks() != 0) return;
  if (plan.numMicroBatches < 2) return;
  bool isOneWay = true;
  forEachPlace(plan, [&](int rank, int stage, int /*microBatch*/) {
    isOneWay = isOneWay && oneWay[static_cast<std::size_t>(stage)] == rank;
  });
  if (isOneWay) return;
  std::size_t actions = 0;
  for (const auto& list : plan.ranks) actions += list.size();
  const int microBatches = sizeWithoutStrays(plan).microBatches;
  if (static_cast<std::size_t>(microBatches) > actions) return;  // a number too large

  const int firstHalf = (microBatches + 1) / 2;
  const std::vector<int> there = mostFrequentRanks(plan, firstHalf);
  std::vector<int> back(there.rbegin(), there.rend());
  Mistakes mistakes = countMistakes(plan, microBatches, oneWay, there, back);
  if (back == there) {  // V-shaped: not the stages, but the ranks are in the other order
    for (int& rank : back) rank = rank < 0 ? rank : plan.numRanks() - 1 - rank;
    mistakes = countMistakes(plan, microBatches, oneWay, there, back);
  }
  if (mistakes.twoDirections >= mistakes.oneDirection || mistakes.firstReversed == 0) return;
  for (std::size_t s = 0; s < there.size(); ++s) {
    plan.placement.ranksOfStage[s] = {there[s], back[s]};
  }
  plan.placement.run = mistakes.firstReversed;
}

}  // namespace pipetrace
