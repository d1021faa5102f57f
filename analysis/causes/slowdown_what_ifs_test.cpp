// Lengths by replica and of many sets are computed in short ways. Here they are compared with the
// long one: a what-if of its own for each.
#include "analysis/causes/slowdown_what_ifs.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/noisy_run.h"

namespace pipetrace {
namespace {

constexpr int kPositions = 2;
constexpr int kJobs = 6;

/// One step of `replicas` pipelines with jobs of random lengths. A collective of all replicas
/// follows each job, so that nearly everything waits for other replicas.
Timeline coupledRun(int replicas) {
  HandMadeTimeline made;
  std::mt19937 random(5);  // NOLINT: the same run every time
  for (int rank = 0; rank < replicas * kPositions; ++rank) {
    RankInfo& info = made.timeline.ranks[rank];
    info.rank = rank;
    info.dataParallelIndex = rank / kPositions;
    info.numStages = kPositions;
    info.worldSize = replicas * kPositions;
    for (int i = 0; i < kJobs; ++i) {
      const Nanoseconds begin = 1000 * (i * kPositions + rank % kPositions);
      const auto length = static_cast<Nanoseconds>(100 + random() % 500);
      made.add(rank, JobKind::kForward, begin, begin + length, 0, i).stage = rank % kPositions;
      made.add(rank, JobKind::kAllReduce, begin + length,
               begin + 650 + static_cast<Nanoseconds>(random() % 100), 0, -1, "nccl");
    }
  }
  made.timeline.sort();
  return std::move(made.timeline);
}

TEST(WhatIfTimes, LengthsByReplicaAreThoseOfAWhatIfForEachOne) {
  for (const int replicas : {1, 2, 3, 150}) {
    SCOPED_TRACE(replicas);
    Timeline timeline = coupledRun(replicas);
    Diagnostics diagnostics;
    completeTimeline(timeline, diagnostics);
    const JobGraph graph(timeline, topologyOf(timeline));
    const std::vector<std::int32_t> steps{0};
    const RunWork work(timeline, graph, steps, 1);
    const RunNetwork network(graph, work, 0, 1);
    std::vector<std::uint32_t> replicaOf;
    for (const JobGraph::Rank& rank : graph.ranks()) {
      replicaOf.push_back(static_cast<std::uint32_t>(rank.replica));
    }
    const auto count = static_cast<std::size_t>(replicas);
    ASSERT_EQ(graph.pipelines().size(), count);

    const WhatIfs none(graph.ranks().size(), work.stages().size(), work.setNames().size());
    WhatIfs allAndNothing = none;
    allAndNothing.inverted = 1;
    WhatIfTimes times(network);
    const WhatIfTimes::Lengths two = times.run(allAndNothing);
    const std::vector<double> lengths = times.lengthsByReplica(replicaOf, count);
    ASSERT_EQ(lengths.size(), count);
    std::size_t different = 0;
    for (std::size_t replica = 0; replica < count; ++replica) {
      WhatIfs one = none;
      for (std::size_t r = 0; r < replicaOf.size(); ++r) {
        one.byRank[r] = replicaOf[r] == replica ? 1 : 0;
      }
      WhatIfTimes single(network);
      const double expected = single.run(one)[0];
      EXPECT_NEAR(lengths[replica], expected, 1e-6) << "replica " << replica;
      if (expected != two[0] && expected != two[1]) ++different;
    }
    EXPECT_EQ(different, replicas > 1 ? count : 0) << "each replica has a length of its own";
  }
}

/// Compares the lengths with one rank as measured, for all ranks of a step.
void expectLengthsByRank(const Timeline& timeline, std::int32_t step) {
  const JobGraph graph(timeline, topologyOf(timeline));
  const std::vector<std::int32_t> steps{step};
  const RunWork work(timeline, graph, steps, 1);
  const RunNetwork network(graph, work, 0, 1);
  const std::size_t ranks = graph.ranks().size();
  ASSERT_GT(ranks, SetTimes::kAtOnce) << "there is more than one pass";
  SetTimes times(network, ranks, [](const RunNetwork::Operation& each) { return each.rank; });
  const std::vector<double> lengths = times.lengths();
  ASSERT_EQ(lengths.size(), ranks);
  WhatIfTimes single(network);
  std::set<double> different;
  for (std::size_t r = 0; r < ranks; ++r) {
    WhatIfs one(ranks, work.stages().size(), work.setNames().size());
    one.byRank[r] = 1;
    const double expected = single.run(one)[0];
    EXPECT_NEAR(lengths[r], expected, 1e-7 * expected) << "rank " << r;
    different.insert(lengths[r]);
  }
  EXPECT_GT(different.size(), ranks / 2);
  EXPECT_EQ(times.lengths(), lengths) << "a second time";
}

TEST(SetTimes, LengthsOfSetsAreThoseOfAWhatIfForEachOne) {
  Timeline coupled = coupledRun(80);
  Diagnostics diagnostics;
  completeTimeline(coupled, diagnostics);
  expectLengthsByRank(coupled, 0);
  for (const char* schedule : {"1F1B", "ZB-H1"}) {
    SCOPED_TRACE(schedule);
    const Plan plan = buildSchedule(schedule, {.ranks = 131, .microBatches = 5});
    expectLengthsByRank(test::noisyRun(plan, test::costsOf(plan, 1), 2, 3), 1);
  }
}

}  // namespace
}  // namespace pipetrace
