#include "analysis/run/steps/step_cut.h"

#include <gmock/gmock.h>

#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;

struct CutJob {
  JobKind kind = JobKind::kForward;
  std::int32_t stage = kNotGiven;
  std::int32_t microBatch = kNotGiven;
  std::int16_t chunk = kNotGiven;
};

std::vector<std::int32_t> stepsOf(const std::vector<CutJob>& jobs) {
  std::vector<Event> events;
  for (const CutJob& job : jobs) {
    Event& event = events.emplace_back();
    event.kind = job.kind;
    event.stage = job.stage;
    event.microBatch = job.microBatch;
    event.chunk = job.chunk;
  }
  EXPECT_TRUE(giveSteps(events));
  std::vector<std::int32_t> steps;
  for (const Event& event : events) steps.push_back(event.step);
  return steps;
}

using enum JobKind;

TEST(StepCut, OtherStagesOfARankOpenNoStep) {
  EXPECT_THAT(stepsOf({{kForward, 1, 0},
                       {kForward, 5, 0},
                       {kBackward, 5, 0},
                       {kBackward, 1, 0},
                       {kForward, 1, 0},
                       {kForward, 5, 0}}),
              ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(StepCut, LowestMicroBatchOfTheFirstForwardsStageOpensAStep) {
  EXPECT_THAT(stepsOf({{kForward, 4, 5},
                       {kForward, 3, 0},
                       {kForward, 4, 6},
                       {kBackward, 3, 0},
                       {kForward, 4, 5},
                       {kForward, 3, 0}}),
              ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(StepCut, LowestMicroBatchMayComeLateAndJobsWithoutOneDoNotCount) {
  EXPECT_THAT(stepsOf({{kForward, 4, 6},
                       {kForward, 4, 5},
                       {kForward, 4, kNotGiven},
                       {kForward, 4, 6},
                       {kForward, 4, 5}}),
              ElementsAre(0, 0, 0, 0, 1));
}

TEST(StepCut, OptimizerBeforeTheFirstForwardOfATraceOpensNoStep) {
  EXPECT_THAT(stepsOf({{kOptimizer}, {kForward, 1, 0}, {kOptimizer}, {kForward, 1, 0}}),
              ElementsAre(0, 0, 0, 1));
}

TEST(StepCut, ChunksOfALogOpenStepsByTypeAndMicroBatchZero) {
  EXPECT_THAT(stepsOf({{kForward, 1, 0, 0}, {kForward, 5, 0, 1}, {kForward, 1, 0, 0}}),
              ElementsAre(0, 0, 1));
  EXPECT_THAT(stepsOf({{kForward, 1, 4, 0}, {kForward, 1, 5, 0}, {kForward, 1, 4, 0}}),
              ElementsAre(0, 0, 0))
      << "a log has a micro-batch 0";
}

}  // namespace
}  // namespace pipetrace
