#include "analysis/run/graph/median_durations.h"

#include <gtest/gtest.h>

#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

/// Replicas of a pipeline of two ranks. Forwards of stage 1 take 40.
class UsualTimesOfReplicas : public testing::Test {
 protected:
  /// The forwards of stage 0 take this long on the first rank of the next replica.
  void addReplica(const std::vector<Nanoseconds>& lengths) {
    const int first = 2 * replicas_;
    for (const int position : {0, 1}) {
      RankInfo& info = made_.timeline.ranks[first + position];
      info.dataParallelIndex = replicas_;
      info.numStages = 2;
      Nanoseconds at = 100 * position;
      std::int32_t microBatch = 0;
      for (const Nanoseconds length : lengths) {
        const Nanoseconds end = at + (position == 0 ? length : 40);
        made_.add(first + position, JobKind::kForward, at, end, 0, microBatch++).stage = position;
        at = end;
      }
    }
    ++replicas_;
  }
  /// The usual length of the first job of stage 0, and what the stage usually takes longer.
  void expectUsual(Nanoseconds median, Nanoseconds imbalance) {
    made_.timeline.sort();
    const JobGraph graph(made_.timeline, topologyOf(made_.timeline));
    const MedianDurations times(graph);
    for (const JobGraph::Rank& rank : graph.ranks()) {
      if (rank.position != 0) continue;
      EXPECT_EQ(times.median(rank.first), median) << "rank " << rank.number;
      EXPECT_EQ(times.imbalanceOf(times.group(rank.first)), imbalance);
      EXPECT_EQ(times.balanced(rank.first), median - imbalance);
    }
  }

  HandMadeTimeline made_;
  int replicas_ = 0;
};

TEST_F(UsualTimesOfReplicas, MessagesAndCollectivesHaveNoUsualTime) {
  addReplica({10, 10});
  made_.timeline.sort();
  const JobGraph graph(made_.timeline, topologyOf(made_.timeline));
  const MedianDurations times(graph);
  for (const std::size_t after : {0, 1, 100}) {  // ids of messages and collectives
    const auto id = static_cast<JobGraph::Id>(graph.jobCount() + after);
    EXPECT_EQ(times.median(id), 0);
    EXPECT_EQ(times.group(id), 0U);
  }
}

/// Two backwards, of which the last is in two parts. Together the medians would be 10 and 20.
TEST(UsualTimesOfParts, EachPartIsAKindOfItsOwn) {
  HandMadeTimeline made;
  for (const int stage : {0, 1}) {
    made.timeline.ranks[stage].numStages = 2;
    const Nanoseconds unit = stage == 0 ? 10 : 14;
    const auto add = [&](Nanoseconds begin, Nanoseconds end, int microBatch, int part) {
      Event& event = made.add(stage, JobKind::kBackward, begin * unit, end * unit, 0, microBatch);
      event.stage = stage;
      event.part = static_cast<std::int16_t>(part);
    };
    add(0, 3, 0, kNotGiven);
    add(3, 4, 1, 0);
    add(4, 6, 1, 1);
  }
  made.timeline.sort();
  const JobGraph graph(made.timeline, topologyOf(made.timeline));
  const MedianDurations times(graph);
  const JobGraph::Id first = graph.ranks()[0].first;
  const Nanoseconds medians[] = {30, 10, 20};
  const Nanoseconds balanced[] = {36, 12, 24};  // those of stage 1 are 42, 14 and 28
  for (JobGraph::Id job = 0; job < 3; ++job) {
    EXPECT_EQ(times.median(first + job), medians[job]);
    EXPECT_EQ(times.balanced(first + job), balanced[job]);
    EXPECT_EQ(times.imbalanceOf(times.group(first + job)), medians[job] - balanced[job]);
  }
}

/// The medians of the ranks are 11 (10, 12) and 30. All jobs together would give 21. The stages
/// have 11 and 40: their median is 25, rounded down.
TEST_F(UsualTimesOfReplicas, TheFasterOfTwoRanksCounts) {
  addReplica({30, 30, 30});
  addReplica({10, 12, 10, 12});
  expectUsual(11, 11 - 25);
}

TEST_F(UsualTimesOfReplicas, TheMiddleOneOfThreeRanksCounts) {
  addReplica({50});
  addReplica({10, 90, 14});
  addReplica({20, 20, 20, 20, 20, 20, 20});
  expectUsual(20, -10);
}

TEST_F(UsualTimesOfReplicas, TheLowerMiddleOneOfFourRanksCounts) {
  addReplica({50});
  addReplica({10});
  addReplica({20});
  addReplica({30});
  expectUsual(20, -10);
}

TEST(MedianDurations, ARankWithManyStagesHasTheMedianOfEachStageAndKind) {
  HandMadeTimeline made;
  Nanoseconds at = 0;
  for (std::int32_t microBatch = 0; microBatch < 2; ++microBatch) {
    for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
      for (std::int32_t stage = 0; stage < 10; ++stage) {
        const Nanoseconds end = at + (kind == JobKind::kForward ? 10 : 100) + stage;
        made.add(0, kind, at, end, 0, microBatch).stage = stage;
        at = end;
      }
    }
  }
  made.timeline.sort();
  const JobGraph graph(made.timeline, topologyOf(made.timeline));
  const MedianDurations times(graph);
  ASSERT_EQ(graph.jobCount(), 40U);
  for (JobGraph::Id id = 0; id < 40; ++id) {
    EXPECT_EQ(times.median(id), graph.node(id).end - graph.node(id).begin) << "job " << id;
  }
}

}  // namespace
}  // namespace pipetrace
