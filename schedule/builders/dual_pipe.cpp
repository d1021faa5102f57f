#include <algorithm>
#include <cstddef>

#include "schedule/builders/dual_pipe_steps.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/schedules.h"

namespace pipetrace {
namespace {

Plan evenDualPipe(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kDualPipe, size);
  const int half = size.ranks / 2;
  const int planned = std::max(plan.placement.run, size.ranks);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank, planned);
    const bool secondHalf = rank >= half;
    const DualPipeSize ofRank{
        .depth = half, .position = std::min(rank, size.ranks - 1 - rank), .microBatches = planned};
    addDualPipeSteps(row, ofRank, secondHalf ? 1 : 0, secondHalf ? 0 : 1);
  }
  return plan;
}

/// Takes one of the middle ranks out of an even plan, and with it, in each direction, the stage
/// that it ran. A plan that could run before can run without it.
Plan withoutMiddleRank(const Plan& even, const PlanSize& size) {
  const int dropped = even.numRanks() / 2;
  Plan plan = emptyPlan(schedules::kDualPipe, size);
  const auto stageOf = [&](int stage, int microBatch) {
    const bool reversed = microBatch >= even.placement.run;
    const int gone = reversed ? even.numStages - 1 - dropped : dropped;
    return stage > gone ? stage - 1 : stage;
  };
  for (int rank = 0; rank < size.ranks; ++rank) {
    auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    row = even.ranks[static_cast<std::size_t>(rank < dropped ? rank : rank + 1)];
    for (Action& action : row) {
      action.stage = stageOf(action.stage, action.microBatch);
      if (action.backwardStage < 0) continue;
      action.backwardStage = stageOf(action.backwardStage, action.backwardMicroBatch);
    }
  }
  return plan;
}

// Each stage on two ranks. The first half of the micro-batches (rounded up) runs from rank 0 on,
// the others from the last rank on. An odd number of ranks is planned as one more, without one of
// the middle two. Source: DeepSeek-V3 Technical Report, 2024, figure 5.
Plan dualPipe(const PlanSize& size) {
  if (size.ranks % 2 == 0) return evenDualPipe(size);
  return withoutMiddleRank(evenDualPipe({size.ranks + 1, size.microBatches, size.chunks}), size);
}

// One copy of the weights. Source: DeepSeek's DualPipe README; torch's ScheduleDualPipeV.
Plan dualPipeV(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kDualPipeV, size);
  const int planned = std::max(size.microBatches, 2 * size.ranks);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank, planned);
    const DualPipeSize ofRank{.depth = size.ranks, .position = rank, .microBatches = planned};
    addDualPipeSteps(row, ofRank, 0, 1);
  }
  return plan;
}

/// 3 d F + 2 B + (2 d - 1) I + W + (2 n - d - 2) FB; peak 2 d + 1. Where n >= 2 d, W <= I <= F,
/// B = I + W, FB >= F, FB >= B.
///
/// d, `depth`: ranks from an outer one to the innermost. n, `stream`: micro-batches of a stream.
/// FB: the fused pair. Where F = I that leaves the innermost ranks the (d - 1) (FB + B - 3 W) of
/// bubble of DualPipe's README. The length follows from the longest chain of jobs.
std::optional<ClosedForm> formOfStreams(const FormInput& given, int depth, int stream) {
  if (stream < 2 * depth) return {};
  if (given.w > given.i || given.i > given.f || given.b != given.i + given.w) return {};
  if (given.fb < given.f || given.fb < given.b) return {};
  const Nanoseconds length = 3 * depth * given.f + 2 * given.b + (2 * depth - 1) * given.i +
                             given.w + (2 * stream - depth - 2) * given.fb;
  return formOf(given, length, [&](int) { return 2 * depth + 1; });
}

std::optional<ClosedForm> formOfDualPipe(const FormInput& given) {
  if (given.m % 2 != 0) return {};
  return formOfStreams(given, (given.p + 1) / 2, given.m / 2);
}

std::optional<ClosedForm> formOfDualPipeV(const FormInput& given) {
  return formOfStreams(given, given.p, given.m);
}

FrameworkAnswer askDeepSpeedForDualPipeV(const PlanSize& size) {
  if (size.microBatches >= 2 * size.ranks) {
    return {
        "DualPipeVModule in place of PipelineModule (from 0.19.8 on); it does not split "
        "backwards"};
  }
  return {"DualPipeVModule needs gradient_accumulation_steps of " + std::to_string(2 * size.ranks) +
              " or more",
          false};
}

}  // namespace

const ScheduleInfo schedules::kDualPipe = complete({
    .name = "DualPipe",
    .summary = "both directions at once, forward and backward passes fused, weights twice",
    .isBidirectional = true,
    .splitsBackward = true,
    .build = dualPipe,
    .closedForm = formOfDualPipe,
    .chunkedKin = &schedules::kDualPipeV,
});

const ScheduleInfo schedules::kDualPipeV = complete({
    .name = "DualPipeV",
    .aliases = "ScheduleDualPipeV, DualPipeVParallel, Cut-in-half",
    .summary = "DualPipe cut in half: V-shaped, weights once",
    .usualChunks = 2,
    .leastChunks = 2,
    .mostChunks = 2,
    .places = StagePlaces::kVShaped,
    .splitsBackward = true,
    .build = dualPipeV,
    .closedForm = formOfDualPipeV,
    .torch = "DualPipeV",
    .deepSpeed = askDeepSpeedForDualPipeV,
});

}  // namespace pipetrace
