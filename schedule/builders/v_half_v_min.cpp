#include <algorithm>
#include <utility>

#include "schedule/builders/builders.h"
#include "schedule/builders/building_block.h"
#include "schedule/builders/placements.h"
#include "schedule/builders/squeeze.h"
#include "schedule/simulate/dry_run.h"

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
  const Plan empty = vShapedStages("V-Min", ranks, microBatches);
  return squeeze(repeat(empty, blockOf(ranks, variant.gap)), Costs::equal(2 * ranks, {1, 2, 1, 1}),
                 {peaks(ranks, microBatches), variant.overtake, variant.inputFirst});
}

Nanoseconds lengthOf(const Plan& plan) {
  return dryRunOfCandidate(plan, Costs::equal(plan.numStages, {1, 2, 1, 1})).length;
}

}  // namespace

Plan vHalf(int ranks, int microBatches) {
  const Plan empty = vShapedStages("V-Half", ranks, microBatches);
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

Plan vMin(int ranks, int microBatches) {
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

}  // namespace pipetrace
