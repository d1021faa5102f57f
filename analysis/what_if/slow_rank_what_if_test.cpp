// Answers about other plans of runs with a slow rank are compared with the simulation of these
// plans with that rank.
#include <gmock/gmock.h>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/what_if.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr Nanoseconds kStageForward = 10'000'000;  // of a rank's whole share
constexpr double kSlowFactor = 1.4;
constexpr Nanoseconds kReduction = 3'000'000;

/// The run of a plan on which ranks or stages are slower.
Timeline slowRun(const Plan& plan, Costs costs, const std::vector<std::string>& scales) {
  std::vector<ScaleOption> options;
  for (const std::string& text : scales) options.push_back(parseScale(text));
  applyScales(options, plan, costs);
  Timeline timeline = simulate(CheckedPlan(plan), costs,
                               {.steps = 4, .begin = 1'000'000, .stepsStartTogether = true})
                          .timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

Nanoseconds stepOfSlow(const Plan& plan, const Costs& costs,
                       const std::vector<std::string>& scales) {
  return summarize(slowRun(plan, costs, scales)).steps[1].window();
}

Costs evenShares(int chunks) {
  const Nanoseconds forward = kStageForward / chunks;
  Costs costs = Costs::equal(4 * chunks, {.forward = forward,
                                          .backward = 2 * forward,
                                          .backwardInput = forward,
                                          .backwardWeight = forward});
  costs.transfer = 200'000;
  costs.optimizer = 2'000'000;
  return costs;
}

/// A 1F1B run of two replicas, of which rank 5, at position 1 of the second, is slow.
const Timeline& runWithSlowRank() {
  static const Timeline run = [] {
    Costs costs = evenShares(1);
    for (StageCosts& stage : costs.stages) stage.reduction = kReduction;
    const Plan plan = withReductions(withReplicas(buildSchedule("1F1B", 4, 8), 2));
    return slowRun(plan, costs, {"rank=5:1.4"});
  }();
  return run;
}

/// Those of the slow replica, which adds its gradients up after its last job.
Costs sharesOfReplica(int chunks) {
  Costs costs = evenShares(chunks);
  costs.optimizer += kReduction;
  return costs;
}

WhatIfAnswer answerFor(const Timeline& run, const PlanChanges& changes,
                       const RunChanges& times = {}) {
  WhatIfQuestion question;
  question.plan = changes;
  question.run = times;
  return whatIf(asRun(run), question);
}

TEST(SlowRankWhatIf, UnderAnotherScheduleTheRankStaysSlowAndNotItsLayers) {
  const Nanoseconds leastWork = std::llround(8 * 3 * kStageForward * kSlowFactor);
  for (const auto& [name, chunks] : std::vector<std::pair<std::string, int>>{
           {"GPipe", 1}, {"Interleaved1F1B", 2}, {"InterleavedZeroBubble", 4}, {"ZBV", 2}}) {
    const WhatIfAnswer answer = answerFor(runWithSlowRank(), {.schedule = name, .chunks = chunks});
    EXPECT_EQ(answer.modelError, 0.0);
    const Plan plan = buildSchedule(name, PlanSize{4, 8, chunks});
    const auto expected =
        static_cast<double>(stepOfSlow(plan, sharesOfReplica(chunks), {"rank=1:1.4"}));
    EXPECT_NEAR(static_cast<double>(answer.changed.step), expected, 0.01 * expected) << name;
    EXPECT_GT(answer.changed.step, leastWork) << name;
  }
  const WhatIfAnswer found = answerFor(runWithSlowRank(), {.schedule = "auto", .chunks = 4});
  EXPECT_GT(found.changed.step, leastWork);
  EXPECT_THAT(found.assumptions, Contains("rank 5 stays 1.40 times as slow as its peers, whatever "
                                          "stages it gets"));
}

TEST(SlowRankWhatIf, AScaleOfTheRankTakesItsSlownessAwayUnderAnotherSchedule) {
  const WhatIfAnswer answer =
      answerFor(runWithSlowRank(), {.schedule = "InterleavedZeroBubble", .chunks = 4},
                {.scales = {parseScale("rank=5:0.714285714")}});
  const auto expected = static_cast<double>(stepOfSlow(
      buildSchedule("InterleavedZeroBubble", PlanSize{4, 8, 4}), sharesOfReplica(4), {}));
  EXPECT_NEAR(static_cast<double>(answer.changed.step), expected, 1e-3 * expected);
}

TEST(SlowRankWhatIf, BlocksThatLeaveASlowRankTakeAsLongAsOthersElsewhere) {
  WhatIfQuestion question;
  question.blocks = GivenBlocks{.table = {}, .partition = BlockPartition{{10, 10, 10, 10}, {}}};
  question.plan.partition = BlockPartition{.blocks = {11, 7, 11, 11}, .recomputed = {}};
  const WhatIfAnswer answer = whatIf(asRun(runWithSlowRank()), question);
  Costs costs = sharesOfReplica(1);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const Nanoseconds forward = kStageForward / 10 * (stage == 1 ? 7 : 11);
    costs.stages[stage] = {.forward = forward, .backward = 2 * forward};
  }
  const auto expected =
      static_cast<double>(stepOfSlow(buildSchedule("1F1B", 4, 8), costs, {"rank=1:1.4"}));
  EXPECT_NEAR(static_cast<double>(answer.changed.step), expected, 1e-3 * expected);
}

TEST(SlowRankWhatIf, WithoutPeersAnAnswerSaysThatTheRankMayBeSlowInPlaceOfItsStage) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  const Timeline run = slowRun(plan, evenShares(1), {"stage=2:1.4"});
  const PlanChanges changes{.schedule = "Interleaved1F1B", .chunks = 2};
  const WhatIfAnswer heavy = answerFor(run, changes);
  EXPECT_THAT(heavy.assumptions,
              Contains("stage 2 is taken to have more work; if rank 2 is slower instead, other "
                       "schedules gain less, as what-if --schedule says with --scale "
                       "stage=2:0.7143 --scale rank=2:1.4000"));
  const WhatIfAnswer slow =
      answerFor(run, changes, {.scales = {parseScale("stage=2:0.7143"), parseScale("rank=2:1.4")}});
  const Plan other = buildSchedule("Interleaved1F1B", PlanSize{4, 8, 2});
  const auto expected = static_cast<double>(stepOfSlow(other, evenShares(2), {"rank=2:1.4"}));
  EXPECT_NEAR(static_cast<double>(slow.changed.step), expected, 1e-3 * expected);
  EXPECT_LT(heavy.changed.step, slow.changed.step) << "so others gain less";
  const Timeline even = slowRun(plan, evenShares(1), {});
  EXPECT_THAT(answerFor(even, changes).assumptions, Not(Contains(HasSubstr("more work"))));
}

}  // namespace
}  // namespace pipetrace
