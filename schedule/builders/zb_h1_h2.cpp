#include <algorithm>

#include "schedule/builders/building_block.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/schedules.h"
#include "schedule/builders/squeeze.h"

// Source: Qi et al. 2023, "Zero Bubble Pipeline Parallelism", section 2: H1 and H2.
namespace pipetrace {
namespace {

Plan zbH1(const PlanSize& size) {
  const auto& [ranks, microBatches, chunks] = size;
  Plan plan = emptyPlan(schedules::kZbH1, size);
  for (int rank = 0; rank < ranks; ++rank) {
    RankRowWriter row(plan, rank);
    const int warmUp = std::min(microBatches, ranks - 1 - rank);
    // W follows `rank` micro-batches later, so that every rank holds as many as the first does.
    const int weightLag = std::min(microBatches, rank);
    for (int i = 0; i < warmUp; ++i) row.forward();
    for (int i = 0; i < microBatches; ++i) {
      if (i < microBatches - warmUp) row.forward();
      row.backwardInput();
      if (i >= weightLag) row.backwardWeight();
    }
    for (int i = 0; i < weightLag; ++i) row.backwardWeight();
  }
  return plan;
}

Plan zbH2(const PlanSize& size) {
  const int ranks = size.ranks;
  const Plan empty = emptyPlan(schedules::kZbH2, size);
  // Rank s has 2 (p - s) - 1 forwards before its first input half, so that none waits.
  BuildingBlock block{.interval = 3};
  for (int s = 0; s < ranks; ++s) {
    block.forward.push_back(2 * s);
    block.backwardInput.push_back(2 * ranks - 1 + 4 * (ranks - 1 - s));
  }
  const std::int64_t peak = 2 * ranks - 1;
  return *squeeze(repeat(empty, block), Costs::equal(ranks, {1, 2, 1, 1}),
                  {.limits = std::vector<std::int64_t>(empty.ranks.size(), peak)});
}

/// m (F + I + W) + (p - 1) (F + I - W), and (m + p - 1) (F + I) + W for m < p; peak min(m, p).
/// Where W <= F and W <= I: that of one chunk. Source: table 1.
std::optional<ClosedForm> formOfZbH1(const FormInput& given) {
  return schedules::kInterleavedZeroBubble.closedForm(given);
}

/// (3 m + p - 1 + max(p - m, 0)) F; peak min(m, 2 p - 1). Where F = I = W. Source: table 1.
std::optional<ClosedForm> formOfZbH2(const FormInput& given) {
  if (!given.hasEqualHalves()) return {};
  const Nanoseconds length = (3 * given.m + given.p - 1 + std::max(given.p - given.m, 0)) * given.f;
  return formOf(given, length, [&](int) { return std::min(given.m, 2 * given.p - 1); });
}

}  // namespace

const ScheduleInfo schedules::kZbH1 = complete({
    .name = "ZB-H1",
    .aliases = "ZB1P, ZBH1, PipelineZeroBubblePipelinePass",
    .summary = "1F1B with split backward passes: weight halves fill the drain",
    .splitsBackward = true,
    .build = zbH1,
    .closedForm = formOfZbH1,
    .chunkedKin = &schedules::kInterleavedZeroBubble,
    .ofChunkedKin = ", or the V-shaped ZBV",
    .torch = "InterleavedZeroBubble",
    .torchTakesOneStage = true,
    .paddleMode = "ZBH1",
});

const ScheduleInfo schedules::kZbH2 = complete({
    .name = "ZB-H2",
    .aliases = "ZB2P",
    .summary = "a longer warm-up than ZB-H1: no bubble in the span, for twice the activations",
    .splitsBackward = true,
    .build = zbH2,
    .closedForm = formOfZbH2,
    .chunkedKin = &schedules::kInterleavedZeroBubble,
    .ofChunkedKin = ", or the V-shaped ZBV",
});

}  // namespace pipetrace
