// Idle time gets its causes. Expected times come from a prototype that was written apart from this
// code, and from what plans with equal costs must give.
#include "analysis/run/bubbles/bubbles.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/testing/faulty_run.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/simulate/order_messages.h"

namespace pipetrace {
namespace {

using test::costsOf;
using test::scaleRank;

constexpr Nanoseconds kMs = kNsPerMs;

/// A simulated run with its bubbles.
struct Classified {
  Timeline timeline;
  RunSummary summary;
  std::vector<ClassTimes> ranks;

  double ms(int rank, BubbleClass c) const {
    return static_cast<double>(ranks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(c)]) /
           kMs;
  }
};

Classified classify(const Plan& plan, const Costs& costs, int steps = 3) {
  Classified result;
  result.timeline = test::completedRun(plan, costs, steps);
  result.summary = summarize(result.timeline);
  const JobGraph graph(result.timeline, topologyOf(result.timeline));
  const Bubbles bubbles = classifyBubbles(RunBasis(graph, result.summary));
  for (std::uint32_t r = 0; r < bubbles.byRank.size(); ++r) {
    result.ranks.push_back(bubbles.times[r]);
    Nanoseconds sum = 0;
    Nanoseconds end = 0;
    for (const Bubble& bubble : bubbles.byRank[r]) {
      EXPECT_LT(bubble.begin, bubble.end);
      EXPECT_GE(bubble.begin, end) << "bubbles overlap";
      end = bubble.end;
      sum += bubble.end - bubble.begin;
    }
    EXPECT_EQ(sum, result.summary.ranks[r].idle) << "rank " << r;
  }
  return result;
}

struct Case {
  std::string name;
  std::string schedule;
  double transferMs = 0;
  int slowRank = -1;
  double factor = 1;
  std::vector<Faults::Link> links;
  std::vector<Faults::Job> jobs;
  BubbleClass bubbleClass = BubbleClass::kUnknown;
  std::vector<double> expectedMs;  // by rank
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class PrototypeCase : public testing::TestWithParam<Case> {};

TEST_P(PrototypeCase, GivesEachRankTheTimeOfItsCause) {
  const Case& c = GetParam();
  const Plan plan = buildSchedule(c.schedule, {4, 8});
  Costs costs = costsOf(plan, c.transferMs);
  if (c.slowRank >= 0) scaleRank(costs, plan, c.slowRank, c.factor);
  costs.faults.links = c.links;
  costs.faults.jobs = c.jobs;
  const Classified result = classify(plan, costs);
  for (int rank = 0; rank < 4; ++rank) {
    const double expected = c.expectedMs[static_cast<std::size_t>(rank)];
    EXPECT_NEAR(result.ms(rank, c.bubbleClass), expected, 0.02 * expected + 1e-9)
        << "rank " << rank;
  }
}

const Faults::Job kLongForward{{JobKind::kForward, 1, 4}, 1, 30 * kMs, 0};
const Faults::Job kLateForward{{JobKind::kForward, 2, 5}, Faults::kEveryStep, 0, 15 * kMs};

INSTANTIATE_TEST_SUITE_P(
    All, PrototypeCase,
    testing::Values(
        Case{"slow_stage", "1F1B", 0, 2, 1.3, {}, {}, BubbleClass::kImbalance, {189, 189, 0, 183}},
        Case{"slow_link",
             "1F1B",
             0.1,
             -1,
             1,
             {{1, 2, 4 * kMs}},
             {},
             BubbleClass::kTransfer,
             {97.8, 97.5, 91.8, 91.8}},
        Case{"long_job",
             "1F1B",
             0.1,
             -1,
             1,
             {},
             {kLongForward},
             BubbleClass::kPeerWait,
             {30.8, 0, 29.8, 29.6}},
        Case{"late_launch",
             "1F1B",
             0.1,
             -1,
             1,
             {},
             {kLateForward},
             BubbleClass::kLateStart,
             {45.0, 45.6, 45.0, 43.3}},
        Case{"slow_stage_and_link",
             "1F1B",
             0.05,
             3,
             1.2,
             {{0, 1, 3 * kMs}},
             {},
             BubbleClass::kImbalance,
             {119.5, 143.0, 143.5, 0}},
        Case{"slow_link_and_stage",
             "1F1B",
             0.05,
             3,
             1.2,
             {{0, 1, 3 * kMs}},
             {},
             BubbleClass::kTransfer,
             {43.1, 13.6, 13.1, 12.6}},
        Case{"slow_stage_f_then_b",
             "FThenB",
             0,
             2,
             1.3,
             {},
             {},
             BubbleClass::kImbalance,
             {216, 216, 0, 210}},
        Case{"slow_stage_zb_h1",
             "ZB-H1",
             0,
             2,
             1.3,
             {},
             {},
             BubbleClass::kImbalance,
             {201, 201, 0, 201}},
        Case{"slow_link_zb_h1",
             "ZB-H1",
             0.1,
             -1,
             1,
             {{1, 2, 4 * kMs}},
             {},
             BubbleClass::kTransfer,
             {50.4, 50.1, 44.4, 44.4}},
        Case{"slow_stage_interleaved",
             "Interleaved1F1B",
             0,
             2,
             1.3,
             {},
             {},
             BubbleClass::kImbalance,
             {408, 378, 0, 348}},
        Case{"late_launch_zb_v",
             "ZBV",
             0.05,
             -1,
             1,
             {},
             {kLateForward},
             BubbleClass::kLateStart,
             {45.0, 45.0, 45.0, 44.4}}),
    [](const auto& each) { return each.param.name; });

TEST(Bubbles, SchedulesOwnShareIsThatOfItsPlan) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0);
  scaleRank(costs, plan, 2, 1.3);
  const Classified result = classify(plan, costs);
  for (const int rank : {0, 1, 2, 3}) {
    const double own = result.ms(rank, BubbleClass::kWarmUp) +
                       result.ms(rank, BubbleClass::kSteady) + result.ms(rank, BubbleClass::kDrain);
    EXPECT_NEAR(own, rank == 2 ? 243 : 270, 1e-6) << "rank " << rank;
  }
}

TEST(Bubbles, AFastStageIsItselfTheCauseOfItsIdleTime) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  for (const double transferMs : {0.0, 0.05}) {
    Costs costs = costsOf(plan, transferMs);
    scaleRank(costs, plan, 3, 0.4);
    const Classified result = classify(plan, costs);
    const double own = 3 * 90;  // as in the case above
    const double idle = static_cast<double>(result.summary.ranks[3].idle) / kMs;
    const double excess = idle - own - result.ms(3, BubbleClass::kSync);
    EXPECT_GT(excess, 300);
    EXPECT_NEAR(result.ms(3, BubbleClass::kImbalance), excess, 0.02 * excess) << transferMs;
    EXPECT_EQ(result.ms(3, BubbleClass::kUnknown), 0);
    EXPECT_EQ(result.ms(0, BubbleClass::kImbalance), 0) << "it is like most stages";
  }
}

TEST(Bubbles, AnAsynchronousRunWaitsForItsSlowStageOnceAMicroBatch) {
  const Plan plan = buildSchedule("PipeDream", {4, 24});
  Costs costs = costsOf(plan, 0);
  scaleRank(costs, plan, 2, 1.3);
  const Classified result = classify(plan, costs, 1);
  // In the window rank 0 runs 20 micro-batches. Between them rank 2 takes 39 ms for each, rank 0
  // 30 ms, and both 2 ms for an update.
  EXPECT_NEAR(result.ms(0, BubbleClass::kImbalance), 19 * 9, 1e-6);
  EXPECT_EQ(result.ms(2, BubbleClass::kImbalance), 0);
  for (const int rank : {0, 1, 2, 3}) {
    EXPECT_NEAR(result.ms(rank, BubbleClass::kSync), 20 * 2, 1e-6) << "rank " << rank;
    EXPECT_EQ(result.ms(rank, BubbleClass::kUnknown), 0) << "rank " << rank;
  }
}

class PlanOfSchedule : public testing::TestWithParam<std::string> {};

TEST_P(PlanOfSchedule, WithEqualCostsHasOnlyTheSchedulesOwnBubbles) {
  for (const int ranks : {1, 2, 4, 6}) {
    for (const int microBatches : {ranks * 2, ranks * 4}) {
      const Plan plan = buildSchedule(GetParam(), {ranks, microBatches});
      const Classified result = classify(plan, costsOf(plan, 0));
      for (int rank = 0; rank < ranks; ++rank) {
        for (const BubbleClass c :
             {BubbleClass::kTransfer, BubbleClass::kLateStart, BubbleClass::kPeerWait,
              BubbleClass::kImbalance, BubbleClass::kUnknown}) {
          EXPECT_EQ(result.ms(rank, c), 0)
              << ranks << " ranks, rank " << rank << ", class " << bubbleClassName(c);
        }
        if (!scheduleInfo(GetParam()).isAsynchronous) continue;
        EXPECT_EQ(result.summary.steps.size(), 1U);
        EXPECT_EQ(result.ms(rank, BubbleClass::kWarmUp), 0) << "the pipeline is full";
      }
    }
  }
}

/// `lines`: those on which the run's messages are.
Timeline runOnLines(const CheckedPlan& plan, CommStreams lines) {
  Timeline timeline =
      simulate(plan, costsOf(*plan, 1), {.steps = 2, .commStreams = lines}).timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

TEST_P(PlanOfSchedule, ClassesAddUpOnLinesAndNothingIsBlockedOnFreeOnes) {
  if (scheduleInfo(GetParam()).isAsynchronous)
    GTEST_SKIP() << "its messages are not in torch's order";
  const Plan free = buildSchedule(GetParam(), {4, 8});
  if (free.credits > 0) GTEST_SKIP() << "it has credits";
  const CheckedPlan plan(withMessagesOfTorch(CheckedPlan(free)));
  for (const CommStreams lines : {CommStreams::kMessage, CommStreams::kPeer, CommStreams::kRank}) {
    const Timeline timeline = runOnLines(plan, lines);
    const RunSummary summary = summarize(timeline);
    const JobGraph graph(timeline, topologyOf(timeline));
    const Bubbles bubbles = classifyBubbles(RunBasis(graph, summary));
    EXPECT_EQ(graph.hasLines(), lines != CommStreams::kMessage);
    for (std::size_t rank = 0; rank < summary.ranks.size(); ++rank) {
      const ClassTimes& times = bubbles.times[rank];
      EXPECT_EQ(std::accumulate(times.begin(), times.end(), Nanoseconds{0}),
                summary.ranks[rank].idle);
      if (lines == CommStreams::kMessage) {
        EXPECT_EQ(times[static_cast<std::size_t>(BubbleClass::kBlocked)], 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanOfSchedule, testing::ValuesIn(scheduleNames()),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

/// The transfers on each link that bubbles are blamed on: the rank that waits is not the sender's.
std::set<std::pair<int, int>> blamedLinks(const Timeline& timeline) {
  const JobGraph graph(timeline, topologyOf(timeline));
  const Bubbles bubbles = classifyBubbles(RunBasis(graph, summarize(timeline)));
  std::set<std::pair<int, int>> links;
  for (const auto& ofRank : bubbles.byRank) {
    for (const Bubble& bubble : ofRank) {
      if (bubble.bubbleClass != BubbleClass::kTransfer) continue;
      const JobGraph::Node& message = graph.node(bubble.cause);
      const int from = graph.ranks()[graph.node(bubble.culprit).rank].number;
      const int to = graph.ranks()[message.rank].number;
      links.insert({std::min(from, to), std::max(from, to)});
    }
  }
  return links;
}

/// Ranks 0 and 1 are of one host, 2 and 3 of another. Messages take 0.1 ms, on the link between the
/// hosts 0.3 ms.
TEST(Bubbles, TransfersShorterThanClocksOfTwoHostsAreExactAreNoCause) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  costs.faults.links = {{1, 2, 3 * kMs / 10}};
  Timeline timeline = test::completedRun(plan, costs);
  const auto giveBound = [&](Nanoseconds bound, const std::string& secondHost) {
    for (auto& [rank, info] : timeline.ranks) {
      info.host = rank < 2 ? "a" : secondHost;
      info.clockReadings = {{0, 0, rank < 2 ? 0 : bound}};
    }
  };
  const std::pair<int, int> between{1, 2};
  giveBound(3 * kMs / 10, "b");
  EXPECT_TRUE(blamedLinks(timeline).contains(between)) << "no shorter than the bound";
  giveBound(3 * kMs / 10 + 1, "b");
  const auto links = blamedLinks(timeline);
  EXPECT_FALSE(links.contains(between));
  EXPECT_FALSE(links.empty()) << "links inside a host need no clocks";
  giveBound(3 * kMs / 10 + 1, "a");
  EXPECT_TRUE(blamedLinks(timeline).contains(between)) << "all ranks have one clock";
}

/// Rank 0 begins its second job 4 ns late. No message is logged: rank 1 begins 4 ns after its data
/// is made, on a host whose clock is off.
TEST(Bubbles, WaitsForDataShorterThanClocksAreExactAreNoCause) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 10, 0, 0).stage = 0;
  made.add(0, JobKind::kForward, 14, 24, 0, 1).stage = 0;
  made.add(1, JobKind::kForward, 10, 20, 0, 0).stage = 1;
  made.add(1, JobKind::kForward, 28, 38, 0, 1).stage = 1;
  for (const int rank : {0, 1}) made.timeline.ranks[rank].numStages = 2;
  const auto timesOfRank1 = [&](Nanoseconds bound) {
    for (auto& [rank, info] : made.timeline.ranks) {
      info.host = rank == 0 ? "a" : "b";
      info.clockReadings = {{0, 0, rank == 0 ? 0 : bound}};
    }
    const JobGraph graph(made.timeline, topologyOf(made.timeline));
    return classifyBubbles(RunBasis(graph, summarize(made.timeline))).times[1];
  };
  const auto in = [](const ClassTimes& times, BubbleClass c) {
    return times[static_cast<std::size_t>(c)];
  };
  made.timeline.sort();
  EXPECT_EQ(in(timesOfRank1(4), BubbleClass::kTransfer), 4);
  EXPECT_EQ(in(timesOfRank1(4), BubbleClass::kLateStart), 4);
  EXPECT_EQ(in(timesOfRank1(5), BubbleClass::kTransfer), 0);
  EXPECT_EQ(in(timesOfRank1(5), BubbleClass::kLateStart), 8);
}

/// A fused pair needs an activation and a gradient, each of another rank.
TEST(Bubbles, ATransferThatIsNotLoggedIsBlamedOnTheSenderThatWasDoneLast) {
  const Plan plan = buildSchedule("DualPipe", {4, 8});
  Costs costs = costsOf(plan, 2);
  Timeline timeline = test::completedRun(plan, costs);
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events, [](const Event& event) { return isTransfer(event.kind); });
  }
  const JobGraph graph(timeline, topologyOf(timeline));
  const Bubbles bubbles = classifyBubbles(RunBasis(graph, summarize(timeline)));
  std::set<int> inputs;  // of two, which one came last
  for (const auto& ofRank : bubbles.byRank) {
    for (const Bubble& bubble : ofRank) {
      if (bubble.bubbleClass != BubbleClass::kTransfer) continue;
      const JobGraph::Node& job = graph.node(bubble.cause);
      for (const int i : {0, 1}) {
        if (job.inputs[i] == bubble.culprit && job.inputs[1 - i] != JobGraph::kNone) {
          inputs.insert(i);
        }
        if (job.inputs[i] == JobGraph::kNone) continue;
        EXPECT_GE(graph.node(bubble.culprit).end, graph.node(job.inputs[i]).end);
      }
    }
  }
  EXPECT_EQ(inputs, (std::set<int>{0, 1}));
}

// Rank 1 waits in the drain for rank 0's last backward, of which a message of 0.1 ms is a part.
TEST(Bubbles, WithoutAPlanNoCauseGetsMoreThanItsOwnTime) {
  Costs costs = Costs::equal(4, {10 * kMs, 20 * kMs});
  costs.transfer = kMs / 10;
  constexpr int kSteps = 3;
  Timeline timeline = simulate(CheckedPlan(buildSchedule("1F1B", 4, 8)), costs,
                               {.steps = kSteps, .stepsStartTogether = true})
                          .timeline;
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 2; });
  timeline.ranks.erase(2);
  for (auto& [rank, info] : timeline.ranks) info.numStages = std::nullopt;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  const JobGraph graph(timeline, topologyOf(timeline));
  const Bubbles bubbles = classifyBubbles(RunBasis(graph, summarize(timeline)));
  for (const ClassTimes& times : bubbles.times) {
    EXPECT_LT(times[static_cast<std::size_t>(BubbleClass::kTransfer)], kSteps * 2 * kMs);
    EXPECT_GT(times[static_cast<std::size_t>(BubbleClass::kUnknown)], kSteps * 60 * kMs);
  }
}

}  // namespace
}  // namespace pipetrace
