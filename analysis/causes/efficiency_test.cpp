#include "analysis/causes/efficiency.h"

#include <gtest/gtest.h>

#include "analysis/run_summary.h"
#include "analysis/testing/hand_made_timeline.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

using enum JobKind;

class CommunicationByHand : public testing::Test {
 protected:
  void add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, std::int32_t microBatch,
           std::string_view lane = kComputeLane) {
    made_.add(rank, kind, begin, end, 0, microBatch, lane).stage =
        isCompute(kind) || isTransfer(kind) ? rank : kNotGiven;
  }
  CommunicationTime communication(int threads = 1, std::size_t manyMessages = 100) {
    made_.timeline.sort();
    for (const Track& track : made_.timeline.tracks) {
      made_.timeline.ranks[track.rank].rank = track.rank;
    }
    Diagnostics diagnostics;
    completeTimeline(made_.timeline, diagnostics);
    const JobGraph graph(made_.timeline, topologyOf(made_.timeline));
    return communicationOf(made_.timeline, graph, {{0, {{0, 1000}}}}, threads, manyMessages);
  }

  HandMadeTimeline made_;
};

TEST_F(CommunicationByHand, AMessageCountsAtBothEndsFromTheLaterOfItsStarts) {
  add(0, kForward, 0, 10, 0);
  add(0, kForward, 10, 20, 1);
  add(0, kSendForward, 10, 14, 0, kSendLane);
  add(0, kSendForward, 20, 24, 1, kSendLane);
  add(1, kRecvForward, 0, 14, 0, kRecvLane);  // waits until 10
  add(1, kForward, 14, 23, 0);
  add(1, kRecvForward, 15, 24, 1, kRecvLane);  // waits until 20
  add(1, kForward, 24, 34, 1);
  const CommunicationTime time = communication();
  EXPECT_EQ(time.all, 4 * 4);
  // Rank 0: from 20. Rank 1: from 10 to 14, and from 23.
  EXPECT_EQ(time.exposed, 4 + 4 + 1);
  EXPECT_DOUBLE_EQ(time.overlap(), 7.0 / 16);
  EXPECT_EQ(communication(4).exposed, time.exposed);
}

TEST_F(CommunicationByHand, OverlapsOnARankCountOnce) {
  add(0, kForward, 0, 10, 0);
  add(0, kAllReduce, 5, 15, -1, "nccl");
  add(0, kAllGather, 8, 30, -1, "nccl 2");
  add(0, kBackward, 20, 25, 0);
  add(0, kBackward, 22, 28, 1);
  add(0, kOptimizer, 28, 40, -1);
  const CommunicationTime time = communication();
  EXPECT_EQ(time.all, 30 - 5);
  EXPECT_EQ(time.exposed, (20 - 10) + (30 - 28)) << "an optimizer is no compute job";
}

TEST_F(CommunicationByHand, MessagesThatThreadsShareCountAsThoseOfOne) {
  for (int m = 0; m < 16; ++m) {
    const Nanoseconds begin = 10 * m;
    add(0, kForward, begin, begin + 10, m);
    add(0, kSendForward, begin + 10, begin + 14, m, kSendLane);
    add(1, kRecvForward, begin + 10, begin + 14, m, kRecvLane);
    add(1, kForward, begin + 14, begin + 20, m);
  }
  for (const std::size_t manyMessages : {17, 16}) {
    const CommunicationTime time = communication(2, manyMessages);
    EXPECT_EQ(time.all, 2 * 4 * 16);
    EXPECT_EQ(time.exposed, 4 + 4 * 16) << "rank 0: after its last job; rank 1: all";
  }
}

TEST_F(CommunicationByHand, WithoutAnyNothingOverlaps) {
  add(0, kForward, 0, 10, 0);
  const CommunicationTime time = communication();
  EXPECT_EQ(time.all, 0);
  EXPECT_EQ(time.exposed, 0);
  EXPECT_EQ(time.overlap(), 0);
}

}  // namespace
}  // namespace pipetrace
