#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/schedules.h"
#include "schedule/builders/stage_ranks.h"

namespace pipetrace {
namespace {

Plan fThenB(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kFThenB, size);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank);
    for (int m = 0; m < size.microBatches; ++m) row.forward();
    for (int m = 0; m < size.microBatches; ++m) row.backward();
  }
  return plan;
}

// Source: GPipe, Huang et al. 2019, figure 2c.
Plan gPipe(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kGPipe, size);
  for (int stage = 0; stage < size.ranks; ++stage) {
    auto& actions = plan.ranks[static_cast<std::size_t>(stage)];
    for (int m = 0; m < size.microBatches; ++m) actions.push_back({JobKind::kForward, stage, m});
    for (int m = size.microBatches - 1; m >= 0; --m) {
      actions.push_back({JobKind::kBackward, stage, m});
    }
  }
  return plan;
}

/// (m + p - 1) (F + B) + m R; peak m. Source: Huang et al. 2019.
std::optional<ClosedForm> formOfGPipe(const FormInput& given) {
  return formOf(given, flushedLength(given), [&](int) { return given.m; });
}

}  // namespace

// Also torch's GPipe, which runs backwards in order.
const ScheduleInfo schedules::kFThenB = complete({
    .name = "FThenB",
    .aliases = "ScheduleGPipe, AFAB, AllForwardAllBackward, PipelineFThenBPass",
    .summary = "all forwards, then all backwards, oldest first",
    .build = fThenB,
    .onStageRanks =
        [](const StageMap& map, int microBatches) {
          return onStageRanks(OrderOfRow::kOldestFirst, schedules::kFThenB, map, microBatches);
        },
    .closedForm = formOfGPipe,
    .formHasRecompute = true,
    .chunkedKin = &schedules::kLoopedBfs,
    .torch = "GPipe",
});

const ScheduleInfo schedules::kGPipe = complete({
    .name = "GPipe",
    .aliases = "Fill-Drain",
    .summary = "all forwards, then all backwards, newest first",
    .build = gPipe,
    .onStageRanks =
        [](const StageMap& map, int microBatches) {
          return onStageRanks(OrderOfRow::kNewestFirst, schedules::kGPipe, map, microBatches);
        },
    .closedForm = formOfGPipe,
    .formHasRecompute = true,
    .chunkedKin = &schedules::kLoopedBfs,
    .torch = "GPipe",
});

}  // namespace pipetrace
