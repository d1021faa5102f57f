// The end of a step is followed back from the end of its window. All times are worked out by hand,
// in whole nanoseconds; forwards usually take 10, backwards 20.
#include "analysis/run/bubbles/step_tail.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/testing/collectives_in_bubbles.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using enum JobKind;

class StepTails : public test::CollectivesInBubbles {
 protected:
  /// The jobs of a pipeline of two ranks. Its first rank's last backward ends at 60 if the one of
  /// the second rank takes 20.
  void addPipeline(int first, Nanoseconds backwardOfSecond = 20) {
    const Nanoseconds middle = 20 + backwardOfSecond;
    add(first, kForward, 0, 10);
    add(first + 1, kForward, 10, 20);
    add(first + 1, kBackward, 20, middle);
    add(first, kBackward, middle, middle + 20);
  }
  /// A collective of 8 that begins with its last member, then an optimizer of 2.
  void addEnd(int rank, Nanoseconds begin, Nanoseconds lastBegin) {
    addCollective(rank, kReduceScatter, begin, lastBegin + 8);
    add(rank, kOptimizer, lastBegin + 8, lastBegin + 10);
  }
};

/// The backward pass of rank 3 takes 30, so that its pipeline is 10 late. Ranks 0 and 2 reduce
/// gradients from 70 on, when rank 2 is there; the step ends at 80. After rank 0's last backward
/// there are 20: 10 of sync (8 + 2), and 10 of waiting for rank 2's, which waited for rank 3. Ranks
/// 0 and 1 have 18 besides their optimizers and the schedule's 20 of rank 1. The sync is 9, of
/// which their own collectives are 8. The other 9 are rank 3's.
TEST_F(StepTails, AReplicaThatIsLateIsToBlameForTheEndOfTheOthersSteps) {
  place(2, 2);
  addPipeline(0);
  addPipeline(2, 30);
  addEnd(0, 60, 70);
  addEnd(2, 70, 70);
  addEnd(1, 40, 50);
  addEnd(3, 50, 50);
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("drain 10-40", "peer_wait 60-69 by 3", "sync 69-70 by 2",
                                        "sync 70-78 by 2", "sync 78-80 by 0"));
  EXPECT_THAT(bubblesOf(1),
              ElementsAre("warm_up 0-10", "drain 40-50", "sync 50-58 by 3", "sync 58-60 by 1",
                          "drain 60-70", "peer_wait 70-79 by 3", "sync 79-80 by 2"));
  EXPECT_THAT(bubblesOf(2), ElementsAre("drain 10-40", "peer_wait 40-50 by 3", "sync 70-78 by 2",
                                        "sync 78-80 by 2"));
  EXPECT_THAT(bubblesOf(3),
              ElementsAre("warm_up 0-10", "sync 50-58 by 3", "sync 58-60 by 3", "drain 60-80"));
}

/// Rank 0's optimizer waits for the clipping of all ranks, whose last member is rank 2: that one
/// reduced from 70 to 79, and its backward pass took 10 longer. There are 25 after rank
/// 0's last backward: 9 + 4 + 2 of sync, and 10 of waiting. Rank 0 has 23 besides its optimizer: 14
/// sync, of which its own collectives are 12, and 9 the wait. Nothing but 15 of sync is after rank
/// 2's last backward. Rank 3 has all of that, 12 of it its own, and 8 before it.
TEST_F(StepTails, TheWalkGoesThroughClippingAndReductionToTheReplicaThatIsLate) {
  place(2, 2);
  addPipeline(0);
  add(2, kForward, 0, 10);
  add(3, kForward, 10, 20);
  add(3, kBackward, 20, 40);
  add(2, kBackward, 40, 70);
  for (const int rank : {0, 1, 2, 3}) {
    const bool isFirst = rank % 2 == 0;
    const Nanoseconds begin = rank == 0 ? 60 : rank == 2 ? 70 : 40;
    const Nanoseconds end = rank == 0 ? 78 : rank == 2 ? 79 : 48;
    addCollective(rank, kReduceScatter, begin, end, "grads-reduce-scatter");
    addCollective(rank, kAllReduce, isFirst ? end : 48, 83, "optimizer-clip-main-grad");
    add(rank, kOptimizer, 83, 85);
  }
  classify();
  const std::string last = "sync 83-85 by ";
  EXPECT_THAT(bubblesOf(0),
              ElementsAre("drain 10-40", "peer_wait 60-69 by 2", "sync 69-70 by 2",
                          "sync 70-78 by 2", "sync 78-79 by 2", "sync 79-83 by 2", last + "0"));
  EXPECT_THAT(bubblesOf(1),
              ElementsAre("warm_up 0-10", "sync 40-48 by 1", "drain 48-68", "peer_wait 68-77 by 2",
                          "sync 77-79 by 2", "sync 79-83 by 2", last + "1"));
  EXPECT_THAT(bubblesOf(2),
              ElementsAre("drain 10-40", "sync 70-79 by 2", "sync 79-83 by 2", last + "2"));
  EXPECT_THAT(bubblesOf(3),
              ElementsAre("warm_up 0-10", "sync 40-48 by 1", "drain 48-68", "peer_wait 68-76 by 2",
                          "sync 76-79 by 2", "sync 79-83 by 2", last + "3"));
}

/// Rank 0 waits for rank 1's backward pass (10 too long), which waited for an all-reduce (4), whose
/// last member is rank 2: its forward took 20 too long. There are 18 after rank 0's last
/// backward: 8 of sync and 10 of waiting. Rank 0 has 16 besides its optimizer: 7 sync, of which its
/// own collective is 6, and 9 the wait. The all-reduce is 4 of 34 of that.
TEST_F(StepTails, TheWalkGoesOnThroughCollectivesOfSeveralPipelines) {
  place(3, 1);
  for (const int rank : {0, 1, 2}) {
    const Nanoseconds forwardEnd = rank == 2 ? 30 : 10;
    const Nanoseconds backwardEnd = rank == 1 ? 64 : 54;
    add(rank, kForward, 0, forwardEnd);
    addCollective(rank, kAllReduce, forwardEnd, 34);
    add(rank, kBackward, 34, backwardEnd);
    addCollective(rank, kReduceScatter, backwardEnd, 70);
    add(rank, kOptimizer, 70, 72);
  }
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("peer_wait 10-30 by 2", "sync 30-34 by 2",
                                        "transfer 54-55 by 2", "peer_wait 55-63 by 2",
                                        "sync 63-64 by 1", "sync 64-70 by 1", "sync 70-72 by 0"));
  // The path of rank 2 ends at its own forward.
  EXPECT_THAT(bubblesOf(2),
              ElementsAre("sync 30-34 by 2", "transfer 54-56 by 2", "peer_wait 56-63 by 1",
                          "sync 63-64 by 1", "sync 64-70 by 1", "sync 70-72 by 2"));
}

/// No log says when the members in the other replica began.
TEST_F(StepTails, ACollectiveWithMembersThatHaveNoLogIsUnknown) {
  place(2, 2);
  for (const int rank : {2, 3}) made_.timeline.ranks.erase(rank);
  addPipeline(0);
  addEnd(0, 60, 70);
  addEnd(1, 40, 40);
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("drain 10-40", "unknown 60-78", "sync 78-80 by 0"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "unknown 40-48", "sync 48-50 by 1",
                                        "drain 50-70", "sync 70-71 by 0", "unknown 71-80"));
}

TEST_F(StepTails, ACollectiveOfARunWithOneReplicaIsSync) {
  place(1, 2);
  addPipeline(0);
  addEnd(0, 60, 70);
  addEnd(1, 40, 40);
  classify();
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "sync 40-48 by 1", "sync 48-50 by 1",
                                        "drain 50-70", "sync 70-80 by 0"));
}

/// The reduction of ranks 0 and 1 begins 10 after both were done.
TEST_F(StepTails, ACollectiveThatBeginsLateAtTheEndIsALateStart) {
  place(2, 1);
  for (const int rank : {0, 1}) {
    add(rank, kForward, 0, 10);
    add(rank, kBackward, 10, 30);
    addEnd(rank, 40, 40);
  }
  classify();
  for (const std::uint32_t rank : {0U, 1U}) {
    const std::string own = " by " + std::to_string(rank);
    // Rank 0 is the member that counts, as both begin together.
    EXPECT_THAT(bubblesOf(rank), ElementsAre("late_start 30-39 by 0", "sync 39-40 by 0",
                                             "sync 40-48 by 0", "sync 48-50" + own));
  }
}

TEST_F(StepTails, TheLongestOptimizerIsSyncOfTheOthers) {
  place(1, 2);
  addPipeline(0);
  add(0, kOptimizer, 60, 62);
  add(1, kOptimizer, 40, 90);
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("drain 10-40", "sync 60-62 by 0", "sync 62-90 by 1"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "sync 40-90 by 1"));
}

/// Rank 0 is the last with a compute job, and nothing follows: rank 1 has only its own end.
TEST_F(StepTails, AStepThatEndsWithAComputeJobHasNone) {
  place(2, 2);
  addPipeline(0);
  addPipeline(2);
  addEnd(1, 40, 42);
  addEnd(3, 42, 42);
  classify();
  EXPECT_THAT(bubblesOf(0), ElementsAre("drain 10-40"));
  EXPECT_THAT(bubblesOf(1), ElementsAre("warm_up 0-10", "drain 40-42", "sync 42-50 by 3",
                                        "sync 50-52 by 1", "drain 52-60"));
  for (const PipelineBasis& pipeline : basis_->pipelines()) {
    const StepTail& tail = pipeline.windows.front().tail;
    for (const StepTail::Part& part : tail.parts) EXPECT_EQ(part.time, 0);
    EXPECT_EQ(tail.wait.time, 0);
  }
}

class EqualReplicas : public testing::TestWithParam<std::string> {};

/// Each rank reduces gradients for 3 ms after its last job of the step, then has its optimizer.
TEST_P(EqualReplicas, WithCollectivesHaveOnlySyncAndTheSchedulesOwnBubbles) {
  Costs costs = test::costsOf(buildSchedule(GetParam(), {4, 8}), 0);
  costs.optimizer = 5 * kNsPerMs;
  Timeline run = test::completedRun(buildSchedule(GetParam(), {4, 8}), costs);
  std::vector<std::pair<int, Event>> sums;
  for (Track& track : run.tracks) {
    for (Event& event : track.events) {
      if (event.kind != kOptimizer) continue;
      sums.emplace_back(track.rank, event);
      event.begin += 3 * kNsPerMs;
      sums.back().second.end = event.begin;
      sums.back().second.kind = kAllReduce;
    }
  }
  for (auto& [rank, sum] : sums) run.track(rank, "nccl").events.push_back(sum);
  run = test::twice(std::move(run));
  run.sort();
  const RunSummary summary = summarize(run);
  const JobGraph graph(run, topologyOf(run));
  const Bubbles bubbles = classifyBubbles(RunBasis(graph, summary));
  ASSERT_EQ(bubbles.times.size(), 8U);
  for (std::size_t rank = 0; rank < bubbles.times.size(); ++rank) {
    const ClassTimes& times = bubbles.times[rank];
    EXPECT_GE(times[static_cast<std::size_t>(BubbleClass::kSync)], 3 * 5 * kNsPerMs);
    for (const BubbleClass c :
         {BubbleClass::kTransfer, BubbleClass::kLateStart, BubbleClass::kPeerWait,
          BubbleClass::kImbalance, BubbleClass::kUnknown}) {
      EXPECT_EQ(times[static_cast<std::size_t>(c)], 0)
          << "rank " << rank << ", class " << bubbleClassName(c);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EqualReplicas,
                         testing::Values("1F1B", "FThenB", "Interleaved1F1B", "ZBV", "DualPipeV"));

}  // namespace
}  // namespace pipetrace
