#include <algorithm>
#include <utility>

#include "schedule/builders/builders.h"
#include "schedule/builders/rank_row_writer.h"
#include "schedule/builders/squeeze.h"
#include "schedule/simulate/dry_run.h"

namespace pipetrace {
namespace {

constexpr int kFirst = 0;  // chunks
constexpr int kSecond = 1;

void backward(RankPlan& plan, int chunk) {
  plan.backwardInput(chunk);
  plan.backwardWeight(chunk);
}

/// The order by hand of "Zero Bubble Pipeline Parallelism", section 6. It covers 2 p - 1
/// micro-batches and more; of fewer, `plan` leaves out those that do not exist.
void writeByHand(RankPlan& plan, int ranks, int rank, int microBatches) {
  const int behind = ranks - rank;  // ranks from this one on
  const int total = std::max(microBatches, 2 * ranks - 1);

  // Warm-up: until the second chunk has begun as many micro-batches as there are ranks.
  for (int i = 0; i < 2 * behind - 1; ++i) plan.forward(kFirst);
  for (int i = 0; i < rank; ++i) {
    plan.forward(kSecond);
    plan.forward(kFirst);
  }
  for (int i = 0; i < behind; ++i) {
    plan.forward(kSecond);
    backward(plan, kSecond);
  }
  // Stable: no input is waited for, until all forwards are done.
  for (int i = 0; i < total - ranks; ++i) {
    plan.forward(kFirst);
    backward(plan, kFirst);
    plan.forward(kSecond);
    backward(plan, kSecond);
  }
  // Cool-down: weight halves last.
  for (int i = 0; i < rank; ++i) {
    plan.backwardInput(kFirst);
    plan.backwardInput(kSecond);
  }
  for (int i = 0; i < behind; ++i) backward(plan, kFirst);
  for (int i = 0; i < rank; ++i) plan.backwardWeight(kSecond);
  for (int i = 0; i < rank; ++i) plan.backwardWeight(kFirst);
}

/// With holes in it, the order by hand has each rank wait for what need not be waited for.
Schedule withoutHoles(Schedule schedule) {
  const int stages = schedule.numStages;
  const Costs costs = Costs::equal(stages, {1, 2, 1, 1});
  std::vector<std::int64_t> peaks;
  for (const DryRun::Rank& rank : dryRun(schedule, costs).ranks) {
    peaks.push_back(rank.peakLive);
  }
  for (std::vector<Action>& row : schedule.ranks) {
    std::erase_if(row, [](const Action& a) { return a.kind == JobKind::kBackwardWeight; });
  }
  Schedule same = *squeeze(schedule, costs, {.limits = peaks, .overtake = false});
  Schedule most = *squeeze(schedule, costs,
                           {.limits = std::vector<std::int64_t>(schedule.ranks.size(), stages)});
  // More memory than by hand only where that makes the plan shorter.
  return dryRun(most, costs).length < dryRun(same, costs).length ? most : same;
}

}  // namespace

Schedule zbV(int ranks, int microBatches) {
  Schedule schedule = vShapedStages("ZBV", ranks, microBatches);
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlan plan(schedule, rank);
    writeByHand(plan, ranks, rank, microBatches);
  }
  return microBatches < 2 * ranks - 1 ? withoutHoles(std::move(schedule)) : schedule;
}

}  // namespace pipetrace
