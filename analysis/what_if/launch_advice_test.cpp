// Advice on launches, by what the logs say of devices and by whether the run can be simulated.
#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/present/advice_report.h"
#include "analysis/run_summary.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kStepsOfLaunches = 9;

/// 1F1B on 4 ranks, stage 1 of which is 1.3 times as long. Each job begins late by `usual`, and
/// three of its eight forwards by `unusual` more. A median knows the first only.
Timeline lateRun(const std::string& device, Nanoseconds usual, Nanoseconds unusual) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
  costs.stages[1] = {13 * kNsPerMs, 26 * kNsPerMs};
  costs.transfer = kNsPerMs / 10;
  for (int step = 0; step < kStepsOfLaunches; ++step) {
    for (const auto& actions : plan.ranks) {
      for (const Action& action : actions) {
        const bool isUnusual =
            action.kind == JobKind::kForward && action.stage == 1 && action.microBatch % 3 == 1;
        costs.faults.jobs.push_back({.action = action,
                                     .step = step,
                                     .late = usual + (isUnusual ? unusual + step * kNsPerMs : 0)});
      }
    }
  }
  Timeline timeline =
      simulate(CheckedPlan(plan), costs,
               {.steps = kStepsOfLaunches, .begin = kNsPerMs, .stepsStartTogether = true})
          .timeline;
  for (auto& [rank, info] : timeline.ranks) info.device = device;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

std::vector<Advice>::const_iterator launchesIn(const AdviceList& list) {
  return std::find_if(list.best.begin(), list.best.end(),
                      [](const Advice& each) { return each.of == Advice::Of::kLaunches; });
}

TEST(AdviceOnLaunches, NamesNoOptionsOfGpusToRunsOnProcessorsOrEmulatedDevices) {
  for (const char* const device : {"cpu", "emulated"}) {
    const AdviceList list = adviceOn(asRun(lateRun(device, 3 * kNsPerMs, 0)), {});
    const auto found = launchesIn(list);
    ASSERT_NE(found, list.best.end()) << adviceText(list);
    EXPECT_THAT(found->options, IsEmpty());
    EXPECT_THAT(found->notes, Contains(HasSubstr("the logs name no GPU")));
    EXPECT_THAT(adviceText(list), Not(HasSubstr("--cuda-graph-impl")));
  }
  for (const char* const device : {"NVIDIA H100 (cuda:0)", ""}) {
    const AdviceList list = adviceOn(asRun(lateRun(device, 3 * kNsPerMs, 0)), {});
    ASSERT_NE(launchesIn(list), list.best.end()) << adviceText(list);
    EXPECT_THAT(adviceText(list), HasSubstr("--cuda-graph-impl local"));
  }
}

TEST(AdviceOnLaunches, StandsBehindAllOtherWhereTheRunCannotBeSimulated) {
  const AdviceList list = adviceOn(asRun(lateRun("cuda:0", 0, 40 * kNsPerMs)), {});
  ASSERT_THAT(list.notes, Contains(HasSubstr("the simulation of the run as it was is off by")));
  ASSERT_GE(list.best.size(), 2U) << adviceText(list);
  EXPECT_EQ(list.best.back().of, Advice::Of::kLaunches) << adviceText(list);
  EXPECT_GT(list.best.back().gain, list.best.front().gain) << "it would be first by its gain";
}

TEST(AdviceOnLaunches, IsNoneOnProcessorsWhereTheRunCannotBeSimulated) {
  const AdviceList list = adviceOn(asRun(lateRun("cpu", 0, 40 * kNsPerMs)), {});
  ASSERT_THAT(list.notes, Contains(HasSubstr("the simulation of the run as it was is off by")));
  EXPECT_EQ(launchesIn(list), list.best.end()) << adviceText(list);
  EXPECT_THAT(list.notes, Contains(HasSubstr("less; that is no advice, as the logs name no GPU")));
}

}  // namespace
}  // namespace pipetrace
