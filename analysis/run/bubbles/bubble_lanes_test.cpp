#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/hybrid_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using enum JobKind;

/// The sum of the bubbles by (rank, step).
std::map<std::pair<int, int>, Nanoseconds> bubbleSums(const Timeline& timeline) {
  std::map<std::pair<int, int>, Nanoseconds> sums;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (event.kind == kBubble) sums[{track.rank, event.step}] += event.duration();
    }
  }
  return sums;
}

TEST(BubbleLanes, GapsOfEachRankInsideTheWindowBecomeEvents) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  made.add(0, kBackward, 40, 60, 0);
  made.add(1, kForward, 12, 20, 0);
  made.add(1, kBackward, 20, 38, 0);
  made.timeline.sort();
  addBubbles(made.timeline);
  const auto& first = made.timeline.findTrack(0, kBubbleLane)->events;
  const auto& second = made.timeline.findTrack(1, kBubbleLane)->events;
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].begin, 10);
  EXPECT_EQ(first[0].end, 40);
  EXPECT_EQ(first[0].step, 0);
  EXPECT_EQ(first[0].bubbleClass, BubbleClass::kUnknown) << "jobs without stages";
  ASSERT_GE(second.size(), 2U);
  EXPECT_EQ(second[0].begin, 0);
  EXPECT_EQ(second[0].end, 12);
  EXPECT_EQ(second[1].begin, 38);
  EXPECT_EQ(second.back().end, 60);
}

/// Stage 1 takes 1.5 times as long as stage 0, and its forward begins 3 late.
TEST(BubbleLanes, BubblesHaveTheirClassAndTheirCulprit) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  made.add(0, kBackward, 58, 68, 0);
  made.add(1, kForward, 13, 28, 0).job = 7;
  made.add(1, kBackward, 28, 43, 0);
  // A message that takes 15.
  made.add(1, kSendBackward, 43, 58, 0, 0, kSendLane);
  made.add(0, kRecvBackward, 43, 58, 0, 0, kRecvLane);
  made.add(0, kSendForward, 10, 10, 0, 0, kSendLane);
  made.add(1, kRecvForward, 10, 10, 0, 0, kRecvLane);
  for (Track& track : made.timeline.tracks) {
    for (Event& event : track.events) event.stage = track.rank;
  }
  made.timeline.sort();
  addBubbles(made.timeline);
  // The plan's jobs take 12 each (mean of 10 and 15, rounded down). It is idle for 24 on rank 0,
  // and for 12 before and after the jobs of rank 1. Rank 0 waits 48, 24 too many: 15 for the
  // message, 3 for the late job, 3 and 3 for the longer ones.
  const auto& first = made.timeline.findTrack(0, kBubbleLane)->events;
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(first[0].bubbleClass, BubbleClass::kDrain);
  EXPECT_EQ(first[0].end, 10 + 24);
  EXPECT_EQ(first[0].peer, kNotGiven);
  EXPECT_EQ(first[1].bubbleClass, BubbleClass::kTransfer);
  EXPECT_EQ(first[1].duration(), 15);
  EXPECT_EQ(first[2].bubbleClass, BubbleClass::kLateStart);
  EXPECT_EQ(first[2].duration(), 3);
  EXPECT_EQ(first[2].peer, 1);
  EXPECT_EQ(first[2].job, 7);
  const auto arguments = made.timeline.argumentsOf(first[2]);
  ASSERT_EQ(arguments.size(), 1U);
  EXPECT_EQ(made.timeline.strings[arguments[0].key], "culprit");
  EXPECT_EQ(made.timeline.strings[arguments[0].text], "1F0");
  EXPECT_EQ(first[3].bubbleClass, BubbleClass::kImbalance);
  EXPECT_EQ(first[3].duration(), 6);
  EXPECT_EQ(first[3].peer, 1);
  const auto& second = made.timeline.findTrack(1, kBubbleLane)->events;
  ASSERT_EQ(second.size(), 4U);
  EXPECT_EQ(second[0].bubbleClass, BubbleClass::kWarmUp);
  EXPECT_EQ(second[0].duration(), 12);
  EXPECT_EQ(second[1].bubbleClass, BubbleClass::kLateStart);
  EXPECT_EQ(second[1].duration(), 1);
  EXPECT_EQ(second[2].bubbleClass, BubbleClass::kDrain);
  EXPECT_EQ(second[2].duration(), 12);
  EXPECT_EQ(second[3].bubbleClass, BubbleClass::kTransfer);
  EXPECT_EQ(second[3].duration(), 13);
}

TEST(BubbleLanes, EachPipelineHasTheBubblesOfItsOwnWindows) {
  HandMadeTimeline made;
  for (const int rank : {0, 1}) {
    made.add(rank, kForward, 100 * rank, 100 * rank + 10, 0);
    made.add(rank, kBackward, 100 * rank + 15, 100 * rank + 30, 0);
    made.timeline.ranks[rank].numStages = 1;
    made.timeline.ranks[rank].numChunks = 1;
    made.timeline.ranks[rank].dataParallelIndex = rank;
  }
  made.timeline.sort();
  addBubbles(made.timeline);
  EXPECT_EQ(bubbleSums(made.timeline),
            (std::map<std::pair<int, int>, Nanoseconds>{{{0, 0}, 5}, {{1, 0}, 5}}));
}

TEST(BubbleLanes, CollectivesHaveWhatJobsOfTheirRankWaitAndMoveInThem) {
  HybridRun made;
  made.replicas = 2;
  made.sharesWeights = true;
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 1 ? usual * 5 / 4 : usual;
  };
  Timeline timeline = made.timeline();
  addBubbles(timeline);
  std::map<std::pair<int, JobKind>, std::pair<Nanoseconds, Nanoseconds>> sums;  // by rank
  const StringId waiting = timeline.strings.find(inside_arguments::kWaiting).value();
  const StringId moving = timeline.strings.find(inside_arguments::kMoving).value();
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCollective(event.kind)) continue;
      auto& [waits, moves] = sums[{track.rank, event.kind}];
      for (const Argument& argument : timeline.argumentsOf(event)) {
        if (argument.key == waiting) waits += argument.integer;
        if (argument.key == moving) moves += argument.integer;
      }
    }
  }
  const JobGraph graph(timeline, topologyOf(timeline));
  decltype(sums) expected;
  for (const InsideJobs::Meeting& each : graph.inside().meetings()) {
    const int rank = graph.ranks()[graph.node(each.job).rank].number;
    auto& [waits, moves] = expected[{rank, graph.inside().setOf(each).kind}];
    waits += each.waitingInside;
    moves += each.movingInside;
  }
  EXPECT_EQ(sums, expected);
  EXPECT_EQ(sums.size(), 3U * static_cast<std::size_t>(made.rankCount()));
  const std::pair<int, JobKind> peer(0, kAllReduce);
  EXPECT_GT(sums[peer].first, 0);
}

TEST(BubbleLanes, OlderBubblesAreReplaced) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  made.add(0, kBackward, 40, 60, 0);
  made.add(0, kBubble, 0, 5, 0, -1, kBubbleLane);
  made.timeline.sort();
  addBubbles(made.timeline);
  addBubbles(made.timeline);
  EXPECT_EQ(bubbleSums(made.timeline), (std::map<std::pair<int, int>, Nanoseconds>{{{0, 0}, 30}}));
}

TEST(BubbleLanes, RunWithoutIdleTimeHasNoBubbleLane) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 10, 0);
  made.add(0, kBubble, 0, 5, 0, -1, kBubbleLane);
  addBubbles(made.timeline);
  EXPECT_EQ(made.timeline.tracks.size(), 1U);
}

TEST(BubbleLanes, DurationsAddUpToTheIdleTimeToTheNanosecond) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    const int p = 1 + round % 5;
    Costs costs = Costs::equal(p, {});
    for (StageCosts& stage : costs.stages) {
      stage.forward = 1 + static_cast<Nanoseconds>(random() % 1'000'000);
      stage.backward = 1 + static_cast<Nanoseconds>(random() % 2'000'000);
    }
    costs.transfer = static_cast<Nanoseconds>(random() % 300'000);
    costs.lr = static_cast<Nanoseconds>(random() % 1000);
    costs.optimizer = static_cast<Nanoseconds>(random() % 100'000);
    Simulation run = simulate(buildSchedule("1F1B", p, 1 + round % 7), costs,
                              {.steps = 4, .begin = 1'697'793'307'213'760'986});
    const RunSummary summary = summarize(run.timeline);
    addBubbles(run.timeline);
    const auto sums = bubbleSums(run.timeline);
    for (const StepSummary& step : summary.steps) {
      for (const RankStep& rank : step.ranks) {
        EXPECT_EQ(rank.busy + rank.idle, step.window());
        const auto found = sums.find({rank.rank, step.step});
        EXPECT_EQ(found == sums.end() ? 0 : found->second, rank.idle);
      }
    }
    // Bubbles never cover a job of their rank.
    for (const Track& track : run.timeline.tracks) {
      if (track.lane != kBubbleLane) continue;
      for (const Event& bubble : track.events) {
        for (const Event& job : run.timeline.findTrack(track.rank, kComputeLane)->events) {
          if (isCompute(job.kind)) {
            EXPECT_TRUE(job.end <= bubble.begin || bubble.end <= job.begin);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pipetrace
