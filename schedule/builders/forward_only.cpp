#include <algorithm>

#include "schedule/builders/interleaved_order.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/schedules.h"

namespace pipetrace {
namespace {

// Evaluation and inference, over several chunks in the order of Interleaved1F1B. It has 2 credits;
// with several chunks as many more as hold back nothing where all stages take as long. Sources:
// DeepSpeed's InferenceSchedule, which has two buffers; torch's _ScheduleForwardOnly; Megatron-LM's
// forward_only.
Plan forwardOnly(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kForwardOnly, size);
  const InterleavedOrder order = interleavedOrder(size.ranks, size.microBatches, size.chunks);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank);
    for (const int chunk : order.chunkOfStep) row.forward(chunk);
  }
  // As many messages of a round as are more than ranks lie before the first rank until it comes to
  // its next chunk.
  plan.credits = 2 + (size.chunks > 1 ? std::max(0, order.firstRound - size.ranks) : 0);
  return plan;
}

/// ((v - 1) max(m, p) + m + p - 1) F; peak 1, and 2 for p = 1 and v > 1. For one chunk the bubble
/// ratio is (p - 1) / (m + p - 1).
std::optional<ClosedForm> formOfForwardOnly(const FormInput& given) {
  const int loops = (given.v - 1) * std::max(given.m, given.p);
  const int peak = given.p == 1 && given.v > 1 ? 2 : 1;
  return formOf(given, (loops + given.m + given.p - 1) * given.f, [&](int) { return peak; });
}

}  // namespace

const ScheduleInfo schedules::kForwardOnly = complete({
    .name = "ForwardOnly",
    .aliases = "ScheduleForwardOnly, InferenceSchedule, Inference, Evaluation, Eval",
    .summary = "forwards alone, for evaluation and inference",
    .mostChunks = ScheduleInfo::kAnyNumber,
    .isForwardOnly = true,
    .build = forwardOnly,
    .closedForm = formOfForwardOnly,
});

}  // namespace pipetrace
