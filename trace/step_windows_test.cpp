#include "trace/step_windows.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

using enum JobKind;

class RunOfRanks {
 public:
  Timeline timeline;

  void add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, std::int32_t step) {
    timeline.track(rank, kComputeLane)
        .events.push_back({.begin = begin, .end = end, .step = step, .kind = kind});
  }
  std::vector<StepWindow> windows() {
    timeline.sort();
    return stepWindows(timeline);
  }
};

TEST(StepWindows, AStepLastsFromItsFirstComputeJobToItsLastComputeOrOptimizerJob) {
  RunOfRanks run;
  run.add(0, kLr, 0, 5, 3);
  run.add(0, kForward, 10, 20, 3);
  run.add(0, kOptimizer, 60, 70, 3);
  run.add(1, kForward, 22, 30, 3);
  run.add(1, kDefault, 80, 90, 3);
  EXPECT_EQ(run.windows(),
            (std::vector<StepWindow>{{.step = 3, .begin = 10, .end = 70, .windowEnd = 70}}));
}

TEST(StepWindows, AWindowIsCutWhereTheNextStepBegins) {
  RunOfRanks run;
  run.add(0, kForward, 10, 20, 0);
  run.add(1, kBackward, 15, 35, 0);
  run.add(0, kForward, 30, 40, 1);
  run.add(0, kForward, 50, 60, 2);
  EXPECT_EQ(run.windows(),
            (std::vector<StepWindow>{
                {.step = 0, .begin = 10, .end = 35, .windowEnd = 30, .isFollowed = true},
                {.step = 1,
                 .begin = 30,
                 .end = 40,
                 .windowEnd = 40,
                 .betweenSteps = 10,
                 .isFollowed = true},
                {2, 0, 50, 60, 60, 0}}));
}

TEST(StepWindows, StepsOfOtherPhasesCutWindowsAndAreApartFromTheTimeBetweenSteps) {
  RunOfRanks run;
  const auto add = [&](Phase phase, Nanoseconds begin, Nanoseconds end, std::int32_t step) {
    run.add(0, kForward, begin, end, step);
    run.timeline.tracks[0].events.back().phase = phase;
  };
  add(Phase::kTraining, 0, 10, 0);
  add(Phase::kEvaluate, 13, 20, 1);
  add(Phase::kPredict, 22, 40, 2);
  add(Phase::kTraining, 45, 50, 3);
  add(Phase::kEvaluate, 48, 60, 4);
  add(Phase::kTraining, 64, 70, 6);  // step 5 was not recorded
  const std::vector<StepWindow> expected = {{.step = 0,
                                             .begin = 0,
                                             .end = 10,
                                             .windowEnd = 10,
                                             .betweenSteps = 8,
                                             .otherPhases = 27,
                                             .isFollowed = true},
                                            {.step = 1,
                                             .begin = 13,
                                             .end = 20,
                                             .windowEnd = 20,
                                             .betweenSteps = 2,
                                             .otherPhases = 26,
                                             .phase = Phase::kEvaluate,
                                             .isFollowed = true},
                                            {2, 0, 22, 40, 40, 0, 0, false, Phase::kPredict},
                                            {3, 0, 45, 50, 48, 0, 0},
                                            {4, 0, 48, 60, 60, 0, 0, false, Phase::kEvaluate},
                                            {6, 0, 64, 70, 70, 0, 0}};
  EXPECT_EQ(run.windows(), expected);
  for (Event& event : run.timeline.tracks[0].events) event.phase = Phase::kPredict;
  for (const StepWindow& window : run.windows()) {
    EXPECT_EQ(window.phase, Phase::kPredict);
    EXPECT_EQ(window.otherPhases, 0);
  }
}

/// PipeDream on two ranks: weights change after every backward.
RunOfRanks asynchronousRun() {
  RunOfRanks run;
  for (const std::int32_t step : {0, 1}) {
    const Nanoseconds at = 100 * step;
    run.add(0, kForward, at + 0, at + 10, step);
    run.add(0, kForward, at + 10, at + 20, step);
    run.add(1, kForward, at + 10, at + 20, step);
    run.add(1, kBackward, at + 20, at + 30, step);
    run.add(1, kOptimizer, at + 30, at + 32, step);
    run.add(1, kForward, at + 32, at + 42, step);
    run.add(0, kBackward, at + 30, at + 40, step);
    run.add(0, kOptimizer, at + 40, at + 42, step);
    run.add(0, kForward, at + 42, at + 52, step);
    run.add(1, kBackward, at + 42, at + 52, step);
    run.add(0, kBackward, at + 52, at + 62, step);
  }
  return run;
}

TEST(StepWindows, AnAsynchronousRunIsOneWindowWhileItsPipelineIsFull) {
  EXPECT_EQ(asynchronousRun().windows(), (std::vector<StepWindow>{{.step = 0,
                                                                   .begin = 30,
                                                                   .end = 152,
                                                                   .windowEnd = 152,
                                                                   .isWholeRun = true,
                                                                   .lastStep = 1}}));
}

TEST(StepWindows, AnUpdateAfterTheLastForwardOfAStepIsNotAsynchronous) {
  RunOfRanks run;
  run.add(0, kForward, 0, 10, 0);
  run.add(0, kBackward, 10, 20, 0);
  run.add(0, kOptimizer, 20, 22, 0);
  run.add(1, kForward, 25, 30, 0);  // of another rank
  run.add(0, kForward, 30, 40, 1);
  EXPECT_EQ(run.windows().size(), 2U);
}

TEST(StepWindows, AnAsynchronousRunOfSeveralPartsKeepsItsSteps) {
  RunOfRanks run = asynchronousRun();
  for (const int rank : {0, 1}) run.timeline.ranks[rank].partBegins = {80};
  EXPECT_EQ(run.windows().size(), 2U);
}

// Two steps before an evaluation, one after it.
TEST(StepWindows, AnAsynchronousRunHasAWindowBeforeAndOneAfterAnEvaluation) {
  RunOfRanks run = asynchronousRun();
  const RunOfRanks more = asynchronousRun();
  for (const Event& event : more.timeline.tracks[0].events) {
    if (event.step == 0) run.add(0, event.kind, event.begin + 300, event.end + 300, 3);
  }
  run.add(0, kForward, 200, 205, 2);
  run.timeline.tracks[0].events.back().phase = Phase::kEvaluate;
  const StepWindow evaluation{
      .step = 2, .begin = 200, .end = 205, .windowEnd = 205, .phase = Phase::kEvaluate};
  EXPECT_EQ(run.windows(), (std::vector<StepWindow>{{.step = 0,
                                                     .begin = 30,
                                                     .end = 152,
                                                     .windowEnd = 152,
                                                     .betweenSteps = 330 - 152 - (205 - 200),
                                                     .otherPhases = 205 - 200,
                                                     .isWholeRun = true,
                                                     .lastStep = 1,
                                                     .isFollowed = true},
                                                    evaluation,
                                                    {.step = 3,
                                                     .begin = 330,
                                                     .end = 352,
                                                     .windowEnd = 352,
                                                     .isWholeRun = true,
                                                     .lastStep = 3}}));
}

TEST(StepWindows, AnEvaluationBesideAnAsynchronousRunLeavesItOneWindow) {
  for (const std::int32_t number : {0, 3}) {
    RunOfRanks run = asynchronousRun();
    for (Track& track : run.timeline.tracks) {
      for (Event& event : track.events) event.step += 1;
    }
    const Nanoseconds begin = number == 0 ? -90 : 300;
    run.add(0, kForward, begin, begin + 5, number);
    run.timeline.tracks[0].events.back().phase = Phase::kEvaluate;
    const auto windows = run.windows();
    ASSERT_EQ(windows.size(), 2U);
    const StepWindow& training = windows[number == 0 ? 1 : 0];
    EXPECT_TRUE(training.isWholeRun);
    EXPECT_EQ(training.last(), 2);
  }
}

StepWindow followed(StepWindow window) {
  window.isFollowed = true;
  return window;
}

TEST(StepWindows, TheTimeBetweenTwoPartsOfARunIsBetweenNoSteps) {
  RunOfRanks run;
  for (const int rank : {0, 1}) {
    run.add(rank, kForward, 10 + rank, 20, 0);
    run.add(rank, kForward, 25 + rank, 30, 1);
    run.add(rank, kForward, 5000 + rank, 5010, 2);
    run.add(rank, kForward, 5020 + rank, 5030, 3);
    run.timeline.ranks[rank].partBegins = {4990 + 15 * rank};
  }
  EXPECT_EQ(run.windows(), (std::vector<StepWindow>{followed({0, 0, 10, 20, 20, 5}),
                                                    {1, 0, 25, 30, 30, 0},
                                                    followed({2, 0, 5000, 5010, 5010, 10}),
                                                    {3, 0, 5020, 5030, 5030, 0}}));
}

TEST(StepWindows, StepsThatBeginOutOfTheirOrderAreCutByTheirBegins) {
  RunOfRanks run;
  run.add(0, kForward, 10, 60, 7);
  run.add(1, kForward, 50, 80, 2);
  EXPECT_EQ(run.windows(), (std::vector<StepWindow>{{2, 0, 50, 80, 80, 0}, {7, 0, 10, 60, 50, 0}}));
}

TEST(StepWindows, AnotherPipelineDoesNotCutAWindow) {
  RunOfRanks run;
  run.add(0, kForward, 0, 30, 0);
  run.add(0, kForward, 30, 50, 1);
  run.add(1, kForward, 5, 45, 0);
  run.add(1, kForward, 60, 90, 1);
  for (const int rank : {0, 1}) run.timeline.ranks[rank].dataParallelIndex = rank;
  EXPECT_EQ(run.windows(), (std::vector<StepWindow>{followed({0, 0, 0, 30, 30, 0}),
                                                    {1, 0, 30, 50, 50, 0},
                                                    followed({0, 1, 5, 45, 45, 15}),
                                                    {1, 1, 60, 90, 90, 0}}));
}

TEST(StepWindows, ARankThatOnlyOptimizesMakesNoStepLonger) {
  RunOfRanks run;
  run.add(0, kForward, 0, 30, 0);
  run.add(1, kOptimizer, 30, 99, 0);
  run.add(1, kOptimizer, 100, 199, 1);
  EXPECT_EQ(run.windows(),
            (std::vector<StepWindow>{{.step = 0, .begin = 0, .end = 30, .windowEnd = 30}}));
}

TEST(StepWindows, JobsWithoutAStepAreInNone) {
  RunOfRanks run;
  run.add(0, kForward, 0, 30, kNotGiven);
  EXPECT_TRUE(run.windows().empty());
  EXPECT_TRUE(stepWindows(Timeline()).empty());
}

}  // namespace
}  // namespace pipetrace
