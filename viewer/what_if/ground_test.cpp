// Previews are compared with the answers of whatIf(), which they stand for.
#include "viewer/what_if/ground.h"

#include <gmock/gmock.h>

#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Costs fourStages() {
  Costs costs;
  for (const Nanoseconds forward : {1'000'000, 1'300'000, 900'000, 1'100'000}) {
    costs.stages.push_back({.forward = forward, .backward = 2 * forward});
  }
  costs.transfer = 200'000;
  costs.optimizer = 500'000;
  return costs;
}

/// The steps of the run are alike, so that its median one stands for it to the nanosecond.
Timeline timelineOf(const Plan& plan, const Costs& costs) {
  Timeline timeline = simulate(CheckedPlan(plan), costs,
                               {.steps = 5, .begin = 1'000'000, .stepsStartTogether = true})
                          .timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

const Run& run() {
  static const Run one = asRun(timelineOf(buildSchedule("1F1B", 4, 8), fourStages()));
  return one;
}

const WhatIfGround& ground() {
  static const WhatIfGround one(run());
  return one;
}

std::string errorOf(const WhatIfGround& of, const std::string& changes) {
  try {
    (void)of.preview(WhatIfChanges::of(changes));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(GroundTest, ItKnowsWhatCanBeChanged) {
  const WhatIfFacts& facts = ground().facts();
  EXPECT_THAT(facts.stages, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(facts.ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(facts.links, ElementsAre(std::pair(0, 1), std::pair(1, 2), std::pair(2, 3)));
  EXPECT_EQ(facts.schedule, "1F1B");
  EXPECT_EQ(facts.microBatches, 8);
  EXPECT_EQ(facts.chunks, 1);
  EXPECT_EQ(facts.noPreview, "");
  EXPECT_EQ(facts.noPlan, "");
  EXPECT_EQ(facts.noLinks, "");
  EXPECT_EQ(facts.modelError, 0.0);
  EXPECT_THAT(facts.peaks, ElementsAre(4, 3, 2, 1));
}

class PreviewTest : public testing::TestWithParam<const char*> {};

TEST_P(PreviewTest, OfStepsThatAreAlikeItIsTheAnswer) {
  const WhatIfChanges changes = WhatIfChanges::of(GetParam());
  const StepPreview preview = ground().preview(changes);
  const WhatIfAnswer answer = whatIf(run(), changes.question());
  EXPECT_EQ(answer.refusal, "");
  EXPECT_EQ(preview.figures.step, answer.changed.step);
  EXPECT_EQ(preview.before.step, answer.unchanged.step);
  EXPECT_EQ(preview.peaks, answer.changedPeaks);
  EXPECT_EQ(preview.isByModel, answer.isByModel);
  EXPECT_DOUBLE_EQ(preview.figures.bubbleRatio, answer.changed.bubbleRatio);
  // Whose a wait is may hang on the step before, which a preview does not have.
  const double ofRanks = 0.02 * 4 * static_cast<double>(answer.changed.step);
  double idle = 0;
  for (const BubbleClass each : kReportedClasses) {
    const double difference = preview.figures.ofClass(each) - answer.changed.ofClass(each);
    EXPECT_NEAR(difference, 0, ofRanks) << bubbleClassName(each);
    idle += difference;
  }
  EXPECT_NEAR(idle, 0, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Changes, PreviewTest,
    testing::Values("", "--scale stage=1:0.8", "--scale rank=3:1.5 --scale stage=0:0.9",
                    "--link 1-2=3ms", "--scale kind=transfer:0", "--scale link=0-1:4",
                    "--balance stages", "--no-launch", "--usual-launch 2", "--make-ideal stage=1",
                    "--schedule ZB-H1", "--schedule GPipe --no-launch",
                    "--schedule ZB-H1 --split 2:1", "--chunks 2", "--micro-batches 16",
                    "--micro-batches 16 --keep-batch --scale stage=1:0.7", "--comm-streams rank",
                    "--comm-streams rank --transfers in-time", "--stage-depths 4,3,2,1"));

TEST(GroundTest, JobsThatMovedAreThoseAfterTheChange) {
  const StepPreview preview = ground().preview(WhatIfChanges::of("--scale stage=3:0.5"));
  const std::vector<MovedJob>& ofFirst = preview.run->movedOf(0);
  const std::vector<MovedJob>& ofLast = preview.run->movedOf(3);
  ASSERT_FALSE(ofFirst.empty());
  const Nanoseconds begin = preview.run->model().steps().front().begin;
  EXPECT_GT(ofFirst.front().begin, begin + 4 * 1'000'000 - 1) << "not the warm-up";
  for (const MovedJob& job : ofLast) EXPECT_LT(job.later, 0) << "sooner";
  EXPECT_EQ(ground().preview({}).run->movedCount(), 0U);
  EXPECT_EQ(preview.run->beginBeside(ground().facts().step), begin);
}

TEST(GroundTest, JobsOfAnotherPlanAreComparedWithThoseOfTheStep) {
  const StepPreview preview = ground().preview(WhatIfChanges::of("--schedule GPipe"));
  const std::vector<MovedJob>& moved = preview.run->movedOf(0);
  ASSERT_FALSE(moved.empty());
  EXPECT_TRUE(std::any_of(moved.begin(), moved.end(), [](const MovedJob& job) {
    return job.later > 0;
  })) << "backwards come later";
  EXPECT_EQ(ground().preview(WhatIfChanges::of("--schedule 1F1B")).run->movedCount(), 0U);
}

TEST(GroundTest, AChangeThatTheRunCannotHaveSaysWhy) {
  EXPECT_THAT(errorOf(ground(), "--scale stage=9:0.5"), HasSubstr("--scale stage=9:0.5"));
  EXPECT_THAT(errorOf(ground(), "--link 0-3=1ms"), HasSubstr("no message between ranks 0 and 3"));
  EXPECT_THAT(errorOf(ground(), "--schedule PipeDream"), HasSubstr("it is asynchronous"));
  EXPECT_THAT(errorOf(ground(), "--transfers in-time"), HasSubstr("--comm-streams puts them"));
}

TEST(GroundTest, OfAnAsynchronousRunThereIsNoStepAndNoOtherPlan) {
  const auto async = asRun(timelineOf(buildSchedule("PipeDream", 4, 8), fourStages()));
  const WhatIfGround of(async);
  EXPECT_THAT(of.facts().noPreview, HasSubstr("asynchronous"));
  EXPECT_THAT(of.facts().noPlan, HasSubstr("asynchronous"));
  EXPECT_EQ(of.step(), nullptr);
  EXPECT_THAT(errorOf(of, "--scale stage=1:0.8"), HasSubstr("asynchronous"));
}

TEST(GroundTest, WithoutARankThereIsNoOtherPlanAndThePreviewIsNearTheAnswer) {
  Timeline timeline = timelineOf(buildSchedule("1F1B", 4, 8), fourStages());
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 2; });
  timeline.ranks.erase(2);
  const auto lacking = asRun(std::move(timeline));
  const WhatIfGround of(lacking);
  EXPECT_THAT(of.facts().noPlan, HasSubstr("no answer about another plan"));
  EXPECT_THAT(errorOf(of, "--schedule ZB-H1"), HasSubstr("no answer about another plan"));
  const WhatIfChanges changes = WhatIfChanges::of("--scale stage=1:1.4");
  const auto answered = static_cast<double>(whatIf(lacking, changes.question()).changed.step);
  EXPECT_NEAR(static_cast<double>(of.preview(changes).figures.step) / answered, 1, 0.1);
}

TEST(GroundTest, WithoutMessagesLinksHaveNothingToChange) {
  Timeline timeline = timelineOf(buildSchedule("1F1B", 4, 8), fourStages());
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane != kComputeLane; });
  const auto silent = asRun(std::move(timeline));
  const WhatIfGround of(silent);
  EXPECT_TRUE(of.facts().links.empty());
  EXPECT_THAT(of.facts().noLinks, HasSubstr("the logs have no messages"));
  EXPECT_THAT(errorOf(of, "--scale kind=transfer:0"), HasSubstr("no such work"));
  const WhatIfChanges changes = WhatIfChanges::of("--scale stage=1:0.8");
  EXPECT_EQ(of.preview(changes).figures.step, whatIf(silent, changes.question()).changed.step);
}

TEST(GroundTest, AStopEndsIt) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(WhatIfGround(run(), stop.get_token()), Error);
  EXPECT_THROW(WhatIfGround{asRun(Timeline())}, Error) << "no job";
}

}  // namespace
}  // namespace pipetrace
