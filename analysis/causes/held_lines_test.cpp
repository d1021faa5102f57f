#include "analysis/causes/held_lines.h"

#include <gtest/gtest.h>

#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

TEST(HeldLinesTest, LinesOfARunAreKnownByWhatTheyHold) {
  const CheckedPlan plan = withMessagesOfTorch(buildSchedule("Interleaved1F1B", 4, 8));
  Costs costs =
      Costs::equal(plan->numStages, {.forward = 10 * kNsPerMs, .backward = 20 * kNsPerMs});
  costs.transfer = kNsPerMs;
  for (const CommStreams lines :
       {CommStreams::kEdge, CommStreams::kPeer, CommStreams::kDirection, CommStreams::kRank}) {
    const auto run = asRun(simulate(plan, costs, {.steps = 2, .commStreams = lines}).timeline);
    ASSERT_TRUE(run.graph().hasLines()) << rowOf(lines).name;
    EXPECT_EQ(rowOf(linesOfRun(run.graph())).name, rowOf(lines).name);
  }
}

}  // namespace
}  // namespace pipetrace
