#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

/// Processor time, the less of two tries, so that other programs on the machine do not matter.
double secondsOfPlanning(const std::string& name, int ranks, int microBatches) {
  double least = 1e9;
  for (int i = 0; i < 2; ++i) {
    const std::clock_t begin = std::clock();
    const Plan plan = buildSchedule(name, ranks, microBatches);
    EXPECT_TRUE(check(plan, {.buffers = 512, .mostLive = 1 << 20}).empty());
    simulate(CheckedPlan(plan), Costs::equal(plan.numStages, {1, 2, 1, 1}));
    addTransfers(CheckedPlan(plan));
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

// A plan that is eight times as large takes about eight times as long, with a quadratic step 64
// times. The limit of 40 lies between. One of three comparisons that stays below it shows that no
// such step is there, whatever else the machine did during the others.
TEST(ScheduleScale, PlanningTakesTimeInProportionToThePlanNotToItsSquare) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have times of their own";
#endif
  for (const std::string& name : scheduleNames()) {
    if (name == "auto") continue;  // a search takes the time that it is given
    for (const auto& [ranks, microBatches] : {std::pair{8, 512}, std::pair{64, 64}}) {
      double ratio = 1e9;
      for (int i = 0; i < 3 && ratio >= 40; ++i) {
        const double small = secondsOfPlanning(name, 8, 64);
        ratio = std::min(ratio, secondsOfPlanning(name, ranks, microBatches) / (small + 0.0005));
      }
      EXPECT_LT(ratio, 40) << name << " of " << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace pipetrace
