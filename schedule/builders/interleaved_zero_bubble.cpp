#include <algorithm>

#include "schedule/builders/interleaved_order.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/schedules.h"

namespace pipetrace {
namespace {

// Interleaved 1F1B with split backward passes; torch's ScheduleInterleavedZeroBubble.
Plan interleavedZeroBubble(const PlanSize& size) {
  const auto& [ranks, microBatches, chunks] = size;
  Plan plan = emptyPlan(schedules::kInterleavedZeroBubble, size);
  const InterleavedOrder order = interleavedOrder(ranks, microBatches, chunks);
  const int last = chunks - 1;
  const int steps = microBatches * chunks;
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    auto nextForward = order.chunkOfStep.begin();
    auto nextInput = order.chunkOfStep.begin();
    auto nextWeight = order.chunkOfStep.begin();
    const auto forward = [&] { row.forward(*nextForward++); };
    const auto backwardInput = [&] { row.backwardInput(last - *nextInput++); };
    const auto backwardWeight = [&] { row.backwardWeight(last - *nextWeight++); };

    const int warmUp = std::min(steps, last * order.firstRound + (ranks - 1 - rank));
    const int weightLag = std::min(steps, rank);
    for (int i = 0; i < warmUp; ++i) forward();
    for (int i = 0; i < steps; ++i) {
      if (i < steps - warmUp) forward();
      backwardInput();
      if (i >= weightLag) backwardWeight();
    }
    for (int i = 0; i < weightLag; ++i) backwardWeight();
  }
  return plan;
}

/// v m (F + I + W) + (p - 1) (F + I - W); peak min(v m, (v - 1) r + p), r as for Interleaved1F1B.
/// Where W <= F, W <= I, and m >= p or v = 1 (then as ZB-H1).
std::optional<ClosedForm> formOfInterleavedZeroBubble(const FormInput& given) {
  // A longer W does not fit between the halves that the other ranks wait for.
  if (given.w > given.f || given.w > given.i) return {};
  if (given.m < given.p && given.v > 1) return {};
  const Nanoseconds chain = (given.v * given.m + given.p - 1) * (given.f + given.i);
  const Nanoseconds weights = (std::max(given.v * given.m - given.p, 0) + 1) * given.w;
  const int before = (given.v - 1) * interleavedOrder(given.p, given.m, given.v).firstRound;
  return formOf(given, chain + weights,
                [&](int) { return std::min(given.v * given.m, before + given.p); });
}

}  // namespace

const ScheduleInfo schedules::kInterleavedZeroBubble = complete({
    .name = "InterleavedZeroBubble",
    .aliases = "ScheduleInterleavedZeroBubble, Interleaved-ZB, Interleaved-ZB1P",
    .summary = "ZB-H1 over several chunks a rank",
    .usualChunks = 2,
    .mostChunks = ScheduleInfo::kAnyNumber,
    .splitsBackward = true,
    .build = interleavedZeroBubble,
    .closedForm = formOfInterleavedZeroBubble,
    .torch = "InterleavedZeroBubble",
    .paddleMode = "ZBVPP",
});

}  // namespace pipetrace
