// Jobs as evidence of clocks.
#include "analysis/run/clocks/job_crossings.h"

#include <gmock/gmock.h>

#include <string>

#include "analysis/run/clocks/alignment.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::IsEmpty;

/// 1F1B on four ranks of four hosts, without messages.
class JobCrossings : public testing::Test {
 protected:
  JobCrossings() {
    Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.transfer = kNsPerMs / 10;
    run_ =
        simulate(buildSchedule("1F1B", 4, 8), costs, {.steps = 3, .begin = kNsPerSecond}).timeline;
    for (Track& track : run_.tracks) {
      std::erase_if(track.events, [](const Event& event) { return isTransfer(event.kind); });
    }
    for (auto& [rank, info] : run_.ranks) info.host = "host" + std::to_string(rank);
  }

  Timeline late(int rank, Nanoseconds by) const {
    Timeline timeline = run_;
    for (Track& track : timeline.tracks) {
      if (track.rank != rank) continue;
      for (Event& event : track.events) {
        event.begin += by;
        event.end += by;
      }
    }
    return timeline;
  }
  /// When the first job begins.
  static Nanoseconds beginOf(const Timeline& timeline, int rank) {
    return timeline.findTrack(rank, kComputeLane)->events.front().begin;
  }

  Timeline run_;
};

TEST_F(JobCrossings, LeadFromEachJobToThoseThatNeedItsData) {
  const auto crossings = jobCrossings(run_, clockHostsOf(run_));
  EXPECT_EQ(crossings.size(), 3U * 8 * (3 + 3)) << "steps, micro-batches, links of both directions";
  for (const Crossing& each : crossings) EXPECT_LE(each.sent, each.received) << each.text();
}

TEST_F(JobCrossings, NoClockIsPlainlyApartInASoundRun) {
  EXPECT_THAT(plainlyApart(run_).pairs, IsEmpty());
  EXPECT_THAT(plainlyApart(late(1, 50 * kNsPerUs)).pairs, IsEmpty()) << "less than the message";
}

TEST_F(JobCrossings, AClockThatIsBehindIsApartFromThatBeforeIt) {
  const PlainlyApart apart = plainlyApart(late(1, -3 * kNsPerMs));
  ASSERT_EQ(apart.pairs.size(), 2U) << "it is before its backward passes, too";
  EXPECT_EQ(apart.pairs[1].maker, 2);
  EXPECT_EQ(apart.pairs[1].user, 1);
  EXPECT_EQ(apart.pairs[0].maker, 0);
  EXPECT_EQ(apart.pairs[0].user, 1);
  EXPECT_EQ(apart.pairs[0].by, 29 * kNsPerMs / 10);
  EXPECT_FALSE(apart.areOnOneHost);
}

TEST_F(JobCrossings, RanksThatDidNotRunTogetherAreNotCompared) {
  EXPECT_THAT(plainlyApart(late(1, -3600 * kNsPerSecond)).pairs, IsEmpty());
}

TEST_F(JobCrossings, ClocksThatAreApartAreAlignedByThemselves) {
  Diagnostics diagnostics;
  const Timeline moved = aligned(late(1, -3 * kNsPerMs), AlignBy::kBest, diagnostics);
  EXPECT_NEAR(static_cast<double>(beginOf(moved, 1)), static_cast<double>(beginOf(run_, 1)),
              static_cast<double>(kNsPerMs / 5));
  EXPECT_THAT(plainlyApart(moved).pairs, IsEmpty());
  EXPECT_EQ(moved.ranks.at(0).clockApart, 29 * kNsPerMs / 10);
  EXPECT_EQ(moved.ranks.at(1).clockApart, 29 * kNsPerMs / 10);
  EXPECT_EQ(moved.ranks.at(3).clockApart, 0);
  ASSERT_FALSE(diagnostics.empty());
  EXPECT_THAT(diagnostics.list().front().message,
              testing::HasSubstr("by the order of jobs and messages"));
}

TEST_F(JobCrossings, RanksOfOneHostHaveClocksOfTheirOwnWhereJobsShowIt) {
  Timeline timeline = late(1, -3 * kNsPerMs);
  for (auto& [rank, info] : timeline.ranks) info.host = "only";
  Diagnostics diagnostics;
  Alignment alignment;
  const Timeline moved = aligned(timeline, AlignBy::kBest, diagnostics, &alignment);
  EXPECT_EQ(alignment.by, AlignBy::kCausal);
  EXPECT_EQ(alignment.hosts.size(), 4U);
  EXPECT_THAT(plainlyApart(moved).pairs, IsEmpty());
}

TEST_F(JobCrossings, SoundRunsStayAsTheyAre) {
  Diagnostics diagnostics;
  const Timeline same = aligned(run_, AlignBy::kBest, diagnostics);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(beginOf(same, rank), beginOf(run_, rank));
  for (const auto& [rank, info] : same.ranks) EXPECT_EQ(info.clockApart, 0);
}

/// Such jobs are as long as their waits. No clock explains that, so none is moved.
TEST_F(JobCrossings, JobsThatCountTheReceiveOfTheirDataMoveNoClock) {
  Timeline timeline = run_;
  for (Track& track : timeline.tracks) {
    Nanoseconds end = kNsMin;
    for (Event& event : track.events) {
      if (end != kNsMin && isCompute(event.kind)) event.begin = end;
      end = event.end;
    }
  }
  Diagnostics diagnostics;
  const Timeline same = aligned(timeline, AlignBy::kBest, diagnostics);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(beginOf(same, rank), beginOf(timeline, rank));
  for (const auto& [rank, info] : same.ranks) EXPECT_EQ(info.clockApart, 0);
}

}  // namespace
}  // namespace pipetrace
