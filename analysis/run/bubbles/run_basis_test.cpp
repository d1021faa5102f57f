#include "analysis/run/bubbles/run_basis.h"

#include <gtest/gtest.h>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

using enum JobKind;

/// The first window of a run of one rank, whose only forward is the first job.
BubbleWindow firstWindow(HandMadeTimeline& made) {
  made.timeline.sort();
  const JobGraph graph(made.timeline, topologyOf(made.timeline));
  const RunBasis basis(graph, summarize(made.timeline));
  return basis.pipelines().front().windows.front();
}

TEST(RunBasis, AWindowEndsWithAComputeJobOrAnOptimizerAndNothingElse) {
  for (const JobKind kind : {kData, kLr, kOther, kOptimizer}) {
    HandMadeTimeline made;
    made.add(0, kForward, 0, 10, 0, 0).stage = 0;
    made.add(0, kind, 10, 15, 0, -1);
    const BubbleWindow window = firstWindow(made);
    EXPECT_EQ(window.lastCompute, 0U);
    EXPECT_EQ(window.last, kind == kOptimizer ? 1U : 0U);
  }
}

}  // namespace
}  // namespace pipetrace
