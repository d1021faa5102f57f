// The figures of an advice fit each other.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <string>

#include "analysis/present/advice_report.h"
#include "analysis/run_summary.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"
#include "schedule/build_schedule.h"
#include "schedule/compare/split_costs.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Costs costsOfFigures() {
  Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
  costs.transfer = kNsPerMs / 5;
  costs.optimizer = 2 * kNsPerMs;
  return costs;
}

Timeline runOfFigures(const Costs& costs) {
  Timeline timeline = simulate(CheckedPlan(buildSchedule("1F1B", {4, 8})), costs,
                               {.steps = 4, .begin = kNsPerMs, .stepsStartTogether = true})
                          .timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

TEST(AdviceFigures, PredictedStepFitsTheGainWhereTheModelIsOff) {
  Costs costs = costsOfFigures();
  for (int step = 0; step < 4; ++step) {
    // A late launch that no median knows.
    costs.faults.jobs.push_back({.action = {.kind = JobKind::kForward, .stage = 2, .microBatch = 5},
                                 .step = step,
                                 .late = 36 * kNsPerMs});
  }
  const AdviceList list = adviceOn(asRun(runOfFigures(costs)), {});
  ASSERT_TRUE(list.modelError);
  EXPECT_LT(*list.modelError, -0.05);
  const auto found =
      std::find_if(list.best.begin(), list.best.end(), [](const Advice& a) { return a.isByModel; });
  ASSERT_NE(found, list.best.end()) << adviceText(list);
  EXPECT_NEAR(static_cast<double>(found->step), static_cast<double>(list.step) * (1 - found->gain),
              1);
}

TEST(AdviceFigures, ChangesOfARunOverTheLimitSayThatItStaysOverIt) {
  Costs costs = costsOfFigures();
  costs.stages[2] = {14 * kNsPerMs, 28 * kNsPerMs};
  const Timeline run = runOfFigures(costs);
  const auto notesOfBalance = [&](double limit) {
    const AdviceList list = adviceOn(asRun(run), {.activationLimit = limit});
    const auto found = std::find_if(list.best.begin(), list.best.end(),
                                    [](const Advice& a) { return a.of == Advice::Of::kBalance; });
    return found == list.best.end() ? std::vector<std::string>{} : found->notes;
  };
  const std::string still = "a rank still holds 4.00 activations, more than the limit";
  EXPECT_THAT(notesOfBalance(1), Contains(still));
  EXPECT_THAT(notesOfBalance(4), Not(Contains(still)));
}

TEST(AdviceFigures, AFrameworkWhoseSchedulesAreOverTheLimitSaysSo) {
  const std::string text = adviceText(adviceOn(asRun(runOfFigures(costsOfFigures())), {}));
  // Interleaved1F1B has less idle time than 1F1B, and holds more.
  EXPECT_THAT(text, HasSubstr("its best is over the limit: take Interleaved1F1B with "));
  const std::string free =
      adviceText(adviceOn(asRun(runOfFigures(costsOfFigures())), {.activationLimit = 8}));
  EXPECT_THAT(free, HasSubstr("its best: take Interleaved1F1B with "));
}

TEST(AdviceFigures, TheScheduleIsTheOneThatGainsMostInTheMeanOfBothOrdersOfMessages) {
  const Costs costs = costsOfFigures();
  const AdviceList list = adviceOn(asRun(runOfFigures(costs)), {});
  const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
    return each.of == Advice::Of::kSchedule;
  });
  ASSERT_NE(found, list.best.end()) << adviceText(list);
  // It gains as much as ZBV at least.
  Costs cut = splitOverChunks(costs, 2, false);
  for (StageCosts& stage : cut.stages) {
    stage.backwardInput = stage.backwardWeight = stage.backward / 2;
  }
  const auto lengthOf = [](const Plan& plan, const Costs& of, CommStreams lines) {
    return static_cast<double>(simulate(CheckedPlan(plan), of, {.commStreams = lines}).length);
  };
  const double own = lengthOf(buildSchedule("1F1B", {4, 8}), costs, CommStreams::kAsReached);
  const Plan zbv = buildSchedule("ZBV", {4, 8, 2});
  const double free = lengthOf(zbv, cut, CommStreams::kAsReached);
  const double inLine = lengthOf(withMessagesOfTorch(CheckedPlan(zbv)), cut, CommStreams::kRank);
  EXPECT_GE(found->meanGain(), 1 - (free + inLine) / 2 / own - 0.001);
}

}  // namespace
}  // namespace pipetrace
