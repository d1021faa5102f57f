#include <algorithm>

#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/schedules.h"
#include "schedule/builders/stage_ranks.h"

namespace pipetrace {
namespace {

// Source: PipeDream-Flush, Narayanan et al. 2021, "Memory-Efficient Pipeline-Parallel DNN
// Training"; Megatron-LM's non-interleaved schedule.
Plan oneFOneB(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kOneFOneB, size);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank);
    const int warmUp = std::min(size.microBatches, size.ranks - 1 - rank);
    const int steady = size.microBatches - warmUp;
    const int coolDown = warmUp;
    for (int i = 0; i < warmUp; ++i) row.forward();
    for (int i = 0; i < steady; ++i) {
      row.forward();
      row.backward();
    }
    for (int i = 0; i < coolDown; ++i) row.backward();
  }
  return plan;
}

// A warm-up of 2 (p - 1 - s) + 1 forwards. Source: Zhuang et al. 2023, "On Optimizing the
// Communication of Model Parallelism"; PaddlePaddle.
Plan eagerOneFOneB(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kEagerOneFOneB, size);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank);
    const int warmUp = std::min(size.microBatches, 2 * (size.ranks - 1 - rank) + 1);
    const int steady = size.microBatches - warmUp;
    const int coolDown = warmUp;
    for (int i = 0; i < warmUp; ++i) row.forward();
    for (int i = 0; i < steady; ++i) {
      row.backward();
      row.forward();
    }
    for (int i = 0; i < coolDown; ++i) row.backward();
  }
  return plan;
}

/// (m + p - 1) (F + B) + m R; peak min(m, p - s). Source: Narayanan et al. 2021, section 2.2.
std::optional<ClosedForm> formOfOneFOneB(const FormInput& given) {
  return formOf(given, flushedLength(given), [&](int s) { return std::min(given.m, given.p - s); });
}

/// The same length; peak min(m, 2 (p - s) - 1).
std::optional<ClosedForm> formOfEagerOneFOneB(const FormInput& given) {
  return formOf(given, flushedLength(given),
                [&](int s) { return std::min(given.m, 2 * (given.p - s) - 1); });
}

}  // namespace

const ScheduleInfo schedules::kOneFOneB = complete({
    .name = "1F1B",
    .aliases = "Schedule1F1B, OneFOneB, PipeDream-Flush, DAPPLE, "
               "forward_backward_pipelining_without_interleaving, TrainSchedule, "
               "OneForwardOneBackwardSchedule, PipelineParallel, Pipeline1F1BPass",
    .summary = "one forward, one backward: as few activations as there are ranks to come",
    .build = oneFOneB,
    .onStageRanks =
        [](const StageMap& map, int microBatches) {
          return onStageRanks(OrderOfRow::kOneFOneB, schedules::kOneFOneB, map, microBatches);
        },
    .takesDepths = true,
    .closedForm = formOfOneFOneB,
    .formHasRecompute = true,
    .chunkedKin = &schedules::kInterleavedOneFOneB,
    .becomesChunkedKin = true,
    .eagerKin = &schedules::kEagerOneFOneB,
    .torch = "1F1B",
    .megatron = [](const PlanSize&) -> FrameworkAnswer {
      return {"no --num-virtual-stages-per-pipeline-rank"};
    },
    .deepSpeed = [](const PlanSize&) -> FrameworkAnswer {
      return {"PipelineModule, which has no other schedule"};
    },
});

const ScheduleInfo schedules::kEagerOneFOneB = complete({
    .name = "Eager1F1B",
    .aliases = "Eager-1F1B, PipelineEager1F1BPass",
    .summary = "1F1B with a longer warm-up, so that transfers hide behind work",
    .build = eagerOneFOneB,
    .closedForm = formOfEagerOneFOneB,
    .formHasRecompute = true,
    .chunkedKin = &schedules::kInterleavedOneFOneB,
    .torch = "Interleaved1F1B",
    .torchTakesOneStage = true,
});

}  // namespace pipetrace
