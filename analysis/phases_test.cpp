// Steps of other phases: no figure of training counts them.
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "analysis/causes/explanation.h"
#include "analysis/present/class_times.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/run/costs/measured_costs.h"
#include "analysis/run/steps/selection.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/testing/run_with_phases.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using enum JobKind;

/// A training with a slow rank, and the same with other steps in it.
struct TwoRuns {
  Timeline without;
  Timeline with;
};

TwoRuns twoRunsOf(const char* schedule) {
  const Plan plan = buildSchedule(schedule, 4, 8);
  Costs costs = test::costsOf(plan, 0.5);
  test::scaleRank(costs, plan, 2, 1.3);
  TwoRuns runs;
  runs.without =
      simulate(CheckedPlan(plan), costs, {.steps = 5, .begin = 7, .stepsStartTogether = true})
          .timeline;
  runs.with = test::withOtherSteps(runs.without, plan, costs,
                                   {{-1, Phase::kEvaluate, 1},
                                    {1, Phase::kEvaluate, 2},
                                    {1, Phase::kPredict, 1},
                                    {3, Phase::kPredict, 1},
                                    {4, Phase::kEvaluate, 1}});
  Diagnostics diagnostics;
  completeTimeline(runs.without, diagnostics);
  return runs;
}

class TrainingWithPhases : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Schedules, TrainingWithPhases,
                         testing::Values("1F1B", "Interleaved1F1B", "ZB-H1", "DualPipeV"));

TEST_P(TrainingWithPhases, TheSummaryIsThatOfTheRunWithoutThem) {
  const auto [without, with] = twoRunsOf(GetParam());
  const RunSummary plain = summarize(without);
  const RunSummary mixed = summarize(with);
  ASSERT_EQ(mixed.steps.size(), plain.steps.size());
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < plain.steps.size(); ++i) {
    const StepSummary& a = plain.steps[i];
    const StepSummary& b = mixed.steps[i];
    numbers.push_back(b.step);
    EXPECT_EQ(b.duration(), a.duration());
    EXPECT_EQ(b.window(), a.window());
    EXPECT_EQ(b.betweenSteps, a.betweenSteps) << b.step;
    EXPECT_EQ(b.bubbleRatio, a.bubbleRatio);
    EXPECT_EQ(b.spanBubble, a.spanBubble);
    for (std::size_t r = 0; r < a.ranks.size(); ++r) {
      EXPECT_EQ(b.ranks[r].busy, a.ranks[r].busy);
      EXPECT_EQ(b.ranks[r].idle, a.ranks[r].idle);
    }
  }
  EXPECT_THAT(numbers, ElementsAre(1, 2, 6, 7, 9));
  EXPECT_EQ(mixed.bubbleRatio, plain.bubbleRatio);
  std::vector<std::pair<std::int32_t, Phase>> others;
  for (const StepWindow& step : mixed.otherSteps) others.emplace_back(step.step, step.phase);
  EXPECT_THAT(others, ElementsAre(std::pair(0, Phase::kEvaluate), std::pair(3, Phase::kEvaluate),
                                  std::pair(4, Phase::kEvaluate), std::pair(5, Phase::kPredict),
                                  std::pair(8, Phase::kPredict), std::pair(10, Phase::kEvaluate)));
}

TEST_P(TrainingWithPhases, TheReportIsThatOfTheRunWithoutThem) {
  const auto [without, with] = twoRunsOf(GetParam());
  const auto plain = explainRun(without, {.tokensPerStep = 1000.0});
  const auto mixed = explainRun(with, {.tokensPerStep = 1000.0});
  EXPECT_EQ(mixed.bubbles.times, plain.bubbles.times);
  EXPECT_EQ(mixed.pathShares.byKind, plain.pathShares.byKind);
  EXPECT_EQ(mixed.pathShares.byStage, plain.pathShares.byStage);
  EXPECT_EQ(mixed.culprits.byRanks, plain.culprits.byRanks);
  EXPECT_EQ(mixed.communication.all, plain.communication.all);
  EXPECT_EQ(mixed.communication.exposed, plain.communication.exposed);
  EXPECT_EQ(mixed.slack, plain.slack);
  EXPECT_EQ(mixed.tokensPerSecond, plain.tokensPerSecond);
  EXPECT_EQ(mixed.slowdown.total, plain.slowdown.total);
  EXPECT_EQ(mixed.schedule.recognised.names, plain.schedule.recognised.names);
  EXPECT_THAT(mixed.schedule.deviationCount, 0);
  ASSERT_EQ(mixed.steps.size(), plain.steps.size());
  for (std::size_t i = 0; i < plain.steps.size(); ++i) {
    EXPECT_EQ(mixed.steps[i].efficiency.planned, plain.steps[i].efficiency.planned);
    EXPECT_EQ(mixed.steps[i].isWhole, plain.steps[i].isWhole);
  }
  std::vector<std::string> texts[2];
  for (const Finding& finding : plain.findings) texts[0].push_back(findingText(finding));
  for (const Finding& finding : mixed.findings) {
    if (finding.kind != FindingKind::kPauses) texts[1].push_back(findingText(finding));
  }
  EXPECT_EQ(texts[1], texts[0]);
}

TEST_P(TrainingWithPhases, MeasuredCostsAndMediansAreThoseOfTheRunWithoutThem) {
  auto [without, with] = twoRunsOf(GetParam());
  for (Track& track : with.tracks) {  // so that forwards of other phases would be seen
    for (Event& event : track.events) {
      if (event.phase != Phase::kTraining && isCompute(event.kind))
        event.end -= event.duration() / 2;
    }
  }
  const Costs plain = measuredCosts(asRun(without));
  const Costs mixed = measuredCosts(asRun(with));
  EXPECT_EQ(mixed.lr, plain.lr);
  EXPECT_EQ(mixed.transfer, plain.transfer);
  for (std::size_t s = 0; s < plain.stages.size(); ++s) {
    EXPECT_EQ(mixed.stages[s].forward, plain.stages[s].forward);
    EXPECT_EQ(mixed.stages[s].backward, plain.stages[s].backward);
  }
  const auto stages = stageTimesOf(without);
  const auto ofMixed = stageTimesOf(with);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    EXPECT_EQ(ofMixed[s].medians, stages[s].medians);
    EXPECT_EQ(ofMixed[s].others, stages[s].others);
  }
}

/// The run with those steps of training alone.
Timeline stretchOf(const Timeline& run, std::int32_t first, std::int32_t last) {
  Timeline stretch = run;
  for (Track& track : stretch.tracks) {
    std::erase_if(track.events, [&](const Event& event) {
      return event.phase != Phase::kTraining || event.step < first || event.step > last;
    });
  }
  return stretch;
}

// PipeDream has one window up to an evaluation, and one after it: those that it had if nothing else
// had run.
TEST(PhasesTest, AnAsynchronousRunHasTheFiguresOfItsStretchesAlone) {
  const Plan plan = buildSchedule("PipeDream", 4, 8);
  Costs costs = test::costsOf(plan, 0.5);
  test::scaleRank(costs, plan, 2, 1.3);
  const Timeline without =
      simulate(CheckedPlan(plan), costs, {.steps = 6, .begin = 7, .stepsStartTogether = true})
          .timeline;
  const Timeline run = test::withOtherSteps(
      without, plan, costs,
      {{-1, Phase::kEvaluate, 1}, {1, Phase::kEvaluate, 2}, {4, Phase::kPredict, 1}});
  const auto whole = explainRun(run, {});
  ASSERT_THAT(whole.summary.steps, SizeIs(3));
  std::vector<ClassTimes> sums(4);
  const std::pair<std::int32_t, std::int32_t> stretches[] = {{1, 2}, {5, 7}, {9, 9}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto [first, last] = stretches[i];
    const StepSummary& step = whole.summary.steps[i];
    EXPECT_TRUE(step.isWholeRun);
    EXPECT_EQ(step.step, first);
    EXPECT_EQ(step.last(), last);
    const Timeline alone = stretchOf(run, first, last);
    const auto of = explainRun(alone, {});
    ASSERT_THAT(of.summary.steps, SizeIs(1));
    EXPECT_EQ(step.begin, of.summary.steps[0].begin);
    EXPECT_EQ(step.windowEnd, of.summary.steps[0].windowEnd);
    EXPECT_EQ(step.bubbleRatio, of.summary.steps[0].bubbleRatio);
    EXPECT_EQ(step.spanBubble, of.summary.steps[0].spanBubble);
    EXPECT_TRUE(whole.steps[i].isWhole);
    for (std::size_t r = 0; r < sums.size(); ++r) {
      for (std::size_t c = 0; c < sums[r].size(); ++c) sums[r][c] += of.bubbles.times[r][c];
    }
  }
  EXPECT_EQ(whole.bubbles.times, sums);
  EXPECT_EQ(whole.summary.steps[0].otherPhases,
            whole.summary.otherSteps[2].end - whole.summary.otherSteps[1].begin);
}

/// Where a bubble is, why, and whose fault it is.
using BubbleText =
    std::tuple<int, Nanoseconds, Nanoseconds, BubbleClass, std::int32_t, std::string>;

std::vector<BubbleText> bubblesOf(const Timeline& run, Phase phase) {
  std::vector<BubbleText> all;
  for (const Track& track : run.tracks) {
    if (track.lane != kBubbleLane) continue;
    EXPECT_TRUE(std::is_sorted(track.events.begin(), track.events.end(),
                               [](const Event& a, const Event& b) { return a.begin < b.begin; }));
    for (const Event& bubble : track.events) {
      if (bubble.phase != phase) continue;
      const auto arguments = run.argumentsOf(bubble);
      const std::string culprit =
          arguments.empty() ? "" : std::string(run.strings[arguments[0].text]);
      all.emplace_back(track.rank, bubble.begin, bubble.end, bubble.bubbleClass, bubble.peer,
                       culprit);
    }
  }
  return all;
}

// Each phase has a job graph of its own.
TEST(PhasesTest, BubblesOfEachPhaseAreThoseOfARunOfItAlone) {
  const auto [without, with] = twoRunsOf("Interleaved1F1B");
  Timeline run = with;
  addBubbles(run);
  for (const Phase phase : {Phase::kTraining, Phase::kEvaluate, Phase::kPredict}) {
    Timeline alone = with;
    for (Track& track : alone.tracks) {
      std::erase_if(track.events, [&](const Event& event) { return event.phase != phase; });
    }
    addBubbles(alone);
    const std::vector<BubbleText> bubbles = bubblesOf(run, phase);
    EXPECT_EQ(bubbles, bubblesOf(alone, phase));
    const bool namesTheSlowRank =
        std::any_of(bubbles.begin(), bubbles.end(), [](const BubbleText& bubble) {
          return std::get<BubbleClass>(bubble) == BubbleClass::kImbalance &&
                 std::get<4>(bubble) == 2 && !std::get<std::string>(bubble).empty();
        });
    EXPECT_TRUE(namesTheSlowRank) << static_cast<int>(phase);
  }
}

TEST(PhasesTest, StepsOfOtherPhasesAreNoIncompleteSteps) {
  const Plan plan = buildSchedule("1F1B", 2, 4);
  const Costs costs = test::costsOf(plan, 0);
  const Timeline training = simulate(CheckedPlan(plan), costs, {.steps = 3}).timeline;
  Timeline run = test::withOtherSteps(training, plan, costs, {{0, Phase::kEvaluate, 2}});
  Diagnostics diagnostics;
  completeTimeline(run, diagnostics);
  EXPECT_THAT(diagnostics.list(), IsEmpty());
}

TEST(PhasesTest, ARunOfOnePhaseHasTheFiguresOfItsForwards) {
  const Plan plan = forwardPart(buildSchedule("1F1B", 3, 5));
  const Timeline plain = test::completedRun(plan, test::costsOf(plan, 0.5));
  Timeline predicted = plain;
  for (Track& track : predicted.tracks) {
    for (Event& event : track.events) event.phase = Phase::kPredict;
  }
  const RunSummary of = summarize(plain);
  const RunSummary summary = summarize(predicted);
  EXPECT_EQ(summary.phase, Phase::kPredict);
  EXPECT_THAT(summary.otherSteps, IsEmpty());
  ASSERT_EQ(summary.steps.size(), of.steps.size());
  for (std::size_t i = 0; i < of.steps.size(); ++i) {
    EXPECT_EQ(summary.steps[i].window(), of.steps[i].window());
    EXPECT_EQ(summary.steps[i].bubbleRatio, of.steps[i].bubbleRatio);
  }
  EXPECT_GT(summary.bubbleRatio, 0);
  const auto explained = explainRun(predicted, {});
  EXPECT_EQ(explained.bubbles.times, explainRun(plain, {}).bubbles.times);
}

TEST(PhasesTest, AnEventOfAJobHasItsPhaseAndSoHasAJobWithoutAStep) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0).job = 1;
  Event& evaluate = made.add(0, kForward, 20, 30, 1);
  evaluate.job = 2;
  evaluate.phase = Phase::kEvaluate;
  made.add(0, kDefault, 31, 32).job = 3;
  made.add(0, kKernel, 21, 22, -1, -1, "kernels").job = 2;
  made.add(0, kKernel, 1, 2, -1, -1, "kernels").job = 1;
  made.add(0, kSendForward, 30, 40, 1, 0, "send").job = 2;
  made.timeline.sort();
  Diagnostics diagnostics;
  completeTimeline(made.timeline, diagnostics);
  const auto phasesOf = [&](const char* lane) {
    std::vector<Phase> phases;
    for (const Event& event : made.timeline.findTrack(0, lane)->events) {
      phases.push_back(event.phase);
    }
    return phases;
  };
  EXPECT_THAT(phasesOf("compute"),
              ElementsAre(Phase::kTraining, Phase::kEvaluate, Phase::kEvaluate));
  EXPECT_THAT(phasesOf("kernels"), ElementsAre(Phase::kTraining, Phase::kEvaluate));
  EXPECT_THAT(phasesOf("send"), ElementsAre(Phase::kEvaluate));
}

TEST(PhasesTest, ARankThatEvaluatesWhileOthersTrainIsBusy) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0).stage = 0;
  made.add(1, kForward, 10, 20, 0).stage = 1;
  Event& first = made.add(0, kForward, 12, 18, 1);
  Event& second = made.add(1, kForward, 20, 30, 1);
  first.phase = second.phase = Phase::kEvaluate;
  made.add(0, kForward, 25, 35, 2).stage = 0;
  made.add(1, kForward, 35, 45, 2).stage = 1;
  made.timeline.sort();
  const RunSummary summary = summarize(made.timeline);
  ASSERT_THAT(summary.steps, SizeIs(2));
  EXPECT_EQ(summary.steps[0].windowEnd, 12) << "where the next step begins";
  EXPECT_EQ(summary.steps[0].betweenSteps, 0);
  EXPECT_EQ(summary.steps[0].otherPhases, 25 - 12);
  EXPECT_EQ(summary.steps[1].ranks[1].busy, 10 + 5) << "up to 30 it evaluates";
}

TEST(PhasesTest, ChosenStepsOfAnEvaluationAloneMakeItThePhaseOfTheRun) {
  const Plan plan = buildSchedule("1F1B", 2, 4);
  const Costs costs = test::costsOf(plan, 0);
  const Timeline training = simulate(CheckedPlan(plan), costs, {.steps = 3}).timeline;
  const Timeline run = test::withOtherSteps(training, plan, costs, {{0, Phase::kEvaluate, 2}});
  const auto phaseOf = [&](const std::vector<NumberRange>& steps) {
    return summarize(inPhaseOf(steps, run)).phase;
  };
  EXPECT_EQ(phaseOf({{1, 3}}), Phase::kEvaluate);
  EXPECT_EQ(phaseOf({{1, 4}}), Phase::kTraining);
  EXPECT_EQ(phaseOf({}), Phase::kTraining);
  EXPECT_EQ(phaseOf({{70, 80}}), Phase::kTraining);
  EXPECT_THAT(summarize(inPhaseOf({{2, 3}}, run)).steps, SizeIs(2));
}

}  // namespace
}  // namespace pipetrace
