#include "analysis/graph/order_times.h"

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
TEST(OrderTimes, AmongJobsThatWaitForEachOtherTheOneThatBeganFirstGoesOn) {
  HandMadeTimeline made;
  made.add(0, kBackward, 5, 25, 0).stage = 0;
  made.add(0, kForward, 30, 40, 0).stage = 0;
  made.add(1, kForward, 7, 14, 0).stage = 1;
  made.add(1, kBackward, 50, 80, 0).stage = 1;
  made.timeline.sort();
  for (const int rank : {0, 1}) made.timeline.ranks[rank] = {.rank = rank, .numStages = 2};
  const JobGraph graph(made.timeline, topologyOf(made.timeline));
  const StepJobs jobs(graph, 0);
  OrderTimes order(graph, jobs);
  std::map<JobGraph::Id, Nanoseconds> begins;
  order.run(
      0, [&](JobGraph::Id job) { return graph.node(job).end - graph.node(job).begin; },
      [&](JobGraph::Id job, Nanoseconds begin, Nanoseconds) { begins[job] = begin; });
  EXPECT_THAT(begins, ElementsAre(Pair(0, 0), Pair(1, 20), Pair(2, 30), Pair(3, 37)));
  EXPECT_EQ(order.length(), 20 + 10 + 7 + 30);
}

}  // namespace
}  // namespace pipetrace
