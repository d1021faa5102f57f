#include "parser/chrome_flows.h"

#include <gmock/gmock.h>

#include "parser/test_timelines.h"
#include "trace/display_name.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Event& add(Timeline& t, int rank, const char* lane, JobKind kind, int begin, int end, int mb = 0,
           int step = 0) {
  Event& e = t.track(rank, lane).events.emplace_back();
  e.kind = kind;
  e.begin = begin;
  e.end = end;
  e.microBatch = mb;
  e.step = step;
  e.stage = rank;
  return e;
}

/// "0 forward 0 -> 0 send_forward 0": rank and name at both ends.
std::vector<std::string> arrows(Timeline& t) {
  t.sort();
  const auto text = [&](ChromeArrow::Slice s) {
    const Track& track = t.tracks[s.track];
    return std::to_string(track.rank) + " " + displayName(t, track.events[s.event]);
  };
  std::vector<std::string> list;
  for (const ChromeArrow& arrow : findArrows(t)) {
    EXPECT_GT(t.tracks[arrow.to.track].events[arrow.to.event].begin,
              t.tracks[arrow.from.track].events[arrow.from.event].begin);
    list.push_back(text(arrow.from) + " -> " + text(arrow.to));
  }
  return list;
}

TEST(ChromeFlowsTest, AMicroBatchGoesForwardThroughTheStagesAndBack) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 10);
  add(t, 0, "send", JobKind::kSendForward, 10, 12);
  add(t, 1, "recv", JobKind::kRecvForward, 11, 12);
  add(t, 1, "compute", JobKind::kForward, 12, 22);
  add(t, 1, "compute", JobKind::kBackward, 22, 42);
  add(t, 1, "send", JobKind::kSendBackward, 42, 44);
  add(t, 0, "compute", JobKind::kBackward, 44, 64);
  EXPECT_THAT(
      arrows(t),
      ElementsAre("0 forward 0 -> 0 send_forward 0", "0 send_forward 0 -> 1 recv_forward 0",
                  "1 recv_forward 0 -> 1 forward 0", "1 forward 0 -> 1 backward 0",
                  "1 backward 0 -> 1 send_backward 0", "1 send_backward 0 -> 0 backward 0"));
}

TEST(ChromeFlowsTest, AReceiveThatWasPostedEarlyIsNoLink) {
  Timeline t;
  add(t, 1, "recv", JobKind::kRecvForward, 1, 12);
  add(t, 0, "compute", JobKind::kForward, 0, 10);
  add(t, 0, "send", JobKind::kSendForward, 10, 12);
  add(t, 1, "compute", JobKind::kForward, 12, 22);
  EXPECT_THAT(arrows(t),
              ElementsAre("0 forward 0 -> 0 send_forward 0", "0 send_forward 0 -> 1 forward 0"));
}

TEST(ChromeFlowsTest, StepsMicroBatchesAndReplicasAreChainsOfTheirOwn) {
  Timeline t;
  for (int rank = 0; rank < 4; ++rank) {
    t.ranks[rank].dataParallelIndex = rank / 2;
    for (int step = 0; step < 2; ++step) {
      for (int mb = 0; mb < 2; ++mb) {
        const int begin = step * 100 + mb * 10 + rank * 20;
        add(t, rank, "compute", JobKind::kForward, begin, begin + 10, mb, step);
      }
    }
  }
  EXPECT_EQ(arrows(t).size(), 8U);  // 2 replicas, 2 steps, 2 micro-batches, one arrow each
}

TEST(ChromeFlowsTest, WeightGradientsAndWhatHasNoMicroBatchAreNoLinks) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 10);
  add(t, 0, "compute", JobKind::kBackwardInput, 10, 20);
  add(t, 0, "compute", JobKind::kBackwardWeight, 20, 30);
  add(t, 0, "compute", JobKind::kOptimizer, 30, 40);
  add(t, 0, "compute", JobKind::kForward, 40, 50, kNotGiven);
  add(t, 0, "compute", JobKind::kForward, 50, 60, 0, kNotGiven);
  EXPECT_THAT(arrows(t), ElementsAre("0 forward 0 -> 0 backward_input 0"));
}

TEST(ChromeFlowsTest, OfEventsThatBeginTogetherOneIsALink) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 5, 5);
  add(t, 0, "send", JobKind::kSendForward, 5, 7);
  add(t, 1, "compute", JobKind::kForward, 7, 9);
  EXPECT_THAT(arrows(t), ElementsAre("0 forward 0 -> 1 forward 0"));
}

TEST(ChromeFlowsTest, AMissingStageLeavesTheRestOfItsChain) {
  Timeline t;
  add(t, 0, "compute", JobKind::kForward, 0, 10);
  add(t, 2, "compute", JobKind::kForward, 30, 40);
  EXPECT_THAT(arrows(t), ElementsAre("0 forward 0 -> 2 forward 0"));
  Timeline single;
  add(single, 0, "compute", JobKind::kForward, 0, 10);
  EXPECT_THAT(arrows(single), IsEmpty());
}

TEST(ChromeFlowsTest, EveryArrowOf1F1BStaysInItsStepAndMicroBatch) {
  const Timeline t = test::oneFOneB(4, 8, 3);
  const auto eventOf = [&](ChromeArrow::Slice s) { return t.tracks[s.track].events[s.event]; };
  const auto list = findArrows(t);
  // Forward and send on 3 ranks, forward on the last, the same back: 14 links at least.
  EXPECT_GE(list.size(), 3U * 8U * 13U);
  for (const ChromeArrow& arrow : list) {
    const Event from = eventOf(arrow.from);
    const Event to = eventOf(arrow.to);
    EXPECT_EQ(from.step, to.step);
    EXPECT_EQ(from.microBatch, to.microBatch);
    EXPECT_GT(to.begin, from.begin);
  }
}

}  // namespace
}  // namespace pipetrace
