// Runs of which something is not true that must be true of any run.
#include "analysis/run/doubts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/clocks/alignment.h"
#include "analysis/run_summary.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

/// Runs of simulated plans with a fault.
class Doubts : public testing::Test {
 protected:
  static Timeline simulated(const char* schedule = "1F1B", int steps = 3,
                            Nanoseconds transfer = kNsPerMs / 10) {
    Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.transfer = transfer;
    costs.optimizer = 2 * kNsPerMs;
    return simulate(buildSchedule(schedule, 4, 8), costs, {.steps = steps, .begin = kBegin})
        .timeline;
  }
  static std::vector<Doubt> doubts(Timeline timeline, AlignBy align = AlignBy::kNone) {
    timeline.sort();
    Diagnostics diagnostics;
    timeline = aligned(std::move(timeline), align, diagnostics);
    completeTimeline(timeline, diagnostics);
    return doubtsOf(asRun(std::move(timeline)), diagnostics);
  }
  static void shift(Timeline& timeline, int rank, Nanoseconds by) {
    for (Track& track : timeline.tracks) {
      if (track.rank != rank) continue;
      for (Event& event : track.events) {
        event.begin += by;
        event.end += by;
      }
    }
  }
  /// Every rank's times from its own first event.
  static void countFromOwnZero(Timeline& timeline) {
    for (auto& [rank, info] : timeline.ranks) {
      Nanoseconds first = kNsMax;
      for (const Track& track : timeline.tracks) {
        if (track.rank != rank) continue;
        for (const Event& event : track.events) {
          if (isCompute(event.kind)) first = std::min(first, event.begin);
        }
      }
      shift(timeline, rank, -first);
    }
  }
  static void removeMessages(Timeline& timeline, int rank = -1) {
    for (Track& track : timeline.tracks) {
      if (rank >= 0 && track.rank != rank) continue;
      std::erase_if(track.events, [](const Event& event) { return isTransfer(event.kind); });
    }
    for (auto& [number, info] : timeline.ranks) info.host.clear();
  }

  static constexpr Nanoseconds kDay = 86'400 * kNsPerSecond;
  static constexpr Nanoseconds kBegin = 1'697'793'307'213'760'986;
};

std::vector<std::string_view> kindsOf(const std::vector<Doubt>& doubts) {
  std::vector<std::string_view> kinds;
  for (const Doubt& doubt : doubts) kinds.push_back(rowOf(doubt.kind).name);
  return kinds;
}

auto isOf(DoubtKind kind) { return Field(&Doubt::kind, kind); }

TEST_F(Doubts, SoundRunsOfSchedulesHaveNone) {
  for (const char* schedule : {"FThenB", "1F1B", "PipeDream", "ZB-H1", "Eager1F1B"}) {
    Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.transfer = kNsPerMs / 10;
    costs.optimizer = 2 * kNsPerMs;
    for (auto& stage : costs.stages) stage.backwardInput = stage.backwardWeight = 10 * kNsPerMs;
    const Timeline timeline =
        simulate(buildSchedule(schedule, 4, 8), costs, {.steps = 3, .begin = kBegin}).timeline;
    EXPECT_THAT(doubts(timeline), IsEmpty()) << schedule;
  }
}

TEST_F(Doubts, JobsThatBeginBeforeTheirDataShowClocksThatAreApart) {
  Timeline timeline = simulated();
  removeMessages(timeline);
  shift(timeline, 1, -4 * kNsPerMs);
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, ElementsAre(isOf(DoubtKind::kClocksApart)));
  EXPECT_THAT(found[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(found[0].time, 39 * kNsPerMs / 10) << "the message took 0.1 of the 4 ms";
  EXPECT_EQ(found[0].made.substr(0, 2), "0F");
  EXPECT_EQ(found[0].used.substr(0, 2), "1F");
  EXPECT_GE(found[0].count, 3);
  EXPECT_LE(found[0].count, found[0].all);
  EXPECT_FALSE(found[0].isMeaningless);
}

TEST_F(Doubts, ClocksThatDifferByLessThanTheyAreExactRaiseNone) {
  Timeline timeline = simulated();
  removeMessages(timeline);
  for (int rank = 0; rank < 4; ++rank) {
    timeline.ranks[rank].host = "host" + std::to_string(rank);
    if (rank > 0) timeline.ranks[rank].clockReadings = {{0, 0, 5 * kNsPerMs}};
  }
  shift(timeline, 1, -4 * kNsPerMs);
  EXPECT_THAT(doubts(timeline), IsEmpty());
}

TEST_F(Doubts, CausesBetweenRanksWhoseClocksAreApartAreWithheld) {
  Timeline timeline = simulated();
  removeMessages(timeline);
  shift(timeline, 1, -4 * kNsPerMs);
  Diagnostics diagnostics;
  timeline.sort();
  completeTimeline(timeline, diagnostics);
  const auto run = asRun(timeline);
  Nanoseconds transfer = 0;
  for (const ClassTimes& times : run.bubbles().times) {
    transfer += times[static_cast<std::size_t>(BubbleClass::kTransfer)];
  }
  EXPECT_LT(transfer, 20 * kNsPerMs) << "only those between ranks 1, 2 and 3";
}

TEST_F(Doubts, TimesThatCountFromTheFirstEventOfEachRankAreMovedByTheOrderOfJobs) {
  Timeline timeline = simulated();
  removeMessages(timeline);
  countFromOwnZero(timeline);
  const std::vector<Doubt> asRecorded = doubts(timeline);
  ASSERT_THAT(asRecorded, ElementsAre(isOf(DoubtKind::kClocksApart)));

  const std::vector<Doubt> found = doubts(timeline, AlignBy::kBest);
  ASSERT_THAT(found, ElementsAre(isOf(DoubtKind::kClocksMoved)));
  EXPECT_THAT(found[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_GE(found[0].time, 9 * kNsPerMs);
  EXPECT_LE(found[0].beside, kNsPerMs) << "how exact times are now";
}

TEST_F(Doubts, JobsOfSeveralLanesThatRunAtTheSameTimeAreMeaninglessForOneRank) {
  Timeline timeline = simulated();
  Timeline threads;
  threads.strings = timeline.strings;
  threads.arguments = timeline.arguments;
  threads.ranks[0] = {};
  for (const Track& track : timeline.tracks) {
    if (track.lane != kComputeLane) continue;
    threads.track(0, "thread " + std::to_string(track.rank)).events = track.events;
  }
  const std::vector<Doubt> found = doubts(threads);
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found[0], isOf(DoubtKind::kOverlappingJobs));
  EXPECT_EQ(found[0].count, 4) << "lanes";
  EXPECT_THAT(found[0].ranks, ElementsAre(0));
  EXPECT_TRUE(found[0].isMeaningless);
  EXPECT_TRUE(areMeaningless(found));
}

TEST_F(Doubts, JobsThatGoOnALittleWhileTheNextOneRunsRaiseADoubtAndNoRefusal) {
  Timeline timeline = simulated();
  for (Event& event : timeline.track(2, kComputeLane).events) {
    if (event.kind == JobKind::kForward) event.end += 3 * kNsPerMs;
  }
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, testing::Contains(isOf(DoubtKind::kOverlappingJobs)));
  EXPECT_FALSE(areMeaningless(found));
}

TEST_F(Doubts, TheJobsOfARankUnderTheNameOfAnotherAreThereTwice) {
  Timeline timeline = simulated();
  removeMessages(timeline);
  timeline.track(2, kComputeLane).events = timeline.track(1, kComputeLane).events;
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, testing::Contains(isOf(DoubtKind::kJobsTwice)));
  const auto twice = std::find_if(found.begin(), found.end(), [](const Doubt& doubt) {
    return doubt.kind == DoubtKind::kJobsTwice;
  });
  EXPECT_THAT(twice->ranks, ElementsAre(1, 2));
  EXPECT_EQ(twice->made, "1F0");
  EXPECT_EQ(twice->step, 0);
}

TEST_F(Doubts, LengthsInAnotherUnitAreFarFromThoseOfOtherRanks) {
  Timeline timeline = simulated();
  for (Event& event : timeline.track(3, kComputeLane).events) {
    event.end = event.begin + event.duration() / 1000;
  }
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, ElementsAre(isOf(DoubtKind::kLengthsApart)));
  EXPECT_THAT(found[0].ranks, ElementsAre(3));
  EXPECT_EQ(found[0].time, 15 * kNsPerUs);
  EXPECT_EQ(found[0].beside, 15 * kNsPerMs);
}

/// As a measured run of which something has rounded the times.
Timeline rounded(Timeline timeline, Nanoseconds grain) {
  for (auto& [rank, info] : timeline.ranks) info.clock.clear();
  for (Track& track : timeline.tracks) {
    Nanoseconds noise = 0;
    for (Event& event : track.events) {
      noise = (noise + 977 * kNsPerUs) % (2 * kNsPerMs);
      event.begin = (event.begin + noise) / grain * grain;
      event.end = (event.end + noise) / grain * grain;
    }
  }
  return timeline;
}

TEST_F(Doubts, TimesThatWereRoundedToAShareOfAJobAreCoarse) {
  const std::vector<Doubt> found = doubts(rounded(simulated(), 3 * kNsPerMs));
  ASSERT_THAT(found, testing::Contains(isOf(DoubtKind::kCoarseTimes)));
  EXPECT_EQ(found[0].time, 3 * kNsPerMs);
  EXPECT_THAT(doubts(rounded(simulated(), 3)),
              testing::Not(testing::Contains(isOf(DoubtKind::kCoarseTimes))));
}

TEST_F(Doubts, JobsThatHaveNoLengthAfterRoundingAreCoarseToo) {
  const std::vector<Doubt> found = doubts(rounded(simulated(), 100 * kNsPerMs));
  const auto coarse = std::find_if(found.begin(), found.end(), [](const Doubt& doubt) {
    return doubt.kind == DoubtKind::kCoarseTimes;
  });
  ASSERT_NE(coarse, found.end());
  EXPECT_EQ(coarse->time, 0);
  EXPECT_GT(coarse->count, coarse->all / 10);
}

TEST_F(Doubts, AnEventFarFromAllOthersLeavesMostOfItsStepUnrecorded) {
  Timeline timeline = simulated();
  Event& last = timeline.track(0, kComputeLane).events.back();
  last.begin += kDay;
  last.end += kDay;
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, testing::Contains(isOf(DoubtKind::kNothingRecorded)));
  EXPECT_EQ(found.back().step, 2);
  EXPECT_GT(found.back().time, kDay / 2);
}

/// The same run with a kernel of that name in each job of rank 1, a tenth as long.
Timeline withKernels(Timeline timeline, const char* name) {
  const StringId kernel = timeline.strings.intern(name);
  std::vector<Event> kernels;
  for (const Event& job : timeline.track(1, kComputeLane).events) {
    if (!isCompute(job.kind)) continue;
    Event event;
    event.begin = job.begin;
    event.end = job.begin + job.duration() / 10;
    event.kind = JobKind::kKernel;
    event.name = kernel;
    event.job = job.job;
    event.step = job.step;
    kernels.push_back(event);
  }
  timeline.track(1, "stream 7").events = kernels;
  timeline.sort();
  return timeline;
}

TEST_F(Doubts, KernelsThatExchangeDataWithoutNcclMayHideWaits) {
  const std::vector<Doubt> found =
      doubts(withKernels(simulated(), "void deep_ep::intranode::dispatch<4>(int)"));
  ASSERT_THAT(found, testing::Contains(isOf(DoubtKind::kHiddenWaits)));
  EXPECT_THAT(found.back().ranks, ElementsAre(1));
  EXPECT_EQ(10 * found.back().time, found.back().beside);
  EXPECT_THAT(found.back().made, testing::HasSubstr("deep_ep"));
  EXPECT_THAT(doubts(withKernels(simulated(), "gemm")),
              testing::Not(testing::Contains(isOf(DoubtKind::kHiddenWaits))));
}

/// The ranks 0 to 3 again as ranks 4 to 7: another replica, or the peers of each.
Timeline withPeers(Timeline timeline, bool shareStages) {
  const std::vector<Track> tracks = timeline.tracks;
  const auto ranks = timeline.ranks;
  for (auto [rank, info] : ranks) {
    timeline.ranks[rank].tensorParallelIndex = 0;
    timeline.ranks[rank].dataParallelIndex = 0;
    info.rank += 4;
    info.tensorParallelIndex = shareStages ? 1 : 0;
    info.dataParallelIndex = shareStages ? 0 : 1;
    timeline.ranks[rank + 4] = info;
  }
  for (Track track : tracks) {
    track.rank += 4;
    for (Event& event : track.events) event.peer += event.peer >= 0 ? 4 : 0;
    timeline.tracks.push_back(std::move(track));
  }
  return timeline;
}

TEST_F(Doubts, PeersWhoseWaitsInsideJobsNothingShowsMayHideASlowRank) {
  const std::vector<Doubt> found = doubts(withPeers(simulated(), true));
  ASSERT_THAT(found, testing::Contains(isOf(DoubtKind::kHiddenWaits)));
  EXPECT_THAT(found.back().ranks, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(found.back().time, 0);
  EXPECT_THAT(doubts(withPeers(simulated(), false)),
              testing::Not(testing::Contains(isOf(DoubtKind::kHiddenWaits))));
  Timeline withWork = withKernels(simulated(), "gemm");
  EXPECT_THAT(doubts(withPeers(std::move(withWork), true)),
              testing::Not(testing::Contains(isOf(DoubtKind::kHiddenWaits))));
}

TEST_F(Doubts, AJobThatTheEndOfARecordingEndedIsFarLongerThanItsLike) {
  Timeline timeline = simulated();
  auto& jobs = timeline.track(1, kComputeLane).events;
  const auto last = std::find_if(jobs.rbegin(), jobs.rend(),
                                 [](const Event& job) { return isCompute(job.kind); });
  last->end += kNsPerSecond;
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, testing::Contains(isOf(DoubtKind::kLastJobLong)));
  EXPECT_THAT(found[0].ranks, ElementsAre(1));
  EXPECT_EQ(found[0].time, kNsPerSecond + 20 * kNsPerMs);
  EXPECT_EQ(found[0].beside, 20 * kNsPerMs);
}

TEST_F(Doubts, AJobOfAnEarlierStepAtTheEndLeavesItsStepAroundTheOthers) {
  Timeline timeline = simulated();
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events,
                  [](const Event& event) { return event.kind == JobKind::kOptimizer; });
  }
  Event& first = timeline.track(0, kComputeLane).events.front();
  first.begin += kDay;
  first.end += kDay;
  const std::vector<Doubt> found = doubts(timeline);
  const auto inside = std::find_if(found.begin(), found.end(), [](const Doubt& doubt) {
    return doubt.kind == DoubtKind::kStepsInside;
  });
  ASSERT_NE(inside, found.end()) << testing::PrintToString(kindsOf(found));
  EXPECT_EQ(inside->step, 0);
  EXPECT_GT(inside->time, kDay / 2);
}

TEST_F(Doubts, MicroBatchesThatSkipAStageLackJobs) {
  Timeline timeline = simulated();
  removeMessages(timeline);
  std::vector<Event>& jobs = timeline.track(1, kComputeLane).events;
  // One of each step, so that no step has fewer jobs than the others.
  std::int32_t step = kNotGiven;
  std::erase_if(jobs, [&](const Event& job) {
    const bool isFirst = job.kind == JobKind::kForward && job.step != step;
    if (isFirst) step = job.step;
    return isFirst;
  });
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, ElementsAre(isOf(DoubtKind::kMissingJobs)));
  EXPECT_EQ(found[0].count, 3);
  EXPECT_EQ(found[0].step, 0);
}

TEST_F(Doubts, RanksWithoutMessagesAmongOthersAreSilent) {
  Timeline timeline = simulated();
  removeMessages(timeline, 2);
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, testing::Contains(isOf(DoubtKind::kSilentRanks)));
  removeMessages(timeline);
  EXPECT_THAT(doubts(timeline), IsEmpty()) << "no message of any rank was recorded";
}

TEST_F(Doubts, MessagesBetweenPipelinesContradictTheirTopology) {
  Timeline timeline = simulated();
  for (auto& [rank, info] : timeline.ranks) {
    info.numStages = 2;
    info.dataParallelIndex = rank / 2;
  }
  EXPECT_THAT(doubts(timeline), testing::Contains(isOf(DoubtKind::kMessagesBetween)));
}

TEST_F(Doubts, StepsThatLackJobsAreSaidOnce) {
  Timeline timeline = simulated();
  std::vector<Event>& jobs = timeline.track(1, kComputeLane).events;
  jobs.resize(jobs.size() - 5);
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, ElementsAre(isOf(DoubtKind::kIncompleteSteps)));
  EXPECT_THAT(found[0].said, testing::HasSubstr("step 2 is incomplete"));
  EXPECT_FALSE(found[0].advice.empty());
}

TEST_F(Doubts, ReadersThatLeaveOutAndCutRaiseDoubts) {
  Timeline timeline = simulated();
  timeline.ranks[1].eventsWithoutTime = 2;
  timeline.ranks[3].eventsWithoutTime = 1;
  timeline.ranks[3].overruns = 7;
  timeline.ranks[3].overrunTime = kNsPerMs;
  const std::vector<Doubt> found = doubts(timeline);
  ASSERT_THAT(found, ElementsAre(isOf(DoubtKind::kNoTime), isOf(DoubtKind::kOverruns)));
  EXPECT_THAT(found[0].ranks, ElementsAre(1, 3));
  EXPECT_EQ(found[0].count, 3);
  EXPECT_EQ(found[1].time, kNsPerMs);
}

TEST_F(Doubts, RunsWithoutJobsHaveOnlyThoseOfTheirReaders) {
  Timeline timeline;
  timeline.ranks[0] = {};
  EXPECT_THAT(doubts(timeline), IsEmpty());
}

TEST(DoubtKinds, EachHasANameOfItsOwn) {
  std::vector<std::string_view> names;
  for (const DoubtRow& row : kDoubtKinds) names.push_back(row.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST_F(Doubts, JobsThatAReaderFoundAreOneWithTheScheduleThatTheyFollow) {
  Timeline timeline = simulated();
  for (auto& [rank, info] : timeline.ranks) info.jobsFound = 48;
  timeline.ranks[2].runsUnplaced = 1;
  timeline.ranks[2].unplacedTime = 5;
  const std::vector<Doubt> found = doubts(std::move(timeline));
  ASSERT_THAT(found, ElementsAre(Field(&Doubt::kind, DoubtKind::kFoundJobs)));
  EXPECT_THAT(found[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(found[0].schedule, "1F1B");
  EXPECT_EQ(found[0].fitting, 192);
  EXPECT_EQ(found[0].all, 192);
  EXPECT_EQ(found[0].unplaced, 1);
  EXPECT_EQ(found[0].time, 5);
  EXPECT_FALSE(found[0].isMeaningless);
}

}  // namespace
}  // namespace pipetrace
