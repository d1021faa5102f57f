#include <algorithm>
#include <utility>

#include "schedule/builders/building_block.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/schedules.h"
#include "schedule/builders/squeeze.h"
#include "schedule/simulate/dry_run.h"

// Source: Qi et al. 2024, "Pipeline Parallelism with Controllable Memory". Lengths of the formulas
// are those of the plans, tried for p <= 12.
namespace pipetrace {
namespace {

/// A way to squeeze the block. `gap` is the number of slots between a micro-batch's last forward
/// and first backward on the first rank. The paper leaves it at 0 unless jobs would meet in one
/// slot.
struct Variant {
  int gap = 0;
  bool overtake = true;
  bool inputFirst = false;
};

// The shortest variant depends on ranks % 3 and on how much of the plan is warm-up.
constexpr Variant kVariants[] = {{0, false, false}, {0, true, false}, {2, true, false},
                                 {2, true, true},   {4, true, false}, {4, true, true}};

BuildingBlock blockOf(int ranks, int gap) {
  BuildingBlock block{.interval = 6};
  for (int s = 0; s < 2 * ranks; ++s) {
    block.forward.push_back(s);
    block.backwardInput.push_back(4 * ranks - 1 + gap - s);
  }
  return block;
}

/// The block's own peak, a third of 1F1B's, and no more than a few micro-batches need.
std::vector<std::int64_t> peaks(int ranks, int microBatches) {
  const int peak = 2 * ((ranks + 4) / 3);
  std::vector<std::int64_t> limits;
  for (int r = 0; r < ranks; ++r) {
    const int needed = microBatches + 1 + r;
    const bool oneLess = ranks % 3 == 2 && microBatches > 2 && (r == 0 || needed == peak);
    limits.push_back(std::min(needed, oneLess ? peak - 1 : peak));
  }
  return limits;
}

std::optional<Plan> squeezed(int ranks, int microBatches, const Variant& variant) {
  const Plan empty = emptyPlan(schedules::kVMin, {ranks, microBatches, 2});
  return squeeze(repeat(empty, blockOf(ranks, variant.gap)), Costs::equal(2 * ranks, {1, 2, 1, 1}),
                 {peaks(ranks, microBatches), variant.overtake, variant.inputFirst});
}

Nanoseconds lengthOf(const Plan& plan) {
  return dryRunOfCandidate(plan, Costs::equal(plan.numStages, {1, 2, 1, 1})).length;
}

Plan vHalf(const PlanSize& size) {
  const auto& [ranks, microBatches, chunks] = size;
  const Plan empty = emptyPlan(schedules::kVHalf, size);
  const int stages = empty.numStages;
  // Forwards of the first chunk go down at half speed, as input halves of the second do; the way
  // back is at full speed. With an even number of ranks the two would meet in one slot.
  const int gap = ranks % 2 == 0 ? 3 : 0;
  BuildingBlock block{std::vector<std::int64_t>(static_cast<std::size_t>(stages)),
                      std::vector<std::int64_t>(static_cast<std::size_t>(stages)), 6};
  for (int r = 0; r < ranks; ++r) {
    const auto first = static_cast<std::size_t>(r);
    const auto second = static_cast<std::size_t>(stages - 1 - r);
    block.forward[first] = 2 * r;
    block.forward[second] = 3 * ranks - 2 - r;
    block.backwardInput[second] = 3 * ranks - 1 + gap + 2 * r;
    block.backwardInput[first] = 6 * ranks - 2 + gap - r;
  }
  SqueezeOptions options;
  for (int r = 0; r < ranks; ++r) {
    // The block's own peak. Where micro-batches are few, rank r keeps to the one that the squeezed
    // block without any overtaking would have.
    const int peak = std::min(2 * (ranks / 2 + 1), microBatches + 1 + r);
    options.limits.push_back(peak);
  }
  return *squeeze(repeat(empty, block), Costs::equal(stages, {1, 2, 1, 1}), options);
}

Plan vMin(const PlanSize& size) {
  const auto& [ranks, microBatches, chunks] = size;
  // All variants are alike once they are steady, so a short plan shows which is best.
  const int few = std::min(microBatches, std::max(ranks, 1) * 2);
  std::optional<Plan> best;
  Nanoseconds bestLength = 0;
  Variant bestVariant;
  for (const Variant& variant : kVariants) {
    std::optional<Plan> plan = squeezed(ranks, few, variant);
    if (!plan) continue;
    const Nanoseconds length = lengthOf(*plan);
    if (best && length >= bestLength) continue;
    best = std::move(plan);
    bestLength = length;
    bestVariant = variant;
  }
  return few == microBatches ? *best : *squeezed(ranks, microBatches, bestVariant);
}

/// (6 m + max(6 ceil(p / 2) - 7, p - 1)) F; peak min(2 floor(p / 2) + 2, m + 1 + s). Where
/// F = I = W and m >= p.
std::optional<ClosedForm> formOfVHalf(const FormInput& given) {
  if (!given.hasEqualHalves() || given.m < given.p) return {};
  const int idle = std::max((given.p + 1) / 2 * 6 - 7, given.p - 1);
  const int peak = 2 * (given.p / 2 + 1);
  return formOf(given, (6 * given.m + idle) * given.f,
                [&](int s) { return std::min(peak, given.m + 1 + s); });
}

/// (6 m + 4 p - 5) F, with 7 for the 5 where 3 divides p, and 6 m F for p = 1; peak
/// 2 floor((p + 4) / 3). Where F = I = W, m >= p, and p is not 2, 5, 8 ....
std::optional<ClosedForm> formOfVMin(const FormInput& given) {
  if (!given.hasEqualHalves() || given.m < given.p || given.p % 3 == 2) return {};
  const int idle = std::max(4 * given.p - (given.p % 3 == 0 ? 7 : 5), 0);
  return formOf(given, (6 * given.m + idle) * given.f,
                [&](int) { return 2 * ((given.p + 4) / 3); });
}

}  // namespace

const ScheduleInfo schedules::kVHalf = complete({
    .name = "V-Half",
    .aliases = "ZBV-Half",
    .summary = "V-shaped: about half of 1F1B's most activations",
    .usualChunks = 2,
    .leastChunks = 2,
    .mostChunks = 2,
    .places = StagePlaces::kVShaped,
    .splitsBackward = true,
    .build = vHalf,
    .closedForm = formOfVHalf,
});

const ScheduleInfo schedules::kVMin = complete({
    .name = "V-Min",
    .aliases = "ZBV-Min",
    .summary = "V-shaped: about a third of 1F1B's most activations",
    .usualChunks = 2,
    .leastChunks = 2,
    .mostChunks = 2,
    .places = StagePlaces::kVShaped,
    .splitsBackward = true,
    .build = vMin,
    .closedForm = formOfVMin,
});

}  // namespace pipetrace
