// Idle time gets its causes. Expected times come from a prototype that was written apart from this
// code, and from what plans with equal costs must give.
#include "analysis/bubbles/bubbles.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/testing/faulty_run.h"

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
    result.ranks.push_back(bubbles.times(r));
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
             BubbleClass::kLaunch,
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
             BubbleClass::kLaunch,
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
             {BubbleClass::kTransfer, BubbleClass::kLaunch, BubbleClass::kPeerWait,
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

INSTANTIATE_TEST_SUITE_P(All, PlanOfSchedule, testing::ValuesIn(scheduleNames()),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

}  // namespace
}  // namespace pipetrace
