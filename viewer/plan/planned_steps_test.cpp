#include "viewer/plan/planned_steps.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/testing/run_of_timeline.h"
#include "viewer/testing/compared_runs.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run beside its plan.
struct Planned {
  std::shared_ptr<const LoadedProfile> profile;
  PlannedSteps plan;

  explicit Planned(std::shared_ptr<const LoadedProfile> of)
      : profile(std::move(of)), plan(plannedStepsOf(profile->run())) {}
  explicit Planned(const SimulatedRun& of) : Planned(of.profile("run")) {}

  StepBesidePlan step(std::size_t number) const {
    return besidePlan(plan, profile->run(), profile->model(), profile->summary().steps.at(number));
  }
  std::vector<std::string> deviations(std::size_t number) const {
    const StepBesidePlan beside = step(number);
    std::vector<std::string> texts;
    for (const Deviation& each : beside.deviations) {
      texts.push_back(textOf(each, plan, beside, profile->model()));
    }
    return texts;
  }
};

std::shared_ptr<const LoadedProfile> finishedRun(Timeline timeline) {
  Diagnostics diagnostics;
  timeline.sort();
  completeTimeline(timeline, diagnostics);
  auto profile =
      std::make_shared<LoadedProfile>("run", asRun(std::move(timeline)), std::move(diagnostics));
  profile->add(findBubbles(*profile));
  return profile;
}

const SimulatedRun kFiveSteps{.steps = 5};

TEST(PlannedStepsTest, ARunAsPlannedHasATwinForEachJobAndNoDeviations) {
  for (const char* schedule : {"1F1B", "GPipe", "ZBH1"}) {
    const Planned run(SimulatedRun{.schedule = schedule, .steps = 5});
    ASSERT_TRUE(run.plan.exists()) << run.plan.problem;
    EXPECT_EQ(scheduleInfo(run.plan.schedule).name, scheduleInfo(schedule).name);
    for (std::size_t step = 0; step < 5; ++step) {
      EXPECT_THAT(run.deviations(step), IsEmpty()) << schedule << ", step " << step;
      for (const StepBesidePlan::Rank& rank : run.step(step).ranks) {
        EXPECT_THAT(rank.planned, testing::Not(testing::Contains(StepBesidePlan::kNone)));
        EXPECT_THAT(rank.missing, IsEmpty());
      }
    }
  }
}

TEST(PlannedStepsTest, TheLengthIsTheClosedFormOfTheSchedule) {
  const Planned run(kFiveSteps);
  // (m + p - 1) (F + B), and a message of 1 ms on the way there and back for each of p - 1 links,
  // in the warm-up, the drain, and where ranks wait for each other between them.
  EXPECT_GE(run.plan.length, 11 * 30 * kNsPerMs + 6 * kNsPerMs);
  EXPECT_LT(run.plan.length, 11 * 30 * kNsPerMs + 40 * kNsPerMs);
}

TEST(PlannedStepsTest, AJobThatLastsLongerIsNamedWithItsTime) {
  SimulatedRun slow = kFiveSteps;
  slow.faults.jobs = {{.action = {JobKind::kForward, 3, 5}, .step = 1, .longer = 7 * kNsPerMs}};
  const Planned run(slow);
  EXPECT_THAT(
      run.deviations(1),
      testing::Contains("3F5 on rank 3 lasts 7.000 ms longer than the 10.00 ms of the plan"));
  EXPECT_THAT(run.deviations(3), IsEmpty()) << "other steps are as planned";
}

TEST(PlannedStepsTest, AJobThatBeginsLateIsNamedOnceAndNotThoseThatOnlyFollowIt) {
  SimulatedRun slow = kFiveSteps;
  slow.faults.jobs = {{.action = {JobKind::kForward, 0, 2}, .step = 1, .late = 5 * kNsPerMs}};
  const Planned run(slow);
  const std::vector<std::string> texts = run.deviations(1);
  const auto namesOf = [&](const char* rank) {
    return std::count_if(texts.begin(), texts.end(), [&](const std::string& text) {
      return text.find(rank) != std::string::npos;
    });
  };
  EXPECT_THAT(texts, testing::Contains("0F2 on rank 0 begins 5.000 ms later than planned"));
  EXPECT_EQ(namesOf("0F3 on rank 0"), 0) << "it is as late as the job before it";
}

TEST(PlannedStepsTest, JobsThatChangedPlacesAreNamedWithBoth) {
  Timeline timeline = kFiveSteps.timeline();
  // In step 1, rank 0 runs its second and third forward in the other order.
  std::vector<Event*> forwards;
  for (Track& track : timeline.tracks) {
    if (track.rank != 0 || track.lane != kComputeLane) continue;
    for (Event& event : track.events) {
      if (event.kind == JobKind::kForward && event.step == 1) forwards.push_back(&event);
    }
  }
  std::swap(forwards[1]->microBatch, forwards[2]->microBatch);
  const Planned run(finishedRun(std::move(timeline)));
  ASSERT_TRUE(run.plan.exists()) << run.plan.problem;
  const std::vector<std::string> texts = run.deviations(1);
  ASSERT_FALSE(texts.empty());
  EXPECT_THAT(texts.front(),
              testing::AnyOf("0F2 on rank 0 is the 2. job of its rank, planned as the 3.",
                             "0F1 on rank 0 is the 3. job of its rank, planned as the 2."));
}

TEST(PlannedStepsTest, APlannedJobThatDidNotRunIsMissing) {
  Timeline timeline = kFiveSteps.timeline();
  for (Track& track : timeline.tracks) {
    if (track.lane != kComputeLane || track.rank != 3) continue;
    std::erase_if(track.events, [](const Event& event) {
      return event.step == 1 && event.kind == JobKind::kForward && event.microBatch == 7;
    });
  }
  const Planned run(finishedRun(std::move(timeline)));
  ASSERT_TRUE(run.plan.exists()) << run.plan.problem;
  const StepBesidePlan beside = run.step(1);
  EXPECT_EQ(beside.ranks.back().missing.size(), 1U);
  EXPECT_EQ(run.step(2).ranks.back().missing.size(), 0U);
}

TEST(PlannedStepsTest, TheScheduleThatLogsNameIsThePlanAlsoWhereTheRunHasAnother) {
  Timeline timeline = SimulatedRun{.schedule = "GPipe", .steps = 5}.timeline();
  for (auto& [rank, info] : timeline.ranks) info.schedule = "1F1B";
  const Planned run(finishedRun(std::move(timeline)));
  ASSERT_TRUE(run.plan.exists()) << run.plan.problem;
  EXPECT_EQ(run.plan.schedule, "1F1B");
  EXPECT_THAT(run.plan.source, HasSubstr("the order of the run is another one"));
  EXPECT_FALSE(run.deviations(1).empty());
}

TEST(PlannedStepsTest, WithoutAScheduleItSaysSo) {
  Timeline timeline = kFiveSteps.timeline();
  constexpr int kOrder[] = {5, 2, 7, 0, 3, 6, 1, 4};
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      const bool isForward = event.kind == JobKind::kForward ||
                             event.kind == JobKind::kSendForward ||
                             event.kind == JobKind::kRecvForward;
      if (isForward) event.microBatch = kOrder[event.microBatch];
    }
  }
  for (auto& [rank, info] : timeline.ranks) info.schedule.clear();
  const Planned run(finishedRun(std::move(timeline)));
  EXPECT_FALSE(run.plan.exists());
  EXPECT_FALSE(run.plan.problem.empty());
}

TEST(PlannedStepsTest, AnAsynchronousRunHasNoStepToPlan) {
  const Planned run(SimulatedRun{.schedule = "PipeDream", .steps = 6});
  EXPECT_FALSE(run.plan.exists());
  EXPECT_THAT(run.plan.problem, HasSubstr("asynchronous"));
}

}  // namespace
}  // namespace pipetrace
