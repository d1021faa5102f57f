#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check.h"
#include "schedule/simulate.h"

namespace pipetrace {
namespace {

/// Processor time, the less of two tries: others on the machine do not matter.
double secondsOfPlanning(const std::string& name, int ranks, int microBatches) {
  double least = 1e9;
  for (int i = 0; i < 2; ++i) {
    const std::clock_t begin = std::clock();
    const Schedule schedule = buildSchedule(name, ranks, microBatches);
    EXPECT_TRUE(check(schedule, {.buffers = 512, .mostLive = 1 << 20}).empty());
    simulate(schedule, Costs::equal(schedule.numStages, {1, 2, 1, 1}));
    addTransfers(schedule);
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

TEST(ScheduleScale, PlanningTakesTimeInProportionToThePlanNotToItsSquare) {
  for (const std::string& name : scheduleNames()) {
    if (name == "auto") continue;  // a search takes the time that it is given
    const double small = secondsOfPlanning(name, 8, 64);
    // Eight times the plan; a quadratic step takes 64 times as long.
    for (const auto& [ranks, microBatches] : {std::pair{8, 512}, std::pair{64, 64}}) {
      const double large = secondsOfPlanning(name, ranks, microBatches);
      EXPECT_LT(large, 24 * small + 0.01)
          << name << " of " << ranks << " ranks: " << small << " s and " << large << " s";
    }
  }
}

}  // namespace
}  // namespace pipetrace
