#include "analysis/causes/slack.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/action.h"
#include "trace/log/fused_pair.h"

namespace pipetrace {
namespace {

using testing::Each;
using testing::ElementsAre;

/// The slack of all jobs of the first step.
std::vector<Nanoseconds> slackIn(Timeline& timeline) {
  timeline.sort();
  const RunSummary summary = summarize(timeline);
  const JobGraph graph(timeline, topologyOf(timeline));
  const RunBasis basis(graph, summary);
  const PipelineBasis& pipeline = basis.pipelines().front();
  std::vector<Nanoseconds> slack(graph.jobCount(), -1);
  StepSlack(graph, pipeline.jobs, 0).find(pipeline.windows.front(), slack);
  return slack;
}

/// Rank 1 has 5 ns less to do in its first forward than rank 0 gives it time for.
TEST(StepSlack, IsTheTimeThatAJobMayBeLater) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 10, 0, 0).stage = 0;
  made.add(0, JobKind::kForward, 10, 20, 0, 1).stage = 0;
  made.add(1, JobKind::kForward, 10, 15, 0, 0).stage = 1;
  made.add(1, JobKind::kForward, 20, 25, 0, 1).stage = 1;
  EXPECT_THAT(slackIn(made.timeline), ElementsAre(0, 0, 5, 0));
}

TEST(StepSlack, OptimizerThatEndsTheStepLeavesNone) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 10, 0, 0).stage = 0;
  made.add(0, JobKind::kOptimizer, 10, 15, 0, -1);
  made.add(1, JobKind::kForward, 10, 12, 0, 0).stage = 1;
  made.add(1, JobKind::kOptimizer, 12, 14, 0, -1);
  EXPECT_THAT(slackIn(made.timeline), ElementsAre(0, -1, 1, -1));
}

/// The next step begins at 12, before the optimizer of rank 1 has ended.
TEST(StepSlack, StepEndsWithItsLastOptimizerThoughTheNextHasBegun) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 10, 0, 0).stage = 0;
  made.add(0, JobKind::kOptimizer, 10, 12, 0, -1);
  made.add(0, JobKind::kForward, 12, 22, 1, 0).stage = 0;
  made.add(1, JobKind::kForward, 10, 15, 0, 0).stage = 1;
  made.add(1, JobKind::kOptimizer, 15, 40, 0, -1);
  made.add(1, JobKind::kForward, 40, 45, 1, 0).stage = 1;
  made.add(2, JobKind::kForward, 15, 16, 0, 0).stage = 2;
  made.add(2, JobKind::kForward, 45, 46, 1, 0).stage = 2;
  EXPECT_THAT(slackIn(made.timeline), ElementsAre(0, -1, -1, 0, -1, -1, 24, -1));
}

TEST(StepSlack, MembersOfACollectiveWaitForTheLast) {
  HandMadeTimeline made;
  for (const int rank : {0, 1}) {
    made.timeline.ranks[rank].dataParallelIndex = 0;
    made.timeline.ranks[rank].numStages = 2;
    const int done = rank == 0 ? 10 : 30;
    made.add(rank, JobKind::kBackward, done - 10, done, 0, 0).stage = rank;
    Event& sum = made.add(rank, JobKind::kAllReduce, done, 40, 0, -1, "nccl");
    sum.name = made.timeline.strings.intern("embedding-grads-all-reduce");
    made.add(rank, JobKind::kOptimizer, 40, rank == 0 ? 50 : 44, 0, -1);
  }
  EXPECT_THAT(slackIn(made.timeline), ElementsAre(20, -1, 0, -1));
}

Action actionOf(const Timeline& timeline, const JobGraph::Node& job) {
  Action action{job.kind, job.stage, job.microBatch};
  if (const auto pair = fusedPairOf(timeline, *job.event)) {
    action.backwardStage = pair->backwardStage;
    action.backwardMicroBatch = pair->backwardMicroBatch;
  }
  return action;
}

Timeline runWith(const Plan& plan, const Costs& costs) {
  return test::completedRun(plan, costs, 1);
}

Nanoseconds lengthOf(const Timeline& timeline) { return summarize(timeline).steps[0].duration(); }

/// A plan that is simulated again with one job longer is the judge: it stays as long while the job
/// takes up its slack, and no longer.
TEST(StepSlack, IsHowMuchLongerAJobOfAPlanCanBe) {
  for (const char* schedule : {"1F1B", "ZB-H1", "Interleaved1F1B", "FThenB", "DualPipeV"}) {
    const Plan plan = buildSchedule(schedule, {4, schedule == std::string("DualPipeV") ? 8 : 4});
    Costs costs = test::costsOf(plan, 0.5);
    test::scaleRank(costs, plan, 2, 1.3);
    const Timeline timeline = runWith(plan, costs);
    const auto run = explainRun(timeline, {});
    const Nanoseconds length = lengthOf(timeline);
    int withSlack = 0;
    for (JobGraph::Id id = 0; id < run.graph->jobCount(); ++id) {
      const JobGraph::Node& job = run.graph->node(id);
      if (!isCompute(job.kind)) continue;
      const Action action = actionOf(timeline, job);
      SCOPED_TRACE(std::string(schedule) + " " + toText(action));
      ASSERT_GE(run.slack[id], 0);
      withSlack += run.slack[id] > 0 ? 1 : 0;
      for (const Nanoseconds more : {Nanoseconds{0}, Nanoseconds{1000}}) {
        Costs longer = costs;
        longer.faults.jobs = {{action, Faults::kEveryStep, run.slack[id] + more, 0}};
        EXPECT_EQ(lengthOf(runWith(plan, longer)), length + more);
      }
    }
    EXPECT_GT(withSlack, 4);
  }
}

TEST(StepSlack, StagesHaveTheLeastAndTheMedianOfTheirJobs) {
  HandMadeTimeline made;
  for (int mb = 0; mb < 4; ++mb) {
    made.add(0, JobKind::kForward, 10 * mb, 10 * mb + 10, 0, mb).stage = 0;
    made.add(1, JobKind::kForward, 10 * mb + 10, 10 * mb + 16, 0, mb).stage = 1;
  }
  made.timeline.sort();
  const auto run = explainRun(made.timeline, {});
  EXPECT_THAT(run.slack, ElementsAre(0, 0, 0, 0, 12, 8, 4, 0));
  EXPECT_EQ(run.slackByStage.at(0).median, 0);
  EXPECT_EQ(run.slackByStage.at(1).least, 0);
  EXPECT_EQ(run.slackByStage.at(1).median, 6);
}

TEST(StepSlack, StepsThatDoNotCountHaveNone) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  const Timeline timeline = test::completedRun(plan, test::costsOf(plan, 0), 3);
  const auto run = explainRun(timeline, {.steps = {{1}}});
  for (JobGraph::Id id = 0; id < run.graph->jobCount(); ++id) {
    const JobGraph::Node& job = run.graph->node(id);
    EXPECT_EQ(run.slack[id] >= 0, isCompute(job.kind) && job.step > 0);
  }
}

TEST(StepSlack, RunsThatLackARankHaveNone) {
  const Plan plan = buildSchedule("1F1B", {4, 4});
  Timeline timeline = test::completedRun(plan, test::costsOf(plan, 0), 3);
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 1; });
  timeline.ranks.erase(1);
  const auto run = explainRun(timeline, {});
  EXPECT_THAT(run.slack, Each(-1));
  EXPECT_TRUE(run.slackByStage.empty());
}

}  // namespace
}  // namespace pipetrace
