// The partition that is found, rehearsed beside the best of all.
#include <gmock/gmock.h>

#include <cstdlib>
#include <vector>

#include "analysis/testing/run_of_timeline.h"
#include "apps/pipe_run/testing/rehearsed.h"
#include "schedule/build_schedule.h"
#include "schedule/partition/best_partition.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/block_tables.h"

namespace pipetrace {
namespace {

constexpr int kPartitionRehearsals = 5;  // this machine may be busy

CheckedPlan planWith(const CheckedPlan& plan, const BlockPartition& partition) {
  return withRecompute(*plan, partition);
}

/// The partition of three stages with the shortest step of all.
BlockPartition bestOfAll(const CheckedPlan& plan, const BlockTable& table) {
  BlockPartition best;
  Nanoseconds shortest = kNsMax;
  const int blocks = table.numBlocks();
  for (int a = 1; a < blocks - 1; ++a) {
    for (int b = 1; a + b < blocks; ++b) {
      const BlockPartition partition{.blocks = {a, b, blocks - a - b}, .recomputed = {0, 0, 0}};
      const Nanoseconds step = simulate(plan, costsOf(table, *plan, partition)).length;
      if (step >= shortest) continue;
      shortest = step;
      best = partition;
    }
  }
  return best;
}

/// The median step of a rehearsal, and what it should take.
PlanComparison rehearsedStep(const CheckedPlan& plan, const Costs& costs) {
  PlanComparison comparison;
  for (int i = 0; i < kPartitionRehearsals; ++i) {
    comparison = compareWithPlan(
        asRun(testing::rehearsed({.plan = plan, .costs = costs, .steps = 3})), plan, costs);
    if (std::abs(comparison.worstStep) <= 0.005) break;
  }
  return comparison;
}

TEST(PartitionRehearsalTest, TheOneThatIsFoundTakesAsLongAsTheBestOfAll) {
  const CheckedPlan plan = buildSchedule("1F1B", 3, 6);
  test::RandomTables random(11);
  for (int i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    const BlockTable table = i < 2 ? test::lopsided(9, 4 * i) : random.table(9);
    const BlockPartition chosen = bestPartition(plan, table).best.partition;
    const BlockPartition best = bestOfAll(plan, table);
    const PlanComparison ofChosen =
        rehearsedStep(planWith(plan, chosen), costsOf(table, *plan, chosen));
    const PlanComparison ofBest = rehearsedStep(planWith(plan, best), costsOf(table, *plan, best));
    EXPECT_NEAR(static_cast<double>(ofChosen.median.measuredStep) /
                    static_cast<double>(ofBest.median.measuredStep),
                1, 0.02);
    EXPECT_NEAR(ofChosen.worstStep, 0, 0.02);
  }
}

}  // namespace
}  // namespace pipetrace
