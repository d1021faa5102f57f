#include "analysis/run/waits/run_network.h"

#include <gmock/gmock.h>

#include <map>

#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/meetings_by_hand.h"
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

/// Rank 1 comes to both collectives of a job last: 30 and 20 after rank 0.
TEST(RunNetwork, AJobInWhichRanksMeetIsAPieceUpToEachMeetingAndOneAfterTheLast) {
  MeetingsByHand made;
  const auto addJob = [&](int rank, Nanoseconds first, Nanoseconds second) {
    made.job(rank, 0, 150);
    made.kernel(rank, 0, first);
    made.meet(rank, first, 55);
    made.kernel(rank, 55, second);
    made.meet(rank, second, 105);
    made.kernel(rank, 105, 150);
  };
  addJob(0, 20, 80);
  addJob(1, 50, 100);
  const JobGraph graph = made.graph();
  const std::int32_t steps[] = {0};
  const RunWork work(made.timeline, graph, steps, 1);
  const RunNetwork network(graph, work, 0, 1, {.keepsLaunches = true});
  EXPECT_EQ(network.wholeCount(), 2U);
  std::map<RunNetwork::Index, std::vector<Nanoseconds>> pieces;  // by job
  for (const RunNetwork::Piece& piece : network.pieces()) {
    pieces[piece.job].push_back(piece.length);
    if (pieces[piece.job].size() == 3) {
      EXPECT_EQ(network.lastOf(piece.job), piece.operation);
      EXPECT_EQ(piece.meeting, InsideJobs::kNone);
    }
  }
  EXPECT_THAT(pieces,
              ElementsAre(Pair(0, ElementsAre(20, 25, 45)), Pair(1, ElementsAre(50, 45, 45))));
  std::vector<Nanoseconds> moving;
  for (const RunNetwork::Meeting& each : network.meetings()) moving.push_back(each.length);
  EXPECT_THAT(moving, ElementsAre(5, 5, 5, 5)) << "since the last member began";
  // With rank 1 as fast as rank 0, both end sooner.
  RunTimes<1> times(network);
  std::map<RunNetwork::Index, double> lengths;
  std::map<RunNetwork::Index, std::size_t> counts;
  for (const RunNetwork::Piece& piece : network.pieces()) {
    lengths[piece.operation] = static_cast<double>(pieces[0].at(counts[piece.job]++));
  }
  for (const RunNetwork::Meeting& each : network.meetings()) lengths[each.operation] = 5;
  times.run([&](const RunNetwork::Operation& operation) {
    const auto index = static_cast<RunNetwork::Index>(&operation - network.operations().data());
    return RunTimes<1>::Row{lengths.at(index)};
  });
  for (const RunNetwork::Index job : {0U, 1U}) {
    EXPECT_EQ(times.end(network.lastOf(job))[0], 20 + 5 + 25 + 5 + 45);
  }
}

}  // namespace
}  // namespace pipetrace
