// One slow rank among two replicas. The expected times are those of a separate program.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <string>

#include "analysis/run/bubbles/bubbles.h"
#include "analysis/testing/run_of_timeline.h"
#include "parser/testing/load_timeline.h"
#include "trace/testing/folders.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using enum BubbleClass;

double inMs(Nanoseconds time) { return static_cast<double>(time) / kNsPerMs; }

class TwoReplicas : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path folder = fs::path(test::inSources("../shared/data/two_replicas"));
    if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
    Diagnostics diagnostics;
    timeline_ = test::loadTimeline({folder.string()}, {.threads = 1}, diagnostics);
    completeTimeline(timeline_, diagnostics);
    summary_ = summarize(timeline_);
    ASSERT_EQ(summary_.ranks.size(), 8U);
  }

  Timeline timeline_;
  RunSummary summary_;
};

TEST_F(TwoReplicas, EachRankHasTheTimesOfItsClasses) {
  struct Expected {
    double own, transfer, peerWait, sync;
  };
  constexpr std::array<Expected, 8> kExpected{{{360.0, 18.7, 232.3, 27.4},
                                               {360.0, 17.9, 233.0, 27.5},
                                               {360.0, 17.1, 233.7, 27.5},
                                               {360.0, 16.4, 234.5, 27.6},
                                               {360.0, 12.2, 246.2, 20.0},
                                               {360.0, 9.0, 248.6, 20.8},
                                               {327.2, 1.6, 0, 21.6},
                                               {360.0, 8.0, 242.4, 28.0}}};
  const JobGraph graph(timeline_, topologyOf(timeline_));
  const Bubbles bubbles = classifyBubbles(RunBasis(graph, summary_));
  for (std::size_t r = 0; r < kExpected.size(); ++r) {
    SCOPED_TRACE("rank " + std::to_string(r));
    const auto ms = [&](BubbleClass c) {
      return inMs(bubbles.times[r][static_cast<std::size_t>(c)]);
    };
    EXPECT_NEAR(ms(kWarmUp) + ms(kSteady) + ms(kDrain), kExpected[r].own, 0.1);
    EXPECT_NEAR(ms(kTransfer), kExpected[r].transfer, 0.1);
    EXPECT_NEAR(ms(kPeerWait), kExpected[r].peerWait, 0.1);
    EXPECT_NEAR(ms(kSync), kExpected[r].sync, 0.1);
    EXPECT_EQ(ms(kLateStart) + ms(kImbalance) + ms(kUnknown), 0);
    Nanoseconds sum = 0;
    for (const Nanoseconds time : bubbles.times[r]) sum += time;
    EXPECT_EQ(sum, summary_.ranks[r].idle);
  }
}

TEST_F(TwoReplicas, TheSlowRankIsToBlameForWhatItCosts) {
  const JobGraph graph(timeline_, topologyOf(timeline_));
  const Bubbles bubbles = classifyBubbles(RunBasis(graph, summary_));
  Nanoseconds blamed = 0;
  for (std::size_t r = 0; r < bubbles.byRank.size(); ++r) {
    for (const Bubble& bubble : bubbles.byRank[r]) {
      if (r == 6 || bubble.culprit == JobGraph::kNone) continue;
      if (graph.ranks()[graph.node(bubble.culprit).rank].number == 6) {
        blamed += bubble.end - bubble.begin;
      }
    }
  }
  EXPECT_GE(inMs(blamed), 0.95 * 1719.2);
  EXPECT_LE(inMs(blamed), 1719.2);
}

}  // namespace
}  // namespace pipetrace
