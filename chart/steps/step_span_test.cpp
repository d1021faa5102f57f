#include "chart/steps/step_span.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chart/draw/svg_canvas.h"
#include "chart/steps/step_grid.h"
#include "chart/testing/gpipe_timeline.h"
#include "chart/testing/paper_colors.h"
#include "chart/testing/xml_check.h"

namespace pipetrace {
namespace {

TEST(StepSpanTest, AStepLastsFromItsFirstComputeJobToItsLastOptimizer) {
  const std::vector<StepSpan> steps = stepSpans(GpipeRun::make(3));
  ASSERT_EQ(steps.size(), 3U);
  for (int step = 0; step < 3; ++step) {
    const StepSpan& span = steps[static_cast<std::size_t>(step)];
    EXPECT_EQ(span.step, step);
    EXPECT_EQ(span.begin, GpipeRun::beginOf(step)) << "and not at the earliest lr";
    EXPECT_EQ(span.end, GpipeRun::beginOf(step) + GpipeRun::kWindow);
  }
}

TEST(StepSpanTest, AStepOfSeveralPipelinesLastsFromItsFirstToItsLastWindow) {
  Timeline timeline;
  timeline.track(0, kComputeLane).events = {
      {.begin = 10, .end = 35, .step = 0, .kind = JobKind::kForward},
      {.begin = 30, .end = 40, .step = 1, .kind = JobKind::kForward}};
  timeline.track(1, kComputeLane).events = {
      {.begin = 5, .end = 32, .step = 0, .kind = JobKind::kForward},
      {.begin = 50, .end = 60, .step = 1, .kind = JobKind::kForward}};
  EXPECT_EQ(stepSpans(timeline)[0].end, 30) << "one pipeline, cut where the next step begins";
  for (const int rank : {0, 1}) timeline.ranks[rank].dataParallelIndex = rank;
  const std::vector<StepSpan> steps = stepSpans(timeline);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].begin, 5);
  EXPECT_EQ(steps[0].end, 32);
  EXPECT_EQ(steps[1].begin, 30);
  EXPECT_EQ(steps[1].end, 60);
}

/// GpipeRun with its middle step an evaluation that takes long.
Timeline withEvaluation() {
  Timeline timeline = GpipeRun::make(3);
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      if (event.step != 1) continue;
      event.phase = Phase::kEvaluate;
    }
  }
  return timeline;
}

TEST(StepSpanTest, AStepOfAnotherPhaseHasItInItsLabelAndIsNoMeasure) {
  std::vector<StepSpan> steps = stepSpans(withEvaluation());
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(numberText(steps[0]), "0");
  EXPECT_EQ(numberText(steps[1]), "1 (evaluate)");
  ASSERT_EQ(countedSteps(steps).size(), 2U);
  EXPECT_EQ(countedSteps(steps)[1].step, 2);
  const Nanoseconds median = medianDuration(steps);
  steps[1].end += kNsPerSecond;
  EXPECT_EQ(medianDuration(steps), median);
  EXPECT_NE(slowestStep(steps)->step, 1);
  EXPECT_NE(medianStep(steps)->step, 1);
  steps = {steps[1]};
  EXPECT_EQ(medianDuration(steps), steps[0].end - steps[0].begin) << "a run that only evaluates";

  const Timeline timeline = withEvaluation();
  const ChartModel model(timeline);
  std::vector<std::string> labels;
  for (const XmlElement& e : parseXml(renderSvg(model, {}))) {
    if (e.name == "text" && e.text.starts_with("step ")) labels.push_back(e.text);
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"step 0", "step 1 (evaluate)", "step 2"}));
}

TEST(StepSpanTest, ColumnsOfStepsAreThoseOfThePhaseThatCounts) {
  const StepGrid grid = stepGridOf(withEvaluation(), 1);
  ASSERT_EQ(grid.columns.size(), 2U);
  EXPECT_EQ(grid.columns[0].first, 0);
  EXPECT_EQ(grid.columns[1].first, 2);
  const StepGrid all = stepGridOf(GpipeRun::make(3), 1);
  EXPECT_EQ(grid.columns[1].all.window, all.columns[2].all.window);
  EXPECT_EQ(grid.columns[1].all.busyTime(), all.columns[2].all.busyTime());
}

TEST(StepSpanTest, MarksAreDrawnAtTheFirstForward) {
  const Timeline timeline = GpipeRun::make(2);
  const ChartModel model(timeline);
  const auto elements = parseXml(renderSvg(model, {}));
  // The mark of step 1 is where rank 0's first forward of step 1 has its left edge.
  const std::string mark = toHex(kPaperTheme.stepLine);
  const std::string forward = toHex(kPaperColors.of({.kind = JobKind::kForward}));
  std::vector<int> marks;
  std::vector<int> forwards;
  int top = 0;
  for (const XmlElement& e : elements) {
    if (e.name != "rect") continue;
    if (e.attribute("fill") == mark && e.attribute("height") == "19") {
      marks.push_back(std::stoi(e.attribute("x")));
    }
    const bool isRow = e.attribute("height") == std::to_string(RowHeights{}.compute);
    if (!isRow || e.attribute("fill") != forward) continue;
    if (top == 0) top = std::stoi(e.attribute("y"));
    if (std::stoi(e.attribute("y")) == top) forwards.push_back(std::stoi(e.attribute("x")));
  }
  ASSERT_EQ(forwards.size(), 2U * GpipeRun::kMicroBatches);
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0], forwards[0]);
  EXPECT_EQ(marks[1], forwards[GpipeRun::kMicroBatches]);
}

}  // namespace
}  // namespace pipetrace
