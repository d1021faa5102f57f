#include "schedule/simulate/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/testing/simulated_events.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::eventsOf;

TEST(Simulate, LengthIsTheClosedFormForAllSizes) {
  constexpr Nanoseconds kF = 3;
  constexpr Nanoseconds kB = 7;
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 16; ++m) {
      const Costs costs = Costs::equal(p, {kF, kB});
      for (const char* const name : {"FThenB", "GPipe", "1F1B"}) {
        const Simulation result = simulate(buildSchedule(name, p, m), costs);
        ASSERT_EQ(result.length, (m + p - 1) * (kF + kB)) << "p=" << p << " m=" << m;
        for (const Simulation::Rank& rank : result.ranks) ASSERT_EQ(rank.busy, m * (kF + kB));
      }
    }
  }
}

TEST(Simulate, PeakOfLiveActivationsIsTheClosedFormForAllSizes) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 16; ++m) {
      const Costs costs = Costs::equal(p, {1, 2});
      const Simulation alternating = simulate(buildSchedule("1F1B", p, m), costs);
      const Simulation all = simulate(buildSchedule("FThenB", p, m), costs);
      for (int r = 0; r < p; ++r) {
        ASSERT_EQ(alternating.ranks[static_cast<std::size_t>(r)].peakLive, std::min(m, p - r));
        ASSERT_EQ(all.ranks[static_cast<std::size_t>(r)].peakLive, m);
      }
    }
  }
}

// p = 2, m = 2, F = 10, B = 20, 5 from rank to rank, drawn by hand:
//     rank 0: F0 0-10   F1 10-20   (waits)     B0 50-70     B1 80-100
//     rank 1:           F0 15-25   B0 25-45    F1 45-55     B1 55-75
TEST(Simulate, TransfersDelayOnlyWhatCrossesRanks) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 5;
  const Simulation result = simulate(buildSchedule("1F1B", 2, 2), costs, {.begin = 1000});
  const auto& rank0 = eventsOf(result, 0);
  const auto& rank1 = eventsOf(result, 1);
  const auto spans = [](const std::vector<Event>& events) {
    std::vector<std::pair<Nanoseconds, Nanoseconds>> list;
    for (const Event& e : events) list.emplace_back(e.begin - 1000, e.end - 1000);
    return list;
  };
  using Spans = std::vector<std::pair<Nanoseconds, Nanoseconds>>;
  EXPECT_EQ(spans(rank0), (Spans{{0, 10}, {10, 20}, {50, 70}, {80, 100}}));
  EXPECT_EQ(spans(rank1), (Spans{{15, 25}, {25, 45}, {45, 55}, {55, 75}}));
  EXPECT_EQ(result.length, 100);
  EXPECT_EQ(result.ranks[1].first, 1015);
  EXPECT_EQ(result.ranks[1].last, 1075);
  EXPECT_EQ(result.ranks[1].busy, 60);
}

TEST(Simulate, MessagesAreOnTheLanesOfBothRanks) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 5;
  const Simulation result = simulate(buildSchedule("1F1B", 2, 2), costs);
  const auto& sent = eventsOf(result, 0, kSendLane);
  const auto& received = eventsOf(result, 1, kRecvLane);
  ASSERT_EQ(sent.size(), 2U);
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(sent[1].kind, JobKind::kSendForward);
  EXPECT_EQ(sent[1].begin, 20);
  EXPECT_EQ(sent[1].end, 25);
  EXPECT_EQ(sent[1].microBatch, 1);
  EXPECT_EQ(sent[1].peer, 1);
  EXPECT_EQ(sent[1].stage, 0);
  EXPECT_EQ(sent[1].job, eventsOf(result, 0)[1].job);
  EXPECT_EQ(received[1].kind, JobKind::kRecvForward);
  EXPECT_EQ(received[1].begin, 20);
  EXPECT_EQ(received[1].end, 25);
  EXPECT_EQ(received[1].peer, 0);
  EXPECT_EQ(received[1].stage, 1);
  EXPECT_EQ(received[1].job, eventsOf(result, 1)[2].job);
  EXPECT_EQ(eventsOf(result, 1, kSendLane)[0].kind, JobKind::kSendBackward);
  EXPECT_EQ(eventsOf(result, 0, kRecvLane)[0].kind, JobKind::kRecvBackward);
}

TEST(Simulate, FreeTransfersLeaveNoLanes) {
  const Simulation result = simulate(buildSchedule("1F1B", 2, 2), Costs::equal(2, {10, 20}));
  EXPECT_EQ(result.timeline.tracks.size(), 2U);
}

TEST(Simulate, StagesOfOneRankHandOverWithoutAMessage) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 1000;
  const Simulation result = simulate(readPlan("0F0,1F0,1B0,0B0\n", "one rank"), costs);
  EXPECT_EQ(result.length, 60);
  EXPECT_EQ(result.timeline.tracks.size(), 1U);
  EXPECT_EQ(eventsOf(result, 0)[1].chunk, 1);
  EXPECT_EQ(result.timeline.ranks.at(0).numChunks, 2);
}

TEST(Simulate, FusedPairIsOneJobAsLongAsItsParts) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 1;
  const Simulation result =
      simulate(readPlan("0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n", "fused"), costs);
  const Event& fused = eventsOf(result, 1)[1];
  EXPECT_EQ(fused.kind, JobKind::kForwardBackward);
  EXPECT_EQ(fused.begin, 21);
  EXPECT_EQ(fused.duration(), 30);
  EXPECT_EQ(fused.microBatch, 1);
  // Its backward half goes down the pipeline, its forward half came up.
  EXPECT_EQ(eventsOf(result, 1, kSendLane)[0].kind, JobKind::kSendBackward);
  EXPECT_EQ(eventsOf(result, 1, kSendLane)[0].microBatch, 0);
  EXPECT_EQ(eventsOf(result, 1, kRecvLane)[1].microBatch, 1);
  EXPECT_EQ(eventsOf(result, 1, kRecvLane)[1].job, fused.job);
}

TEST(Simulate, StepsFollowEachOtherWithLrAndOptimizer) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.lr = 1;
  costs.optimizer = 4;
  const Simulation result = simulate(buildSchedule("1F1B", 2, 1), costs, {.steps = 2});
  // rank 0: lr 0-1 F 1-11 (waits) B 41-61 optimizer 61-65, and again from 65
  // rank 1: lr 0-1 (waits) F 11-21 B 21-41 optimizer 41-45, and again from 45
  const auto& first = eventsOf(result, 0);
  ASSERT_EQ(first.size(), 8U);
  EXPECT_EQ(first[0].kind, JobKind::kLr);
  EXPECT_EQ(first[3].kind, JobKind::kOptimizer);
  EXPECT_EQ(first[2].begin, 41);
  EXPECT_EQ(first[3].begin, 61);
  EXPECT_EQ(first[4].begin, 65);
  EXPECT_EQ(first[4].step, 1);
  EXPECT_EQ(first[7].end, 130);
  EXPECT_EQ(result.length, 130);
  // Rank 1 is done with its first step long before, and goes on by itself.
  EXPECT_EQ(eventsOf(result, 1)[4].begin, 45);
  for (const int rank : {0, 1}) {
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(eventsOf(result, rank)[i].job, static_cast<std::int64_t>(i));
      EXPECT_EQ(eventsOf(result, rank)[i].step, i < 4 ? 0 : 1);
    }
  }
}

TEST(Simulate, MessagesCarryTheStepAndTheJobTheyBelongTo) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 5;
  costs.lr = 1;
  const Simulation result = simulate(buildSchedule("1F1B", 2, 1), costs, {.steps = 2});
  const auto& sent = eventsOf(result, 0, kSendLane);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].step, 0);
  EXPECT_EQ(sent[1].step, 1);
  EXPECT_EQ(sent[1].job, eventsOf(result, 0)[4].job);
  EXPECT_EQ(eventsOf(result, 0)[4].kind, JobKind::kForward);
}

TEST(Simulate, StepsCanStartTogether) {
  const Simulation result = simulate(buildSchedule("1F1B", 2, 1), Costs::equal(2, {10, 20}),
                                     {.steps = 2, .stepsStartTogether = true});
  EXPECT_EQ(eventsOf(result, 0)[2].begin, 60);
  EXPECT_EQ(eventsOf(result, 1)[2].begin, 70);
}

TEST(Simulate, RankInfoIsThatOfALog) {
  const Simulation result = simulate(buildSchedule("1F1B", 3, 4), Costs::equal(3, {1, 2}));
  const RankInfo& info = result.timeline.ranks.at(2);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.worldSize, 3);
  EXPECT_EQ(info.numStages, 3);
  EXPECT_EQ(info.numChunks, 1);
  EXPECT_EQ(info.numMicroBatches, 4);
  EXPECT_EQ(info.schedule, "1F1B");
  EXPECT_EQ(info.dataParallelIndex, 0);
  EXPECT_EQ(info.written, 8);
  EXPECT_TRUE(info.hasEnd);
}

TEST(Simulate, LargePlanIsBuiltCheckedAndSimulated) {
  const Plan plan = buildSchedule("1F1B", 64, 1024);
  EXPECT_TRUE(check(plan).empty());
  Costs costs = Costs::equal(64, {1, 2});
  EXPECT_EQ(simulate(CheckedPlan(plan), costs).length, (1024 + 63) * 3);
  costs.transfer = 1;
  EXPECT_GT(simulate(CheckedPlan(plan), costs).length, (1024 + 63) * 3);
}

TEST(Simulate, CostsOfFewerStagesThanThePlanHasAreAnError) {
  EXPECT_THROW(simulate(buildSchedule("1F1B", 2, 2), Costs::equal(1, {1, 2})), Error);
}

}  // namespace
}  // namespace pipetrace
