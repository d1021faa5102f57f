// Rehearsals, compared with the simulation and with theory.
#include "runtime/rehearse/rehearsal.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "analysis/matched_messages.h"
#include "analysis/run/clocks/alignment.h"
#include "analysis/run_summary.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "apps/pipe_run/plan_comparison.h"
#include "parser/testing/load_timeline.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/testing/recorded_log.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kRanks = 4;
constexpr int kMicroBatches = 8;
// This machine may be busy, which makes single steps longer. A fault shows in every try.
constexpr int kTries = 5;

Costs equalCosts(Nanoseconds forward, Nanoseconds backward) {
  return Costs::equal(kRanks, {.forward = forward * kNsPerMs, .backward = backward * kNsPerMs});
}

Timeline rehearsed(const CheckedPlan& plan, const Costs& costs, int steps) {
  RecordedLog log;
  rehearse({.plan = plan, .costs = costs, .steps = steps, .logDirectory = log.folder()});
  Diagnostics diagnostics;
  Timeline timeline = test::loadTimeline({log.folder()}, {}, diagnostics);
  completeTimeline(timeline, diagnostics);
  return timeline;
}

/// Rehearses until `isGood`, and returns the last try.
PlanComparison rehearsedUntil(const CheckedPlan& run, const CheckedPlan& plan, const Costs& costs,
                              const std::function<bool(const PlanComparison&)>& isGood) {
  PlanComparison comparison;
  for (int i = 0; i < kTries; ++i) {
    comparison = compareWithPlan(asRun(rehearsed(run, costs, 5)), plan, costs);
    if (isGood(comparison)) break;
  }
  return comparison;
}

class EqualTimes : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(EqualTimes, StepAndBubbleAreThoseOfSimulationAndTheory) {
  const auto [forward, backward] = GetParam();
  const CheckedPlan plan = buildSchedule("1F1B", kRanks, kMicroBatches);
  const Costs costs = equalCosts(forward, backward);
  // Closed forms: (m + p - 1) (F + B), and (p - 1) / (m + p - 1).
  const double step = (kMicroBatches + kRanks - 1) * (forward + backward) * 1e6;
  const double bubble = double{kRanks - 1} / (kMicroBatches + kRanks - 1);
  const PlanComparison comparison = rehearsedUntil(plan, plan, costs, [&](const PlanComparison& c) {
    return c.agrees() && std::abs(c.median.measuredBubble - bubble) <= 0.01 * bubble;
  });
  EXPECT_TRUE(comparison.agrees()) << toText(comparison);
  EXPECT_NEAR(static_cast<double>(comparison.median.measuredStep), step, 0.01 * step);
  EXPECT_NEAR(comparison.median.measuredBubble, bubble, 0.01 * bubble);
}

INSTANTIATE_TEST_SUITE_P(RehearsalTest, EqualTimes,
                         ::testing::Values(std::pair{10, 10}, std::pair{10, 20}));

TEST(RehearsalTest, SwappingTwoActionsOfOneRankIsNoticed) {
  const CheckedPlan plan = buildSchedule("1F1B", kRanks, kMicroBatches);
  const Costs costs = equalCosts(10, 10);
  Plan order = *plan;
  // The last rank's first backward, for which all others wait, lets one more forward go before it.
  std::swap(order.ranks[3].at(1), order.ranks[3].at(2));
  const CheckedPlan swapped(order);
  const double expected = static_cast<double>(simulate(swapped, costs).length) /
                          static_cast<double>(simulate(plan, costs).length);
  ASSERT_GT(expected, 1.02) << "the swap must matter";
  const PlanComparison comparison = rehearsedUntil(
      swapped, plan, costs,
      [&](const PlanComparison& c) { return std::abs(c.worstStep - (expected - 1)) <= 0.01; });
  EXPECT_FALSE(comparison.agrees());
  EXPECT_GT(comparison.worstStep, 0.01);
  EXPECT_NEAR(comparison.worstStep, expected - 1, 0.01) << "as long as the swapped plan";
  EXPECT_EQ(comparison.orderDeviation, "rank 3, step 0: 3F1 ran where the plan has 3B0");
}

TEST(RehearsalTest, ASwapThatCostsNoTimeIsNoticedByTheOrder) {
  const Costs costs = equalCosts(1, 1);
  const CheckedPlan plan = buildSchedule("FThenB", 2, 2);
  Plan order = *plan;
  for (auto& rank : order.ranks) std::swap(rank.at(2), rank.at(3));
  const CheckedPlan swapped(order);
  ASSERT_EQ(simulate(swapped, costs).length, simulate(plan, costs).length);
  const PlanComparison comparison =
      compareWithPlan(asRun(rehearsed(swapped, costs, 2)), plan, costs);
  EXPECT_EQ(comparison.orderDeviation, "rank 0, step 0: 0B1 ran where the plan has 0B0");
  EXPECT_FALSE(comparison.agrees(1e9));
}

TEST(RehearsalTest, TransfersRecomputesAndTheStepsEdgesTakeTheirTime) {
  const Plan without = buildSchedule("1F1B", kRanks, kMicroBatches);
  const CheckedPlan plan(withRecompute(without, {true, true, false, true}));
  Costs costs = equalCosts(10, 10);
  for (StageCosts& stage : costs.stages) stage.recompute = 6 * kNsPerMs;
  costs.stages[2].backward = 14 * kNsPerMs;
  costs.transfer = 3 * kNsPerMs;
  costs.lr = 2 * kNsPerMs;
  costs.optimizer = 5 * kNsPerMs;
  ASSERT_GT(simulate(plan, costs).length, simulate(CheckedPlan(without), costs).length);
  const PlanComparison comparison =
      rehearsedUntil(plan, plan, costs, [](const PlanComparison& c) { return c.agrees(); });
  EXPECT_TRUE(comparison.agrees()) << toText(comparison);
}

TEST(RehearsalTest, ARunThatRecomputesIsReportedAsItsSchedule) {
  for (const char* const name : {"1F1B", "ZB-H1"}) {
    SCOPED_TRACE(name);
    const CheckedPlan plan(withRecompute(buildSchedule(name, 3, 4), {true, true, true}));
    const Costs costs = Costs::equal(3, {.forward = 5 * kNsPerMs,
                                         .backward = 10 * kNsPerMs,
                                         .backwardInput = 5 * kNsPerMs,
                                         .backwardWeight = 5 * kNsPerMs,
                                         .recompute = 5 * kNsPerMs});
    const Timeline run = rehearsed(plan, costs, 2);
    int recomputes = 0;
    for (const Event& job : run.findTrack(0, kComputeLane)->events) {
      recomputes += job.kind == JobKind::kRecompute;
    }
    EXPECT_EQ(recomputes, 2 * 4);
    EXPECT_EQ(compareWithPlan(asRun(run), plan, costs).orderDeviation, "");
    const auto found = explainRun(run, {});
    EXPECT_EQ(found.schedule.recognised.names.front(), name);
    EXPECT_TRUE(found.schedule.recognised.isExact);
    EXPECT_EQ(found.schedule.deviationCount, 0);
    for (const ExplainedRank& rank : found.ranks) {
      EXPECT_EQ(rank.bubbles[static_cast<std::size_t>(BubbleClass::kUnknown)], 0);
    }
  }
}

TEST(RehearsalTest, FaultsOfJobsAndLinksTakeTheirTime) {
  const CheckedPlan plan = buildSchedule("1F1B", kRanks, kMicroBatches);
  Costs costs = equalCosts(10, 10);
  costs.transfer = kNsPerMs;
  const double without = static_cast<double>(simulate(plan, costs).length);
  costs.faults.links = {{.rank = 1, .peer = 2, .transfer = 4 * kNsPerMs}};
  costs.faults.jobs = {{.action = {JobKind::kForward, 1, 4}, .step = 1, .longer = 30 * kNsPerMs},
                       {.action = {JobKind::kForward, 2, 5}, .late = 15 * kNsPerMs}};
  ASSERT_GT(static_cast<double>(simulate(plan, costs).length), 1.05 * without) << "they matter";
  const PlanComparison comparison =
      rehearsedUntil(plan, plan, costs, [](const PlanComparison& c) { return c.agrees(); });
  EXPECT_TRUE(comparison.agrees()) << toText(comparison);
  const Timeline run = rehearsed(plan, costs, 2);
  for (const Event& job : run.findTrack(1, kComputeLane)->events) {
    if (job.kind != JobKind::kForward || job.microBatch != 4) continue;
    EXPECT_NEAR(static_cast<double>(job.duration()), job.step == 1 ? 40e6 : 10e6, 2e6);
  }
  for (const Event& job : run.findTrack(2, kComputeLane)->events) {
    if (job.kind != JobKind::kForward || job.microBatch != 5) continue;
    EXPECT_NEAR(static_cast<double>(job.duration()), 10e6, 2e6) << "late, and no longer";
  }
}

TEST(RehearsalTest, EveryMessageIsInBothRanksLogs) {
  const CheckedPlan plan = buildSchedule("1F1B", kRanks, kMicroBatches);
  Costs costs = equalCosts(1, 1);
  costs.transfer = kNsPerMs / 2;
  const Timeline run = rehearsed(plan, costs, 2);
  for (int rank = 0; rank < kRanks; ++rank) {
    // Activations go on but from the last rank, and come but to the first; gradients the other way.
    std::map<std::string_view, bool> lanes{{kSendForwardLane, rank < kRanks - 1},
                                           {kRecvForwardLane, rank > 0},
                                           {kSendBackwardLane, rank > 0},
                                           {kRecvBackwardLane, rank < kRanks - 1}};
    for (const auto& [lane, isUsed] : lanes) {
      const Track* const track = run.findTrack(rank, lane);
      ASSERT_EQ(track != nullptr, isUsed) << lane;
      if (!isUsed) continue;
      EXPECT_EQ(track->events.size(), std::size_t{2 * kMicroBatches});
      for (const Event& event : track->events) EXPECT_EQ(logName(event.kind), lane);
    }
    EXPECT_TRUE(run.ranks.at(rank).hasEnd);
    EXPECT_EQ(run.ranks.at(rank).dropped, 0);
    EXPECT_EQ(run.ranks.at(rank).errors, 0);
    EXPECT_EQ(run.ranks.at(rank).device, "emulated");
  }
}

TEST(RehearsalTest, AMessageTravelsFromTheEndOfItsJobForTheTimeOfATransfer) {
  const CheckedPlan plan = buildSchedule("1F1B", 2, 3);
  Costs costs = Costs::equal(2, {.forward = 4 * kNsPerMs, .backward = 4 * kNsPerMs});
  costs.transfer = 3 * kNsPerMs;
  const Timeline run = rehearsed(plan, costs, 2);
  const auto find = [&](int rank, std::string_view lane, JobKind kind, const Event& like) {
    for (const Event& event : run.findTrack(rank, lane)->events) {
      if (event.kind == kind && event.step == like.step && event.microBatch == like.microBatch) {
        return event;
      }
    }
    ADD_FAILURE() << "no such event";
    return Event{};
  };
  // The clock of the lanes is read to well under this.
  constexpr Nanoseconds kClock = 20 * kNsPerUs;
  int jobs = 0;
  for (const Event& job : run.findTrack(0, kComputeLane)->events) {
    if (job.kind != JobKind::kForward) continue;
    ++jobs;
    const Event send = find(0, kSendForwardLane, JobKind::kSendForward, job);
    const Event recv = find(1, kRecvForwardLane, JobKind::kRecvForward, job);
    const Event next = find(1, kComputeLane, JobKind::kForward, job);
    EXPECT_EQ(send.job, job.job);
    EXPECT_EQ(recv.job, next.job);
    EXPECT_LE(send.begin, job.end) << "the job was to end then, however late its thread woke up";
    EXPECT_GE(send.begin, job.begin);
    EXPECT_GE(send.duration(), costs.transfer);
    EXPECT_GE(recv.end, send.begin + costs.transfer);
    EXPECT_GE(next.begin, recv.end - kClock);
  }
  EXPECT_EQ(jobs, 6);
}

TEST(RehearsalTest, NoMessageIsReceivedBeforeItIsSent) {
  const CheckedPlan plan = buildSchedule("1F1B", kRanks, kMicroBatches);
  Costs costs = equalCosts(1, 1);
  for (const Nanoseconds transfer : {Nanoseconds{0}, 3 * kNsPerMs}) {  // 3: longer than a job
    costs.transfer = transfer;
    const Timeline run = rehearsed(plan, costs, 3);
    const auto messages = matchedMessages(run);
    EXPECT_EQ(messages.size(), std::size_t{3 * 2 * kMicroBatches * (kRanks - 1)});
    for (const auto& [sender, receiver, send, receive] : messages) {
      EXPECT_GE(receive->end, send->begin + transfer) << sender << " to " << receiver;
    }
  }
}

/// A rehearsal on the made-up hosts "left" and "right", whose clocks are wrong by `skews`. Times
/// are as logged.
Timeline rehearsedOnTwoHosts(const ClockSkew& left, const ClockSkew& right, bool comparesClocks) {
  RecordedLog log;
  RehearsalOptions options{.plan = buildSchedule("1F1B", kRanks, kMicroBatches),
                           .costs = equalCosts(2, 4),
                           .steps = 8,
                           .logDirectory = log.folder(),
                           .hosts = {{"left", left}, {"left", left}, {"right", right}},
                           .comparesClocks = comparesClocks};
  options.costs.transfer = kNsPerMs / 10;
  options.hosts.push_back(options.hosts.back());
  rehearse(options);
  Diagnostics diagnostics;
  return test::loadTimeline({log.folder()}, {}, diagnostics);
}

/// Now, by the right clock, in the unit of the logs.
Nanoseconds wallClockNow() { return WallClock::read().at(monotonicNow()); }

TEST(RehearsalTest, RanksOfMadeUpHostsLogInTheirClocksAndCompareThem) {
  // A drift as large as may be: 0.5 s of it are well beyond the bound of a comparison.
  const ClockSkew skew{.offset = 5 * kNsPerMs, .drift = 1'000'000};
  const Nanoseconds called = wallClockNow();
  const Timeline run = rehearsedOnTwoHosts({}, skew, true);
  EXPECT_EQ(run.ranks.at(1).host, "left");
  EXPECT_EQ(run.ranks.at(2).host, "right");
  EXPECT_TRUE(run.ranks.at(0).clockReadings.empty());
  for (const int rank : {1, 2, 3}) {
    const std::vector<ClockReading>& readings = run.ranks.at(rank).clockReadings;
    ASSERT_GE(readings.size(), 2U) << "at the begin and at the end";
    for (const ClockReading& reading : {readings.front(), readings.back()}) {
      const Nanoseconds passed = reading.when - readings.front().when;
      const Nanoseconds expected = rank == 1 ? 0 : -skew.after(passed);
      // The drift began between the call and the first comparison.
      const Nanoseconds sooner = (readings.front().when - called) / 1000;
      EXPECT_NEAR(static_cast<double>(reading.offset), static_cast<double>(expected),
                  static_cast<double>(reading.bound + sooner));
    }
    const Nanoseconds gained = readings.front().offset - readings.back().offset;
    const Nanoseconds passed = readings.back().when - readings.front().when;
    EXPECT_GE(passed, 8 * 2 * kMicroBatches * kNsPerMs);
    EXPECT_NEAR(static_cast<double>(gained), rank == 1 ? 0 : static_cast<double>(passed) / 1001,
                static_cast<double>(readings.front().bound + readings.back().bound));
  }
}

TEST(RehearsalTest, WithoutAnExchangeLogsOfMadeUpHostsHaveNoComparison) {
  const Timeline run = rehearsedOnTwoHosts({}, {.offset = -50 * kNsPerMs}, false);
  EXPECT_EQ(run.ranks.at(3).host, "right");
  for (const auto& [rank, info] : run.ranks) EXPECT_TRUE(info.clockReadings.empty());
  // Rank 2's first job comes some milliseconds after rank 0's, and 50 ms before by its clock.
  const Nanoseconds first = run.findTrack(0, kComputeLane)->events.front().begin;
  const Nanoseconds second = run.findTrack(2, kComputeLane)->events.front().begin;
  EXPECT_NEAR(static_cast<double>(second - first), -50e6, 10e6);
}

TEST(RehearsalTest, ClocksOfMadeUpHostsAreFoundByTheirExchangeAndByTheOrderOfMessages) {
  const ClockSkew left{.offset = -5 * kNsPerMs, .drift = -20'000};
  const ClockSkew right{.offset = 5 * kNsPerMs, .drift = 20'000};
  constexpr Nanoseconds kTransfer = kNsPerMs / 10;  // as rehearsedOnTwoHosts()
  for (const bool comparesClocks : {true, false}) {
    // Half of a message and its answer, where there is no comparison.
    const Nanoseconds most = comparesClocks ? 50 * kNsPerUs : kTransfer + 20 * kNsPerUs;
    for (int i = 0; i < kTries; ++i) {
      const Nanoseconds called = wallClockNow();
      const Timeline logged = rehearsedOnTwoHosts(left, right, comparesClocks);
      Diagnostics diagnostics;
      Alignment alignment;
      const Timeline run = aligned(logged, AlignBy::kBest, diagnostics, &alignment);
      EXPECT_EQ(alignment.by, comparesClocks ? AlignBy::kLog : AlignBy::kCausal);
      ASSERT_EQ(alignment.hosts.size(), 2U);
      EXPECT_GT(alignment.hosts[1].violationsBefore, 0);
      EXPECT_EQ(alignment.hosts[1].violationsAfter, 0);
      ASSERT_TRUE(alignment.hosts[1].bound);
      const Nanoseconds bound = *alignment.hosts[1].bound;
      const std::vector<Event>& before = logged.findTrack(3, kComputeLane)->events;
      const std::vector<Event>& after = run.findTrack(3, kComputeLane)->events;
      Nanoseconds error = 0;
      for (std::size_t k = 0; k < before.size(); ++k) {
        const Nanoseconds passed = before[k].begin - before.front().begin;
        const Nanoseconds truth = before[k].begin - right.after(passed) + left.after(passed);
        error = std::max(error, std::abs(after[k].begin - truth));
      }
      // The drift of 40 ppm began between the call and the first job, whose clock is 5 ms ahead.
      const Nanoseconds sooner = (before.front().begin - called) / 25'000;
      ASSERT_GT(sooner, 0);
      ASSERT_LT(sooner, kNsPerMs) << "25 s";
      EXPECT_LE(error, bound + sooner + kNsPerUs);
      if (bound <= most || i + 1 == kTries) {
        EXPECT_LE(bound, most);
        break;
      }
    }
  }
}

TEST(RehearsalTest, APlanThatCannotRunIsRefused) {
  RecordedLog log;
  Plan plan = buildSchedule("1F1B", 2, 2);
  EXPECT_THROW(rehearse({.plan = CheckedPlan(plan), .logDirectory = log.folder()}), Error)
      << "no costs";
  std::swap(plan.ranks[0].front(), plan.ranks[0].back());
  EXPECT_THROW(rehearse({.plan = CheckedPlan(plan),
                         .costs = Costs::equal(2, {.forward = 1, .backward = 1}),
                         .logDirectory = log.folder()}),
               Error)
      << "backward before forward";
}

}  // namespace
}  // namespace pipetrace
