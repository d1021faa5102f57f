#include "runtime/control/verdict/failure_agreement.h"

#include <gtest/gtest.h>

#include "trace/nanoseconds.h"

namespace pipetrace {
namespace {

TEST(Beat, TakesLongerFrom25RanksOnAndAtMostASecond) {
  EXPECT_EQ(beatOf(1), 100 * kNsPerMs);
  EXPECT_EQ(beatOf(25), 100 * kNsPerMs);
  EXPECT_EQ(beatOf(75), 300 * kNsPerMs);
  EXPECT_EQ(beatOf(200), 800 * kNsPerMs);
  EXPECT_EQ(beatOf(250), kNsPerSecond);
  EXPECT_EQ(beatOf(65534), kNsPerSecond);
}

TEST(Beat, TheShortestBeatLeavesTheLimitsAsTheyAre) {
  for (const Nanoseconds beat : {20 * kNsPerMs, 100 * kNsPerMs}) {
    const FailureLimits limits = limitsAt(beat, {.silence = 700 * kNsPerMs});
    EXPECT_EQ(limits.settle, 300 * kNsPerMs);
    EXPECT_EQ(limits.alone, 800 * kNsPerMs);
    EXPECT_EQ(limits.lostPeer, 1500 * kNsPerMs);
    EXPECT_EQ(limits.stall.silence, kNsPerSecond);
    EXPECT_EQ(limits.silence, 700 * kNsPerMs);
  }
}

TEST(Beat, ALongerBeatLeavesAsMuchTimeBesideIt) {
  struct Case {
    int ranks;
    Nanoseconds settle, alone, lostPeer, old;
  };
  // 200 ms beside a beat; 400 ms beside that and another beat; 700 ms more; five beats.
  for (const Case& one : {Case{75, 500, 1200, 1900, 1500}, Case{200, 1000, 2200, 2900, 4000},
                          Case{250, 1200, 2600, 3300, 5000}}) {
    const FailureLimits limits = limitsAt(beatOf(one.ranks), {});
    EXPECT_EQ(limits.settle, one.settle * kNsPerMs) << one.ranks;
    EXPECT_EQ(limits.alone, one.alone * kNsPerMs) << one.ranks;
    EXPECT_EQ(limits.lostPeer, one.lostPeer * kNsPerMs) << one.ranks;
    EXPECT_EQ(limits.stall.silence, one.old * kNsPerMs) << one.ranks;
    EXPECT_EQ(limits.silence, 8 * kNsPerSecond) << one.ranks;
  }
}

TEST(Beat, NoRankIsSilentAfterFewerThanFiveBeats) {
  EXPECT_EQ(limitsAt(kNsPerSecond, {.silence = 2 * kNsPerSecond}).silence, 5 * kNsPerSecond);
  EXPECT_EQ(limitsAt(kNsPerSecond, {.silence = 0}).silence, 0) << "no limit stays none";
}

TEST(Beat, InATreeOfManyLevelsARankMayBeSilentForLongerBeforeItCountsAsStalled) {
  const FailureLimits usual;
  const FailureLimits limits = limitsInTree(500 * kNsPerMs, 4, usual);
  EXPECT_EQ(limits.stall.silence, 10 * kNsPerSecond) << "5 beats for each of 4 levels";
  EXPECT_EQ(limits.silence, usual.silence);
  EXPECT_GT(limits.alone, limits.settle);
  EXPECT_GT(limits.lostPeer, limits.alone);
}

}  // namespace
}  // namespace pipetrace
