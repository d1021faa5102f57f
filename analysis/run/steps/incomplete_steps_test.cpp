#include <gmock/gmock.h>

#include "analysis/run_summary.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

/// 1F1B on two ranks with four micro-batches: 8 compute jobs per rank and step.
Timeline run(int steps) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.optimizer = 5;
  return simulate(buildSchedule("1F1B", 2, 4), costs, {.steps = steps}).timeline;
}

std::vector<std::string> warningsOf(Timeline timeline) {
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  std::vector<std::string> list;
  for (const Diagnostic& diagnostic : diagnostics.list()) list.push_back(toText(diagnostic));
  return list;
}

/// Removes the last jobs of a rank's compute lane, as a run that is stopped does not log them.
void stopEarly(Timeline& timeline, int rank, std::size_t lost) {
  std::vector<Event>& jobs = timeline.track(rank, kComputeLane).events;
  jobs.resize(jobs.size() - lost);
}

TEST(IncompleteSteps, WholeStepsCauseNoWarning) { EXPECT_THAT(warningsOf(run(3)), IsEmpty()); }

TEST(IncompleteSteps, AStepThatWasStoppedInTheMiddleIsReported) {
  for (const int steps : {2, 3, 30}) {
    Timeline timeline = run(steps);
    stopEarly(timeline, 0, 4);  // the optimizer and three backward passes
    EXPECT_THAT(warningsOf(timeline),
                ElementsAre(AllOf(
                    HasSubstr("step " + std::to_string(steps - 1) +
                              " is incomplete (rank 0 has 5 of 8 compute jobs); its length and "
                              "bubble ratio mean little"),
                    HasSubstr("leave it out of comparisons"))));
  }
}

TEST(IncompleteSteps, AStepThatAProgramIsInIsSaidToBeUnfinished) {
  Timeline timeline = run(4);
  stopEarly(timeline, 0, 4);
  stopEarly(timeline, 1, 12);  // step 3 and a part of step 2
  const auto unfinished = HasSubstr("the program still runs and has not finished it yet");
  const auto lost = HasSubstr("the run was stopped, or jobs were lost");
  timeline.ranks.at(0).isRecording = true;
  timeline.ranks.at(1).isRecording = true;
  EXPECT_THAT(warningsOf(timeline), ElementsAre(AllOf(HasSubstr("step 2 is"), unfinished),
                                                AllOf(HasSubstr("step 3 is"), unfinished)));
  timeline.ranks.at(1).isRecording = false;
  EXPECT_THAT(warningsOf(timeline), ElementsAre(lost, lost)) << "that rank will not finish it";
}

TEST(IncompleteSteps, AStepThatAProgramHasLeftWillNotBeFinished) {
  Timeline timeline = run(4);
  std::erase_if(timeline.track(0, kComputeLane).events, [](const Event& event) {
    return event.step == 1 && event.kind == JobKind::kOptimizer;
  });
  stopEarly(timeline, 0, 1);
  timeline.ranks.at(0).isRecording = true;
  EXPECT_THAT(warningsOf(timeline),
              ElementsAre(AllOf(HasSubstr("step 1 is"), HasSubstr("jobs were lost")),
                          AllOf(HasSubstr("step 3 is"), HasSubstr("has not finished it yet"))));
}

TEST(IncompleteSteps, AMissingOptimizerIsReported) {
  Timeline timeline = run(3);
  stopEarly(timeline, 1, 1);
  EXPECT_THAT(warningsOf(timeline),
              ElementsAre(HasSubstr("step 2 is incomplete (rank 1 has no optimizer)")));
}

TEST(IncompleteSteps, OptimizersInEveryFewStepsAreSaidToAddUpGradients) {
  for (const int every : {2, 3}) {
    Timeline timeline = run(7);
    for (Track& track : timeline.tracks) {
      std::erase_if(track.events, [&](const Event& event) {
        return event.kind == JobKind::kOptimizer && event.step % every != every - 1;
      });
    }
    EXPECT_THAT(
        warningsOf(timeline),
        ElementsAre(AllOf(HasSubstr("one of " + std::to_string(every) + " steps has an optimizer"),
                          HasSubstr("call pipetrace.step() after each optimizer"))));
  }
}

TEST(IncompleteSteps, OtherRanksThatLackJobsAreCounted) {
  Timeline timeline = run(3);
  stopEarly(timeline, 0, 4);
  stopEarly(timeline, 1, 9);
  EXPECT_THAT(warningsOf(timeline),
              ElementsAre(HasSubstr("5 of 8 compute jobs, and 1 more rank lacks jobs)")));
}

TEST(IncompleteSteps, ManyStepsThatLackTheSameJobsAreOneWarning) {
  Timeline timeline = run(20);
  std::erase_if(timeline.track(0, kComputeLane).events, [](const Event& e) {
    return e.step >= 14 && e.kind == JobKind::kForward && e.microBatch == 3;
  });
  EXPECT_THAT(warningsOf(timeline),
              ElementsAre(AllOf(
                  HasSubstr("6 steps from 14 to 19 are incomplete (in step 14 rank 0 has 7 of 8 "
                            "compute jobs); their lengths and bubble ratios mean little"),
                  HasSubstr("leave them out"))));
}

TEST(IncompleteSteps, StepsHaveAWarningForEachRankThatLacksJobs) {
  Timeline timeline = run(20);
  for (const int rank : {0, 1}) {
    std::erase_if(timeline.track(rank, kComputeLane).events, [&](const Event& e) {
      return e.step % 9 == 3 * rank && e.step > 0 && e.kind == JobKind::kOptimizer;
    });
  }
  EXPECT_THAT(warningsOf(timeline),
              ElementsAre(HasSubstr("2 steps from 3 to 12 are incomplete (in step 3 rank 1 has no "
                                    "optimizer)"),
                          HasSubstr("2 steps from 9 to 18 are incomplete (in step 9 rank 0")));
}

TEST(IncompleteSteps, MoreThanFourReasonsAreCutShort) {
  Costs costs = Costs::equal(8, {10, 20});
  costs.optimizer = 5;
  Timeline timeline = simulate(buildSchedule("1F1B", 8, 4), costs, {.steps = 20}).timeline;
  for (int rank = 0; rank < 8; ++rank) {
    std::erase_if(timeline.track(rank, kComputeLane).events, [&](const Event& e) {
      return e.step == 2 + rank && e.kind == JobKind::kOptimizer;
    });
  }
  const std::vector<std::string> warnings = warningsOf(timeline);
  ASSERT_EQ(warnings.size(), 5U);
  EXPECT_THAT(warnings[4], EndsWith("4 more steps are incomplete"));
}

TEST(IncompleteSteps, ARankWithoutJobsInMostStepsOfItsPeersIsReported) {
  Timeline timeline = run(8);
  for (Track& track : timeline.tracks) {
    if (track.rank == 1) std::erase_if(track.events, [](const Event& e) { return e.step >= 3; });
  }
  EXPECT_THAT(warningsOf(timeline),
              ElementsAre(HasSubstr("5 steps from 3 to 7 are incomplete (in step 3 rank 1 has no "
                                    "compute jobs)")));
}

TEST(IncompleteSteps, ARankThatComputesNothingInAStepOfVaryingSizeIsReported) {
  Timeline timeline = run(8);
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [&](const Event& e) {
      return e.microBatch > e.step % 4 || (track.rank == 1 && e.step == 4);
    });
  }
  EXPECT_THAT(warningsOf(timeline),
              ElementsAre(HasSubstr("step 4 is incomplete (rank 1 has no compute jobs)")));
}

TEST(IncompleteSteps, StepsWithoutComputeJobsOfAnyRankAreNotCompared) {
  Timeline timeline = run(8);
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [](const Event& e) {
      return e.microBatch > e.step % 4 || (isCompute(e.kind) && e.step == 3);
    });
  }
  EXPECT_THAT(warningsOf(timeline), IsEmpty());
}

TEST(IncompleteSteps, StepsOfVaryingSizesAreNotCompared) {
  Timeline timeline = run(5);
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [](const Event& e) { return e.microBatch > e.step % 4; });
  }
  EXPECT_THAT(warningsOf(timeline), IsEmpty());
}

TEST(IncompleteSteps, ASingleStepCannotBeCompared) {
  Timeline timeline = run(1);
  stopEarly(timeline, 0, 4);
  EXPECT_THAT(warningsOf(timeline), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
