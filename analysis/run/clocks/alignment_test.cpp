#include "analysis/run/clocks/alignment.h"

#include <gmock/gmock.h>

#include "analysis/matched_messages.h"
#include "analysis/run/clocks/wrong_clocks.h"
#include "analysis/testing/diagnostic_texts.h"
#include "analysis/testing/hand_made_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Nanoseconds kRunBegin = 1'697'793'307'213'760'986;
constexpr Nanoseconds kTransfer = 100 * kNsPerUs;

/// The largest distance of a time of `run` from its true one in the first host's clock.
Nanoseconds errorOf(const Timeline& run, const Timeline& truth) {
  Nanoseconds error = 0;
  for (const Track& track : truth.tracks) {
    const std::vector<Event>& events = run.findTrack(track.rank, track.lane)->events;
    EXPECT_EQ(events.size(), track.events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      error = std::max({error, std::abs(events[i].begin - track.events[i].begin),
                        std::abs(events[i].end - track.events[i].end)});
    }
  }
  return error;
}

std::int64_t violationsOf(const Timeline& run) {
  std::int64_t count = 0;
  for (const MatchedMessage& each : matchedMessages(run)) {
    if (each.receive->end < each.send->begin) ++count;
  }
  return count;
}

/// A simulated run of 4 ranks, logged on made-up hosts.
class AlignmentTest : public testing::Test {
 protected:
  void simulateRun(const std::string& schedule, const std::vector<MadeUpHost>& hosts, int steps,
                   bool areCompared = false, Nanoseconds transfer = kTransfer) {
    const int ranks = static_cast<int>(hosts.size());
    const CheckedPlan plan = buildSchedule(schedule, ranks, 2 * ranks);
    Costs costs = Costs::equal(plan->numStages, {.forward = kNsPerMs, .backward = 2 * kNsPerMs});
    costs.transfer = transfer;
    costs.optimizer = kNsPerMs;
    const Timeline run = simulate(plan, costs, {.steps = steps, .begin = kRunBegin}).timeline;
    logged_ = loggedByHosts(run, hosts, areCompared);
    truth_ = loggedByHosts(run, std::vector<MadeUpHost>(hosts.size(), hosts.front()), false);
  }

  Timeline align(AlignBy by = AlignBy::kBest) {
    diagnostics_ = {};
    return aligned(logged_, by, diagnostics_, &result_);
  }

  /// All that has to hold of hosts whose clocks are lines.
  void expectRight(const Timeline& run, Nanoseconds bound) {
    EXPECT_GT(errorOf(logged_, truth_), kNsPerMs) << "the clocks are wrong";
    EXPECT_EQ(violationsOf(run), 0);
    Nanoseconds widest = 0;
    for (const HostAlignment& host : result_.hosts) {
      ASSERT_TRUE(host.bound.has_value()) << host.host;
      widest = std::max(widest, *host.bound);
      EXPECT_EQ(host.violationsAfter, 0);
      EXPECT_EQ(host.residual, 0);
    }
    EXPECT_LE(errorOf(run, truth_), widest + 2) << "the error is inside the bound";
    EXPECT_LE(widest, bound);
  }

  Timeline logged_;
  Timeline truth_;
  Alignment result_;
  Diagnostics diagnostics_;
};

const MadeUpHost kLeft{"left", {-5 * kNsPerMs, -20'000}};
const MadeUpHost kRight{"right", {5 * kNsPerMs, 20'000}};

TEST_F(AlignmentTest, CausalityAloneFindsOffsetAndDriftToHalfARoundTrip) {
  for (const char* const schedule : {"1F1B", "GPipe", "Interleaved1F1B", "ZB-H1", "ZBV"}) {
    simulateRun(schedule, {kLeft, kLeft, kRight, kRight}, 20);
    EXPECT_GT(violationsOf(logged_), 0);
    const Timeline run = align();
    EXPECT_EQ(result_.by, AlignBy::kCausal);
    // A message and its answer take two transfers.
    expectRight(run, kTransfer + 20 * kNsPerUs);
    ASSERT_THAT(result_.hosts, SizeIs(2));
    const HostAlignment& right = result_.hosts[1];
    EXPECT_EQ(right.host, "right");
    EXPECT_THAT(right.ranks, ElementsAre(2, 3));
    EXPECT_NEAR(static_cast<double>(right.offset), -10e6, static_cast<double>(*right.bound));
    EXPECT_NEAR(right.drift, -40, 10) << schedule;
    EXPECT_GT(right.violationsBefore, 0);
    EXPECT_GT(right.messages, 2 * right.violationsBefore / 3);
    EXPECT_FALSE(result_.hosts[0].isMoved);
    EXPECT_EQ(result_.hosts[0].bound, 0);
    EXPECT_THAT(
        textsOf(diagnostics_),
        ElementsAre(HasSubstr("note: times of ranks 2 and 3 were moved into the clock of left "
                              "by the order of messages, by up to 10")));
  }
}

TEST_F(AlignmentTest, ComparisonsInTheLogGoBeforeCausality) {
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 5, true);
  const Timeline run = align();
  EXPECT_EQ(result_.by, AlignBy::kLog);
  expectRight(run, 50 * kNsPerUs);
  EXPECT_EQ(result_.hosts[1].bound, 1);
  EXPECT_GT(result_.hosts[1].violationsBefore, 0);
  expectRight(align(AlignBy::kCausal), kTransfer + 20 * kNsPerUs);
  EXPECT_EQ(result_.by, AlignBy::kCausal);
  EXPECT_EQ(errorOf(align(AlignBy::kNone), logged_), 0);
  EXPECT_EQ(result_.by, AlignBy::kNone);
  EXPECT_EQ(result_.hosts[1].violationsAfter, result_.hosts[1].violationsBefore);
}

TEST_F(AlignmentTest, HostsAreAlignedOverHostsBetweenThem) {
  simulateRun("1F1B",
              {kLeft,
               {"second", {kNsPerSecond, 100'000}},
               {"third", {-3600 * kNsPerSecond, -100'000}},
               kRight},
              20);
  const Timeline run = align();
  // Each hop adds half a round trip.
  expectRight(run, 3 * (kTransfer + 20 * kNsPerUs));
  ASSERT_THAT(result_.hosts, SizeIs(4));
  EXPECT_LE(*result_.hosts[1].bound, kTransfer + 20 * kNsPerUs);
  EXPECT_GT(*result_.hosts[3].bound, *result_.hosts[1].bound);
}

TEST_F(AlignmentTest, OnARingOfHostsNoMessageIsLeftOutOfOrder) {
  // The last rank's chunks pass messages to the first rank's. Links differ, so that the middles of
  // single strips do not fit together.
  const CheckedPlan plan = buildSchedule("Interleaved1F1B", 4, 8);
  Costs costs = Costs::equal(plan->numStages, {.forward = kNsPerMs, .backward = 2 * kNsPerMs});
  costs.transfer = kTransfer;
  costs.faults.links = {{0, 1, 10 * kNsPerUs}, {1, 2, 700 * kNsPerUs}, {0, 3, kNsPerUs}};
  const std::vector<MadeUpHost> hosts = {
      kLeft, {"second", {2 * kNsPerMs, 5'000}}, {"third", {-2 * kNsPerMs, 0}}, kRight};
  const Timeline simulated = simulate(plan, costs, {.steps = 10, .begin = kRunBegin}).timeline;
  logged_ = loggedByHosts(simulated, hosts, false);
  truth_ = loggedByHosts(simulated, {kLeft, kLeft, kLeft, kLeft}, false);
  expectRight(align(), kNsPerMs);
}

TEST_F(AlignmentTest, TransfersOfNanosecondsLeaveNoMessageOutOfOrder) {
  for (const Nanoseconds transfer : {1, 3, 10, 1000}) {
    simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 20, false, transfer);
    align();
    EXPECT_EQ(result_.by, AlignBy::kCausal) << transfer;
    // Times are whole nanoseconds: a strip as narrow as two of them may have no room for its line.
    EXPECT_LE(result_.hosts[1].residual, transfer < 10 ? 2 : 0) << transfer;
    EXPECT_LE(*result_.hosts[1].bound, transfer + 20 * kNsPerUs);
  }
}

TEST_F(AlignmentTest, AClockThatNothingBoundsIsExactToNobodyKnowsWhat) {
  const auto expectUnknown = [&](AlignBy by) {
    align(by);
    ASSERT_THAT(result_.hosts, SizeIs(2));
    EXPECT_TRUE(result_.hosts[0].bound.has_value()) << "all times are in its clock";
    EXPECT_EQ(result_.hosts[1].bound, std::nullopt);
  };
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 5);
  for (const AlignBy by : {AlignBy::kNone, AlignBy::kLog}) expectUnknown(by);
  logged_.ranks[2].clockReadings = {{.when = 0, .offset = 0, .bound = 5}};
  expectUnknown(AlignBy::kNone);  // rank 3 has none
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 5, true);
  expectUnknown(AlignBy::kNone);  // the comparisons are not used
  simulateRun("1F1B", {{"", kLeft.skew}, {"", kRight.skew}}, 5);
  expectUnknown(AlignBy::kNone);
}

TEST_F(AlignmentTest, MessagesThatContradictTheComparisonsAreAWarning) {
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 5, true);
  for (const int rank : {2, 3}) {
    for (ClockReading& reading : logged_.ranks[rank].clockReadings) {
      reading.offset -= 4 * kNsPerMs;
    }
  }
  const Timeline run = align();
  EXPECT_EQ(result_.by, AlignBy::kLog);
  EXPECT_EQ(result_.hosts[1].violationsAfter, violationsOf(run));
  EXPECT_NEAR(static_cast<double>(result_.hosts[1].residual), 4e6 - kTransfer, 5);
  EXPECT_EQ(result_.hosts[0].bound, 1);
  EXPECT_EQ(result_.hosts[1].bound, std::nullopt) << "the comparisons are not to be trusted";
  EXPECT_THAT(textsOf(diagnostics_),
              Contains(AllOf(HasSubstr("warning: messages arrive before they are sent, F"),
                             HasSubstr("from rank 1 to rank 2 by 3.900 ms (40 times)"),
                             HasSubstr("--align causal"))));
}

TEST_F(AlignmentTest, EarlyMessagesWithinTheBoundWidenItWithoutAWarning) {
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 5, true);
  for (const int rank : {2, 3}) {
    for (ClockReading& reading : logged_.ranks[rank].clockReadings) {
      reading.offset -= kTransfer + 9 * kNsPerUs;
    }
  }
  align();
  EXPECT_GT(result_.hosts[1].violationsAfter, 0);
  EXPECT_NEAR(static_cast<double>(result_.hosts[1].residual), 9e3, 5);
  EXPECT_EQ(result_.hosts[1].bound, result_.hosts[1].residual);
  EXPECT_THAT(textsOf(diagnostics_), ElementsAre(HasSubstr("note: ")));
}

// As in a run that fails: the receive ends when the rank gives up, and the send goes on.
TEST_F(AlignmentTest, AReceiveThatGotNoMessageIsNotEarly) {
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 5, true);
  const Argument bytes = Argument::ofInteger(logged_.strings.intern("bytes"), 4096);
  Event* early = nullptr;
  for (Track& track : logged_.tracks) {
    for (Event& event : track.events) {
      if (!isTransfer(event.kind)) continue;
      const bool isOne = track.rank == 2 && event.kind == JobKind::kRecvForward;
      if (isOne && early == nullptr) {
        early = &event;
      } else {
        logged_.setArguments(event, std::span(&bytes, 1));
      }
    }
  }
  ASSERT_NE(early, nullptr);
  early->begin -= 5 * kNsPerMs;
  early->end -= 5 * kNsPerMs;
  align();
  EXPECT_EQ(result_.hosts[1].violationsAfter, 0);
  EXPECT_THAT(textsOf(diagnostics_), ElementsAre(HasSubstr("note: ")));
  logged_.setArguments(*early, std::span(&bytes, 1));
  align();
  EXPECT_EQ(result_.hosts[1].violationsAfter, 1) << "it got one";
}

TEST_F(AlignmentTest, MessagesThatAreEarlyAsLoggedAreAWarning) {
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 5);
  align(AlignBy::kNone);
  EXPECT_THAT(textsOf(diagnostics_),
              ElementsAre(AllOf(HasSubstr("warning: messages arrive before they are sent, B"),
                                HasSubstr("from rank 2 to rank 1 by 9.9"))));
}

TEST_F(AlignmentTest, ARunOfOneHostStaysAsItIs) {
  simulateRun("1F1B", {kRight, kRight, kRight, kRight}, 3);
  for (const AlignBy by : {AlignBy::kBest, AlignBy::kCausal, AlignBy::kLog}) {
    EXPECT_EQ(errorOf(align(by), logged_), 0);
    EXPECT_EQ(result_.by, AlignBy::kNone);
    EXPECT_THAT(result_.hosts, SizeIs(1));
    EXPECT_EQ(result_.hosts[0].messages, 0);
    EXPECT_TRUE(diagnostics_.empty());
  }
}

TEST_F(AlignmentTest, AligningTwiceEqualsAligningOnce) {
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 5);
  const Timeline once = align();
  logged_ = once;
  EXPECT_EQ(errorOf(align(), once), 0);
  EXPECT_EQ(result_.by, AlignBy::kLog) << "the readings say that the clocks are right";
  EXPECT_TRUE(diagnostics_.empty());
}

TEST_F(AlignmentTest, AClockThatWasSetDuringTheRunIsRefused) {
  simulateRun("1F1B", {kLeft, kLeft, kRight, kRight}, 6);
  const Timeline::Span span = logged_.span();
  for (Track& track : logged_.tracks) {
    if (track.rank < 2) continue;
    for (Event& event : track.events) {
      if (event.begin < span.begin + (span.end - span.begin) / 2) continue;
      event.begin += 3 * kNsPerMs;
      event.end += 3 * kNsPerMs;
    }
  }
  EXPECT_EQ(errorOf(align(), logged_), 0) << "times stay as they are";
  EXPECT_EQ(result_.by, AlignBy::kNone);
  EXPECT_EQ(result_.hosts[1].violationsAfter, result_.hosts[1].violationsBefore);
  EXPECT_EQ(result_.hosts[1].bound, std::nullopt);
  EXPECT_THAT(
      textsOf(diagnostics_),
      ElementsAre(AllOf(
          HasSubstr("warning: with any offset and drift between the clocks of right and "
                    "left, some messages are received"),
          HasSubstr("from rank 1 to rank 2"), HasSubstr("from rank 2 to rank 1"),
          HasSubstr("of step"), HasSubstr("no clock was aligned"), HasSubstr("--align none"))));
}

TEST_F(AlignmentTest, HostsThatMessagesReachInOneDirectionOnlyStayAsTheyAre) {
  simulateRun("FThenB", {kLeft, kLeft, kRight, kRight}, 2);
  for (Track& track : logged_.tracks) {
    std::erase_if(track.events, [](const Event& event) {
      return event.kind == JobKind::kSendBackward || event.kind == JobKind::kRecvBackward;
    });
  }
  align();
  EXPECT_EQ(result_.by, AlignBy::kCausal) << "jobs tell of the other direction";
  EXPECT_THAT(textsOf(diagnostics_), ElementsAre(HasSubstr("by the order of jobs and messages")));
  for (Track& track : logged_.tracks) {
    for (Event& event : track.events) {
      if (isCompute(event.kind)) event.stage = kNotGiven;  // so these say nothing
    }
  }
  const Timeline before = logged_;
  EXPECT_EQ(errorOf(align(), before), 0);
  EXPECT_EQ(result_.by, AlignBy::kNone);
  EXPECT_THAT(textsOf(diagnostics_), ElementsAre(HasSubstr("whose clocks were not compared")));
  EXPECT_EQ(errorOf(align(AlignBy::kCausal), before), 0);
  EXPECT_THAT(
      textsOf(diagnostics_),
      ElementsAre(HasSubstr("warning: no messages in both directions tie the clock of right "
                            "to that of left; times of ranks 2 and 3 stay")));
}

TEST_F(AlignmentTest, CollectivesTieClocksInBothDirections) {
  // Every rank ends an all-reduce 50 after the last one has begun it. Rank 1's clock is 1000 ahead.
  HandMadeTimeline made;
  Timeline& run = made.timeline;
  const StringId key = run.strings.intern(log_format::kCommunicator);
  const Argument group = Argument::ofText(key, run.strings.intern("1f"));
  for (Nanoseconds at = 0; at < 10'000'000; at += 100'000) {
    for (const int rank : {0, 1}) {
      const Nanoseconds late = rank == (at / 100'000) % 2 ? 0 : 300;
      Event& event = made.add(rank, JobKind::kAllReduce, at + late + 1000 * rank,
                              at + 350 + 1000 * rank, 0, kNotGiven, "nccl");
      run.setArguments(event, {&group, 1});
    }
  }
  for (const int rank : {0, 1}) run.ranks[rank].host = "host" + std::to_string(rank);
  logged_ = run;
  align();
  EXPECT_EQ(result_.by, AlignBy::kCausal);
  EXPECT_NEAR(static_cast<double>(result_.hosts[1].offset), -1000, 2);
  // The last to begin and the first to end are 50 apart, in both directions.
  EXPECT_NEAR(static_cast<double>(*result_.hosts[1].bound), 50, 5);
  EXPECT_EQ(result_.hosts[1].messages, 200);
}

TEST_F(AlignmentTest, TimesFromEndToEndOfAllAreLeftAsTheyAre) {
  simulateRun("1F1B", {kLeft, kRight}, 2);
  logged_.track(0, kSendLane).events.front().begin = kNsMin;
  logged_.track(1, kRecvLane).events.back().end = kNsMax;
  EXPECT_EQ(errorOf(align(), logged_), 0);
  EXPECT_EQ(result_.by, AlignBy::kNone);
  EXPECT_EQ(result_.hosts[1].offset, 0);
}

TEST_F(AlignmentTest, RanksWithoutAHostHaveAClockEachIfAskedOrIfJobsShowIt) {
  simulateRun("1F1B", {{"", kLeft.skew}, {"", kRight.skew}}, 20);
  expectRight(align(AlignBy::kCausal), kTransfer + 20 * kNsPerUs);
  EXPECT_EQ(result_.hosts[1].host, "rank 1");
  expectRight(align(), kTransfer + 20 * kNsPerUs);
  for (Track& track : logged_.tracks) {
    for (Event& event : track.events) {
      if (isCompute(event.kind)) event.stage = kNotGiven;  // so these show nothing
    }
  }
  EXPECT_EQ(errorOf(align(), logged_), 0);
}

}  // namespace
}  // namespace pipetrace
