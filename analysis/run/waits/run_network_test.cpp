#include "analysis/run/waits/run_network.h"

#include <gmock/gmock.h>

#include <map>

#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using enum JobKind;
using testing::ElementsAre;
using testing::Pair;

/// Rank 0 has its backward before the forward that it follows from. Forward 0 of rank 1 waits for
/// that forward, and the backward for the forward of rank 1.
TEST(RunNetwork, AmongJobsThatWaitForEachOtherTheOneThatBeganFirstGoesOn) {
  HandMadeTimeline made;
  made.add(0, kBackward, 5, 25, 0).stage = 0;
  made.add(0, kForward, 30, 40, 0).stage = 0;
  made.add(1, kForward, 7, 14, 0).stage = 1;
  made.add(1, kBackward, 50, 80, 0).stage = 1;
  made.timeline.sort();
  for (const int rank : {0, 1}) made.timeline.ranks[rank] = {.rank = rank, .numStages = 2};
  const JobGraph graph(made.timeline, topologyOf(made.timeline));
  const StepJobs jobs(graph, 0);
  const MedianDurations usual(graph);
  const RunNetwork network(graph, jobs, usual, 0);
  RunTimes<1> times(network);
  const auto durationOf = [&](JobGraph::Id job) {
    return static_cast<double>(graph.node(job).end - graph.node(job).begin);
  };
  times.run(
      [&](const RunNetwork::Operation& work) { return RunTimes<1>::Row{durationOf(work.id)}; });
  std::map<JobGraph::Id, double> begins;
  for (RunNetwork::Index i = 0; i < 4; ++i) {
    const JobGraph::Id job = network.operations()[i].id;
    begins[job] = times.end(i)[0] - durationOf(job);
  }
  EXPECT_THAT(begins, ElementsAre(Pair(0, 0), Pair(1, 20), Pair(2, 30), Pair(3, 37)));
  EXPECT_EQ(times.length()[0], 20 + 10 + 7 + 30);
}

}  // namespace
}  // namespace pipetrace
