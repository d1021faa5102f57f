#include "analysis/run/followed_schedule.h"

#include <gmock/gmock.h>

#include "analysis/testing/faulty_run.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

using testing::AnyOf;
using testing::IsEmpty;

/// 1F1B on 2 ranks with 4 micro-batches in 3 steps. Rank 0 runs F0 F1 B0 F2 B1 F3 B2 B3.
class FollowedScheduleTest : public testing::Test {
 protected:
  FollowedScheduleTest() {
    const Plan plan = buildSchedule("1F1B", 2, 4);
    timeline_ = test::completedRun(plan, Costs::equal(2, {10, 20}));
  }

  /// Two jobs of a rank change places.
  void swapForwards(int rank, std::int32_t step, std::int32_t a, std::int32_t b) {
    for (Event& event : timeline_.track(rank, kComputeLane).events) {
      if (event.step != step || event.kind != JobKind::kForward) continue;
      if (event.microBatch == a || event.microBatch == b) {
        event.microBatch = event.microBatch == a ? b : a;
      }
    }
  }

  FollowedSchedule followed() const {
    const RunSummary summary = summarize(timeline_);
    const Topology topology = topologyOf(timeline_);
    const JobGraph graph(timeline_, topology);
    return followedSchedule(timeline_, topology, RunBasis(graph, summary));
  }

  Timeline timeline_;
};

TEST_F(FollowedScheduleTest, ARunInItsOrderHasNoDeviations) {
  const FollowedSchedule found = followed();
  EXPECT_EQ(found.recognised.names.front(), "1F1B");
  EXPECT_TRUE(found.recognised.isExact);
  EXPECT_EQ(found.step, 2);
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.deviationCount, 0);
  EXPECT_THAT(found.deviations, IsEmpty());
}

TEST_F(FollowedScheduleTest, LogsThatNameAScheduleWithoutAFlushNeedOptimizerJobsThatShowIt) {
  EXPECT_FALSE(followed().lacksUpdates);
  EXPECT_EQ(followed().givenText(), "the logs name 1F1B");
  Costs costs = Costs::equal(2, {10, 20});
  timeline_ = test::completedRun(buildSchedule("PipeDream", 2, 4), costs);
  EXPECT_TRUE(followed().lacksUpdates) << "updates that take no time are not logged";
  EXPECT_EQ(followed().givenText(),
            "the logs name PipeDream, which has no flush, but no optimizer jobs between forwards "
            "show it");
  costs.optimizer = 1;
  timeline_ = test::completedRun(buildSchedule("PipeDream", 2, 4), costs);
  EXPECT_FALSE(followed().lacksUpdates);
}

TEST_F(FollowedScheduleTest, JobsOfAnEarlierStepThatStandElsewhereAreListed) {
  swapForwards(1, 0, 2, 3);
  const FollowedSchedule found = followed();
  EXPECT_TRUE(found.recognised.isExact) << "the last step is as planned";
  EXPECT_EQ(found.deviationCount, 2) << "a backward is between the two";
  ASSERT_EQ(found.deviations.size(), 2U);
  for (const FollowedSchedule::Deviation& each : found.deviations) {
    EXPECT_EQ(each.step, 0);
    EXPECT_EQ(each.rank, 1);
    EXPECT_EQ(each.replica, 0);
    EXPECT_THAT(each.job, AnyOf("1F2", "1F3"));
    EXPECT_NE(each.deviation.planned, each.deviation.measured);
  }
}

TEST_F(FollowedScheduleTest, TheLastStepThatIsWholeIsTheOneThatCounts) {
  // The last step of rank 0 was cut off after its first jobs.
  std::vector<Event>& events = timeline_.track(0, kComputeLane).events;
  std::erase_if(events, [](const Event& e) { return e.step == 2 && e.microBatch > 0; });
  const FollowedSchedule found = followed();
  EXPECT_EQ(found.step, 1);
  EXPECT_TRUE(found.recognised.isExact);
  EXPECT_EQ(found.deviationCount, 0) << "a step that lacks jobs is not compared";
}

TEST_F(FollowedScheduleTest, AnOrderThatNobodyMakesIsComparedWithNone) {
  for (const std::int32_t step : {0, 1, 2}) {
    for (const int rank : {0, 1}) {
      std::vector<Event*> jobs;
      for (Event& event : timeline_.track(rank, kComputeLane).events) {
        if (event.step == step && isCompute(event.kind)) jobs.push_back(&event);
      }
      const bool isFirst = rank == 0;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i]->kind = i % 2 == 0 ? JobKind::kForward : JobKind::kBackward;
        const auto half = static_cast<std::int32_t>(i / 2);
        jobs[i]->microBatch = isFirst == (i % 2 == 0) ? 3 - half : half;
      }
    }
  }
  const FollowedSchedule found = followed();
  EXPECT_THAT(found.recognised.names, IsEmpty());
  EXPECT_EQ(found.deviationCount, 0);
  EXPECT_EQ(toText(found.recognised), "unknown order");
}

}  // namespace
}  // namespace pipetrace
