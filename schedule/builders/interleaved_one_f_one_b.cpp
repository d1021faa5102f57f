#include <algorithm>

#include "schedule/builders/interleaved_order.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/schedules.h"

namespace pipetrace {
namespace {

/// `arePairs`: a forward and a backward of the steady state are one fused pair. A warm-up of one
/// forward more leaves no pair that waits for its own half.
Plan interleaved(const ScheduleInfo& schedule, const PlanSize& size, bool arePairs) {
  const auto& [ranks, microBatches, chunks] = size;
  Plan plan = emptyPlan(schedule, size);
  const InterleavedOrder order = interleavedOrder(ranks, microBatches, chunks);
  const int last = chunks - 1;
  const int steps = microBatches * chunks;
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    auto nextForward = order.chunkOfStep.begin();
    auto nextBackward = order.chunkOfStep.begin();
    const auto forward = [&] { row.forward(*nextForward++); };
    const auto backward = [&] { row.backward(last - *nextBackward++); };

    const int before = last * order.firstRound + 2 * (ranks - 1 - rank);
    const int warmUp = std::min(steps, before + (arePairs ? 1 : 0));
    const int coolDown = warmUp;
    for (int i = 0; i < warmUp; ++i) forward();
    for (int i = warmUp; i < steps; ++i) {
      if (arePairs) {
        row.forwardBackward(*nextForward++, last - *nextBackward++);
      } else {
        forward();
        backward();
      }
    }
    for (int i = 0; i < coolDown; ++i) backward();
  }
  return plan;
}

// Source: Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU Clusters
// Using Megatron-LM", figure 4; torch's ScheduleInterleaved1F1B, PaddlePaddle's VPP. Any number of
// micro-batches, without a longer bubble: see interleavedOrder().
Plan interleavedOneFOneB(const PlanSize& size) {
  return interleaved(schedules::kInterleavedOneFOneB, size, false);
}

// The host runs a layer of the forward and one of the backward in turn. Source: Megatron-core's
// combined_1f1b.py, and get_pp_rank_microbatches() in its schedules.py.
Plan combinedOneFOneB(const PlanSize& size) {
  return interleaved(schedules::kCombinedOneFOneB, size, true);
}

/// ((v - 1) max(m, p) + m + p - 1) (F + B); peak min(v m, (v - 1) r + 2 (p - s) - 1), r = the
/// largest round, p where p divides m. Source: Narayanan et al. 2021, section 2.2.
std::optional<ClosedForm> formOfInterleavedOneFOneB(const FormInput& given) {
  const int before = (given.v - 1) * interleavedOrder(given.p, given.m, given.v).firstRound;
  return formOf(given, flushedLength(given),
                [&](int s) { return std::min(given.v * given.m, before + 2 * (given.p - s) - 1); });
}

FrameworkAnswer askMegatron(const PlanSize& size) {
  std::string text = "--num-virtual-stages-per-pipeline-rank " + std::to_string(size.chunks);
  if (size.microBatches % size.ranks != 0) {
    text += ", with a number of micro-batches that is a multiple of " + std::to_string(size.ranks);
  }
  return {text};
}

FrameworkAnswer askMegatronForPairs(const PlanSize& size) {
  if (size.chunks == 1 && size.ranks > 1) {
    return {"--overlap-moe-expert-parallel-comm needs several chunks a rank", false};
  }
  std::string text = "--overlap-moe-expert-parallel-comm";
  if (size.chunks > 1) text += " and " + askMegatron(size).text;
  return {text + ", for a mixture of experts"};
}

}  // namespace

const ScheduleInfo schedules::kInterleavedOneFOneB = complete({
    .name = "Interleaved1F1B",
    .aliases = "ScheduleInterleaved1F1B, VPP, Interleaved, 1F1B-Interleaved, "
               "forward_backward_pipelining_with_interleaving, InterleavedSchedule, "
               "PipelineParallelWithInterleave, PipelineVirtualPipelinePass",
    .summary = "1F1B over several chunks a rank: a smaller bubble for more transfers",
    .usualChunks = 2,
    .mostChunks = ScheduleInfo::kAnyNumber,
    .build = interleavedOneFOneB,
    .closedForm = formOfInterleavedOneFOneB,
    .torch = "Interleaved1F1B",
    .megatron = askMegatron,
    .paddleMode = "VPP",
});

const ScheduleInfo schedules::kCombinedOneFOneB = complete({
    .name = "Combined1F1B",
    .aliases = "combined_1f1b, combined_1f1b_schedule_for_interleaved_pipelining, "
               "combined_1f1b_schedule_for_no_pipelining",
    .summary = "Interleaved1F1B of fused pairs: layers of a forward and of a backward take turns",
    .usualChunks = 2,
    .mostChunks = ScheduleInfo::kAnyNumber,
    .build = combinedOneFOneB,
    .megatron = askMegatronForPairs,
});

}  // namespace pipetrace
