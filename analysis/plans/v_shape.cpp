#include "analysis/plans/v_shape.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/plans/measured_plan.h"

namespace pipetrace {
namespace {

/// Whether rank r has the stages r and p + r, and no other.
bool isLoopedTwice(const Plan& plan) {
  const int ranks = plan.numRanks();
  if (ranks < 2 || plan.numStages != 2 * ranks) return false;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto isOwn = [&](int stage) { return stage < 0 || stage % ranks == rank; };
    const auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    const bool fits = std::all_of(row.begin(), row.end(), [&](const Action& action) {
      return isOwn(action.stage) && isOwn(action.backwardStage);
    });
    if (!fits || row.empty()) return false;
  }
  return true;
}

/// By micro-batch: the forward of a rank's second stage; null where there is none.
std::vector<const Event*> secondForwards(const MeasuredPlan& measured, std::size_t rank) {
  const Plan& plan = measured.plan;
  std::vector<const Event*> forwards(static_cast<std::size_t>(plan.numMicroBatches), nullptr);
  for (std::size_t i = 0; i < plan.ranks[rank].size(); ++i) {
    const Action& action = plan.ranks[rank][i];
    const bool isForward =
        action.kind == JobKind::kForward || action.kind == JobKind::kForwardBackward;
    if (!isForward || action.stage < plan.numRanks()) continue;
    forwards[static_cast<std::size_t>(action.microBatch)] = measured.jobs[rank][i];
  }
  return forwards;
}

/// Whether micro-batches come to the second stages from the last rank to the first. A few that do
/// not may come from clocks that differ.
bool runsBack(const MeasuredPlan& measured) {
  std::int64_t pairs = 0;
  std::int64_t there = 0;  // the earlier rank was through first, as it must be in a looped plan
  std::int64_t back = 0;
  std::vector<const Event*> earlier = secondForwards(measured, 0);
  for (std::size_t rank = 1; rank < measured.plan.ranks.size(); ++rank) {
    std::vector<const Event*> later = secondForwards(measured, rank);
    for (std::size_t m = 0; m < later.size(); ++m) {
      if (earlier[m] == nullptr || later[m] == nullptr) continue;
      ++pairs;
      there += earlier[m]->end <= later[m]->begin ? 1 : 0;
      back += later[m]->end <= earlier[m]->begin ? 1 : 0;
    }
    earlier = std::move(later);
  }
  return pairs > 0 && 10 * back >= 9 * pairs && 10 * there <= pairs;
}

}  // namespace

bool turnVShaped(MeasuredPlan& measured) {
  Plan& plan = measured.plan;
  if (!isLoopedTwice(plan) || !runsBack(measured)) return false;
  const int ranks = plan.numRanks();
  const auto turn = [&](int& stage) {
    if (stage >= ranks) stage = 3 * ranks - 1 - stage;
  };
  for (auto& row : plan.ranks) {
    for (Action& action : row) {
      turn(action.stage);
      turn(action.backwardStage);
    }
  }
  return true;
}

}  // namespace pipetrace
