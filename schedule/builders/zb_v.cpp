#include <algorithm>
#include <utility>

#include "schedule/builders/placements.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/schedules.h"
#include "schedule/builders/squeeze.h"
#include "schedule/simulate/dry_run.h"

namespace pipetrace {
namespace {

constexpr int kFirst = 0;  // chunks
constexpr int kSecond = 1;

void backward(RankRowWriter& row, int chunk) {
  row.backwardInput(chunk);
  row.backwardWeight(chunk);
}

/// The order by hand of "Zero Bubble Pipeline Parallelism", section 6. It covers 2 p - 1
/// micro-batches and more; where there are fewer, `row` leaves out those that do not exist.
void writeByHand(RankRowWriter& row, int ranks, int rank, int microBatches) {
  const int remaining = ranks - rank;  // ranks from this one on
  const int total = std::max(microBatches, 2 * ranks - 1);

  // Warm-up: until the second chunk has begun as many micro-batches as there are ranks.
  for (int i = 0; i < 2 * remaining - 1; ++i) row.forward(kFirst);
  for (int i = 0; i < rank; ++i) {
    row.forward(kSecond);
    row.forward(kFirst);
  }
  for (int i = 0; i < remaining; ++i) {
    row.forward(kSecond);
    backward(row, kSecond);
  }
  // Stable: no job waits for its input, until all forwards are done.
  for (int i = 0; i < total - ranks; ++i) {
    row.forward(kFirst);
    backward(row, kFirst);
    row.forward(kSecond);
    backward(row, kSecond);
  }
  // Cool-down: weight halves last.
  for (int i = 0; i < rank; ++i) {
    row.backwardInput(kFirst);
    row.backwardInput(kSecond);
  }
  for (int i = 0; i < remaining; ++i) backward(row, kFirst);
  for (int i = 0; i < rank; ++i) row.backwardWeight(kSecond);
  for (int i = 0; i < rank; ++i) row.backwardWeight(kFirst);
}

/// The order by hand with its holes closed: with them each rank waits where it need not.
Plan withoutHoles(Plan plan) {
  const int stages = plan.numStages;
  const Costs costs = Costs::equal(stages, {1, 2, 1, 1});
  std::vector<std::int64_t> peaks;
  for (const DryRun::Rank& rank : dryRunOfCandidate(plan, costs).ranks) {
    peaks.push_back(rank.peakLive);
  }
  for (std::vector<Action>& row : plan.ranks) {
    std::erase_if(row, [](const Action& a) { return a.kind == JobKind::kBackwardWeight; });
  }
  Plan same = *squeeze(plan, costs, {.limits = peaks, .overtake = false});
  Plan most =
      *squeeze(plan, costs, {.limits = std::vector<std::int64_t>(plan.ranks.size(), stages)});
  // Takes more memory than by hand only where that makes the plan shorter.
  const auto lengthOf = [&](const Plan& squeezed) {
    return dryRunOfCandidate(squeezed, costs).length;
  };
  return lengthOf(most) < lengthOf(same) ? most : same;
}

Plan zbV(const PlanSize& size) {
  Plan plan = emptyPlan(schedules::kZbV, size);
  for (int rank = 0; rank < size.ranks; ++rank) {
    RankRowWriter row(plan, rank);
    writeByHand(row, size.ranks, rank, size.microBatches);
  }
  return size.microBatches < 2 * size.ranks - 1 ? withoutHoles(std::move(plan)) : plan;
}

/// (6 m + p - 1) F; peak min(2 p, m + 1 + s). Where F = I = W and m >= p. Source: Qi et al. 2023,
/// section 6; peaks for m < 2 p - 1 are those of its plans, tried for p <= 12.
std::optional<ClosedForm> formOfZbV(const FormInput& given) {
  if (!given.hasEqualHalves() || given.m < given.p) return {};
  return formOf(given, (6 * given.m + given.p - 1) * given.f,
                [&](int s) { return std::min(2 * given.p, given.m + 1 + s); });
}

}  // namespace

const ScheduleInfo schedules::kZbV = complete({
    .name = "ZBV",
    .aliases = "ScheduleZBVZeroBubble, ZBVZeroBubble, V-ZB, ZB-V, ZBVPP, Zero-Bubble-V, "
               "ZeroBubbleVPipeScheduler, PipelineZeroBubbleVirtualPipelinePass",
    .summary = "V-shaped: no bubble in the span, with 1F1B's most activations",
    .usualChunks = 2,
    .leastChunks = 2,
    .mostChunks = 2,
    .places = StagePlaces::kVShaped,
    .splitsBackward = true,
    .build = zbV,
    .closedForm = formOfZbV,
    .torch = "ZBVZeroBubble",
});

}  // namespace pipetrace
