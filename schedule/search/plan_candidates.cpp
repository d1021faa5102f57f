#include "schedule/search/plan_candidates.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "schedule/builders/building_block.h"
#include "schedule/builders/schedules.h"

namespace pipetrace {
namespace {

/// How a micro-batch goes through the pipeline, in multiples of the way without waiting. And how
/// long it waits at the turn, in tenths of an interval.
struct Pace {
  int forward = 1;
  int backward = 1;
  int turn = 0;
};

// On one stage a rank, 1 + 2 is 1F1B, 2 + 4 is ZB-H2. On two, 1 + 1 is V-Min, and the wait at the
// turn trades memory for bubbles.
constexpr Pace kOneStagePaces[] = {{1, 1, 0}, {1, 2, 0}, {2, 2, 0}, {2, 3, 0},
                                   {2, 4, 0}, {3, 4, 0}, {4, 4, 0}};
constexpr Pace kPaces[] = {{1, 1, 0},  {1, 1, 5}, {1, 1, 10}, {1, 1, 20},
                           {1, 1, 40}, {1, 2, 0}, {2, 2, 0}};

BuildingBlock blockOf(const Plan& shape, const Costs& costs, const Pace& pace) {
  const auto stages = static_cast<std::size_t>(shape.numStages);
  BuildingBlock block;
  for (const std::vector<int>& ofRank : shape.stagesByRank()) {
    Nanoseconds work = 0;
    for (const int s : ofRank) {
      const StageCosts& stage = costs.stages[static_cast<std::size_t>(s)];
      work += stage.forward + stage.backwardInput + stage.backwardWeight;
    }
    block.interval = std::max(block.interval, work);
  }
  const auto hop = [&](std::size_t s) {
    return shape.placement.ranksOfStage[s] == shape.placement.ranksOfStage[s + 1] ? 0
                                                                                  : costs.transfer;
  };
  Nanoseconds time = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    block.forward.push_back(time);
    time += (costs.stages[s].forward + (s + 1 < stages ? hop(s) : 0)) * pace.forward;
  }
  time += block.interval / 10 * pace.turn;
  block.backwardInput.resize(stages);
  for (std::size_t s = stages; s-- > 0;) {
    block.backwardInput[s] = time;
    time += (costs.stages[s].backwardInput + (s > 0 ? hop(s - 1) : 0)) * pace.backward;
  }
  return block;
}

}  // namespace

std::vector<Plan> builtPlans(const PlanSize& size) {
  std::vector<const ScheduleInfo*> fitting;
  for (const ScheduleInfo* const info : schedules::kAll) {
    const bool fits = !info->isAsynchronous && !info->isForwardOnly && !info->dependsOnCosts &&
                      info->leastChunks <= size.chunks && size.chunks <= info->mostChunks;
    if (fits) fitting.push_back(info);
  }
  // Fewer chunks first, and kin together: of plans that are as good, the first is taken.
  const auto keyOf = [](const ScheduleInfo* info) {
    const ScheduleInfo* const kin = info->chunkedKin != nullptr ? info->chunkedKin : info;
    const auto* const place =
        std::find(std::begin(schedules::kAll), std::end(schedules::kAll), kin);
    return std::array<std::ptrdiff_t, 3>{info->leastChunks, info->mostChunks,
                                         place - std::begin(schedules::kAll)};
  };
  std::stable_sort(
      fitting.begin(), fitting.end(),
      [&](const ScheduleInfo* a, const ScheduleInfo* b) { return keyOf(a) < keyOf(b); });
  std::vector<Plan> plans;
  for (const ScheduleInfo* const info : fitting) plans.push_back(info->build(size));
  return plans;
}

Plan oneAfterTheOther(Plan shape) {
  for (int m = 0; m < shape.numMicroBatches; ++m) {
    for (int s = 0; s < shape.numStages; ++s) {
      const auto rank = static_cast<std::size_t>(shape.placement.firstRankOf(s));
      shape.ranks[rank].push_back({JobKind::kForward, s, m});
    }
    for (int s = shape.numStages - 1; s >= 0; --s) {
      const auto rank = static_cast<std::size_t>(shape.placement.firstRankOf(s));
      shape.ranks[rank].push_back({JobKind::kBackward, s, m});
    }
  }
  return shape;
}

Plan orderOf(Plan plan) {
  for (std::vector<Action>& row : plan.ranks) {
    std::vector<Action> order;
    order.reserve(row.size());
    for (const Action& action : row) {
      if (action.kind == JobKind::kBackwardWeight) continue;
      if (action.kind == JobKind::kForward || action.kind == JobKind::kForwardBackward) {
        order.push_back({JobKind::kForward, action.stage, action.microBatch});
      }
      if (action.kind == JobKind::kForwardBackward) {
        order.push_back({JobKind::kBackwardInput, action.backwardStage, action.backwardMicroBatch});
      } else if (action.kind != JobKind::kForward) {
        order.push_back({JobKind::kBackwardInput, action.stage, action.microBatch});
      }
    }
    row = std::move(order);
  }
  return plan;
}

std::vector<Plan> blockOrders(const Plan& shape, const Costs& costs) {
  std::vector<Plan> orders;
  const auto add = [&](const Pace& pace) {
    orders.push_back(repeat(shape, blockOf(shape, costs, pace)));
  };
  if (shape.numStages == shape.numRanks()) {
    for (const Pace& pace : kOneStagePaces) add(pace);
  } else {
    for (const Pace& pace : kPaces) add(pace);
  }
  return orders;
}

}  // namespace pipetrace
