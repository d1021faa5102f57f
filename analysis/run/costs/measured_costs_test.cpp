#include "analysis/run/costs/measured_costs.h"

#include <gtest/gtest.h>

#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using enum JobKind;

TEST(MeasuredCosts, CostsAreMediansPerStageAndKindWithoutALongFirstStep) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 9000, 0).stage = 0;  // the other step takes 5011
  made.add(0, kLr, 0, 900, 0);
  const std::vector<Nanoseconds> durations = {7, 3, 100, 4};  // median (4 + 7) / 2 = 5
  Nanoseconds now = 1000;
  for (const Nanoseconds duration : durations) {
    made.add(0, kForward, now, now + duration, 1).stage = 0;
    made.add(0, kBackward, now, now + 2 * duration, 1).stage = 0;
    now += 1000;
  }
  made.add(0, kLr, 0, 9, 1);
  made.add(0, kOptimizer, 5000, 5011, 1);
  made.add(1, kForward, 0, 8, 1).stage = 1;
  const Costs costs = measuredCosts(asRun(made.timeline));
  ASSERT_EQ(costs.stages.size(), 2U);
  EXPECT_EQ(costs.stages[0].forward, 5);
  EXPECT_EQ(costs.stages[0].backward, 11);
  EXPECT_EQ(costs.stages[1].forward, 8);
  EXPECT_EQ(costs.stages[1].backward, 0);
  EXPECT_EQ(costs.lr, 9);
  EXPECT_EQ(costs.optimizer, 11);
  EXPECT_EQ(costs.transfer, 0);
}

TEST(MeasuredCosts, TheOnlyStepOfARunIsMeasured) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 12, 6).stage = 0;
  EXPECT_EQ(measuredCosts(asRun(made.timeline)).stages[0].forward, 12);
}

TEST(MeasuredCosts, WholeBackwardIsTheSumOfTheHalves) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 12, 0).stage = 0;
  made.add(0, kBackwardInput, 12, 20, 0).stage = 0;
  made.add(0, kBackwardWeight, 20, 25, 0).stage = 0;
  const Costs costs = measuredCosts(asRun(made.timeline));
  EXPECT_EQ(costs.stages[0].backwardInput, 8);
  EXPECT_EQ(costs.stages[0].backwardWeight, 5);
  EXPECT_EQ(costs.stages[0].backward, 13);
}

TEST(MeasuredCosts, RecomputesAreMeasuredApartFromTheirBackwards) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 12, 0).stage = 0;
  made.add(0, kRecompute, 12, 22, 0).stage = 0;
  made.add(0, kBackward, 22, 40, 0).stage = 0;
  const Costs costs = measuredCosts(asRun(made.timeline));
  EXPECT_EQ(costs.stages[0].recompute, 10);
  EXPECT_EQ(costs.stages[0].backward, 18);
}

TEST(MeasuredCosts, WaitingForTheOtherEndIsNoTransferTime) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 12, 0).stage = 0;
  // The receive is posted long before the send; the data moves from 50 to 57.
  made.add(0, kSendForward, 50, 55, 0, 3, kSendLane).peer = 1;
  made.add(1, kRecvForward, 10, 57, 0, 3, kRecvLane).peer = 0;
  EXPECT_EQ(measuredCosts(asRun(made.timeline)).transfer, 7);
  // A late receive: 60 to 69. The median of 7 and 9 is 8.
  made.add(0, kSendForward, 58, 64, 0, 4, kSendLane).peer = 1;
  made.add(1, kRecvForward, 60, 69, 0, 4, kRecvLane).peer = 0;
  EXPECT_EQ(measuredCosts(asRun(made.timeline)).transfer, 8);
  // A send whose receive was not logged.
  made.add(0, kSendForward, 70, 170, 0, 5, kSendLane).peer = 1;
  EXPECT_EQ(measuredCosts(asRun(made.timeline)).transfer, 8);
}

TEST(MeasuredCosts, StageWithoutForwardIsAnError) {
  HandMadeTimeline made;
  EXPECT_THROW(measuredCosts(asRun(made.timeline)), Error);
  made.add(0, kForward, 0, 12, 0).stage = 1;
  EXPECT_THROW(measuredCosts(asRun(made.timeline)), Error);
  made.add(0, kBackward, 0, 12, 0).stage = 0;
  EXPECT_THROW(measuredCosts(asRun(made.timeline)), Error);
  made.add(0, kForward, 0, 12, 0).stage = 0;
  EXPECT_NO_THROW(measuredCosts(asRun(made.timeline)));
  made.add(0, kForward, 0, 12, 0).stage = 2'000'000'000;
  EXPECT_THROW(measuredCosts(asRun(made.timeline)), Error);
}

TEST(MeasuredCosts, CostsOfASimulatedRunAreMeasuredAgain) {
  Costs costs = Costs::equal(4, {});
  for (std::size_t s = 0; s < 4; ++s) {
    costs.stages[s].forward = 100 + static_cast<Nanoseconds>(s);
    costs.stages[s].backward = 200 + 3 * static_cast<Nanoseconds>(s);
  }
  costs.transfer = 17;
  costs.lr = 2;
  costs.optimizer = 31;
  const Simulation run = simulate(buildSchedule("1F1B", 4, 8), costs, {.steps = 3});
  const Costs measured = measuredCosts(asRun(run.timeline));
  ASSERT_EQ(measured.stages.size(), 4U);
  for (std::size_t s = 0; s < 4; ++s) {
    EXPECT_EQ(measured.stages[s].forward, costs.stages[s].forward);
    EXPECT_EQ(measured.stages[s].backward, costs.stages[s].backward);
  }
  EXPECT_EQ(measured.transfer, 17);
  EXPECT_EQ(measured.lr, 2);
  EXPECT_EQ(measured.optimizer, 31);
}

/// Rank 0 waits for rank 1: a reduction takes from the later begin to the end. Two of one stage are
/// apart, and so are those of other ranks.
TEST(MeasuredCosts, AReductionTakesNoTimeBeforeItsLastRankIsThere) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 12, 0).stage = 0;
  made.add(1, kForward, 0, 12, 0).stage = 0;
  made.add(2, kForward, 0, 12, 0).stage = 1;
  const auto addReduction = [&](int rank, Nanoseconds begin, Nanoseconds end, const char* members) {
    Event& event = made.add(rank, kAllReduce, begin, end, 0, -1, "all_reduce");
    event.stage = rank / 2;
    if (members == nullptr) return;
    const Argument argument = Argument::ofText(made.timeline.strings.intern("members"),
                                               made.timeline.strings.intern(members));
    made.timeline.setArguments(event, {&argument, 1});
  };
  addReduction(0, 10, 55, "0 1");
  addReduction(1, 50, 55, "0 1");
  addReduction(0, 60, 69, "0 1");
  addReduction(1, 58, 69, "0 1");
  addReduction(2, 0, 100, nullptr);
  // PyTorch's traces do not say which stage has gradients; the norm of all is a number.
  const auto addWithBytes = [&](Nanoseconds begin, Nanoseconds end, std::int64_t bytes) {
    StringTable& strings = made.timeline.strings;
    Event& event = made.add(0, JobKind::kAllReduce, begin, end, 0, -1, "nccl");
    const Argument arguments[] = {
        Argument::ofText(strings.intern("members"), strings.intern("0 1")),
        Argument::ofInteger(strings.intern("bytes"), bytes)};
    made.timeline.setArguments(event, arguments);
  };
  addWithBytes(70, 7000, 1 << 30);
  addWithBytes(7000, 7003, 4);
  made.timeline.sort();
  const Costs costs = measuredCosts(asRun(made.timeline));
  ASSERT_EQ(costs.stages.size(), 2U);
  EXPECT_EQ(costs.stages[0].reduction, 7) << "the median of 5 and 9";
  EXPECT_EQ(costs.stages[1].reduction, 0) << "nobody knows whose it is";
  EXPECT_EQ(costs.scalarAllReduce, 3);
}

TEST(MeasuredCosts, ReductionsOfASimulatedRunAreMeasuredAgain) {
  const Plan plan = withScalarAllReduce(
      withReductions(withReplicas(buildOnStageRanks("1F1B", {{0, 1}, {2}}, 8), 2)));
  Costs costs = Costs::equal(2, {.forward = 10, .backward = 20});
  costs.scalarAllReduce = 5;
  costs.stages[0].reduction = 31;
  costs.stages[1].reduction = 17;
  const Costs measured =
      measuredCosts(asRun(simulate(CheckedPlan(plan), costs, {.steps = 3}).timeline));
  ASSERT_EQ(measured.stages.size(), 2U);
  EXPECT_EQ(measured.stages[0].reduction, 31);
  EXPECT_EQ(measured.stages[1].reduction, 17);
  EXPECT_EQ(measured.scalarAllReduce, 5);
}

TEST(MeasuredCosts, FusedPairsAndBytesOfASimulatedRunAreMeasuredAgain) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.stages[1].forwardBackward = 24;
  costs.stages[0].message = 4096;
  costs.transfer = 5;
  const Plan plan = readPlan("0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n", "fused");
  const Costs measured =
      measuredCosts(asRun(simulate(CheckedPlan(plan), costs, {.steps = 2}).timeline));
  ASSERT_EQ(measured.stages.size(), 2U);
  EXPECT_EQ(measured.stages[0].forwardBackward, -1);
  EXPECT_EQ(measured.stages[1].forwardBackward, 24);
  EXPECT_EQ(measured.stages[0].message, 4096);
  EXPECT_EQ(measured.stages[1].message, 0);
  const Costs silent = measuredCosts(
      asRun(simulate(buildSchedule("1F1B", 2, 2), Costs::equal(2, {10, 20})).timeline));
  EXPECT_EQ(silent.stages[0].message, 0);
}

}  // namespace
}  // namespace pipetrace
