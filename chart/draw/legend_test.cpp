#include "chart/draw/legend.h"

#include <gtest/gtest.h>

#include "chart/testing/timelines.h"

namespace pipetrace {
namespace {

TEST(LegendTest, NamesEachKindThatOccursOnce) {
  const Timeline timeline = makeTestTimeline({});
  std::vector<std::string> labels;
  for (const LegendEntry& entry : legendOf(timeline)) labels.push_back(entry.label);
  EXPECT_EQ(labels,
            (std::vector<std::string>{"lr", "forward", "backward", "optimizer", "send forward",
                                      "recv forward", "send backward", "recv backward", "bubble"}));
}

TEST(LegendTest, NamesEachClassOfBubblesThatOccurs) {
  Timeline timeline;
  for (const BubbleClass bubbleClass : {BubbleClass::kUnknown, BubbleClass::kPeerWait,
                                        BubbleClass::kWarmUp, BubbleClass::kPeerWait}) {
    timeline.track(0, kBubbleLane)
        .events.push_back({.kind = JobKind::kBubble, .bubbleClass = bubbleClass});
  }
  const auto legend = legendOf(timeline);
  std::vector<std::string> labels;
  for (const LegendEntry& entry : legend) labels.push_back(entry.label);
  ASSERT_EQ(labels, (std::vector<std::string>{"bubbles:", "warm up", "peer wait", "unknown"}));
  EXPECT_TRUE(legend[0].isHeading);
  EXPECT_EQ(legend[1].bubbleClass, BubbleClass::kWarmUp);
  EXPECT_EQ(legend[2].bubbleClass, BubbleClass::kPeerWait);
  EXPECT_EQ(legend[3].bubbleClass, BubbleClass::kUnknown);
  EXPECT_EQ(chunksOf(legend), 1);
}

TEST(LegendTest, ShowsTheFirstAndTheLastChunkOfInterleavedRuns) {
  Timeline timeline;
  for (int chunk = 0; chunk < 3; ++chunk) {
    timeline.track(0, kComputeLane)
        .events.push_back({.chunk = static_cast<std::int16_t>(chunk), .kind = JobKind::kForward});
  }
  const auto legend = legendOf(timeline);
  ASSERT_EQ(legend.size(), 2U);
  EXPECT_EQ(legend[0].label, "forward");
  EXPECT_EQ(legend[1].label, "forward, chunk 2");
  EXPECT_EQ(legend[0].chunk, 0);
  EXPECT_EQ(legend[1].chunk, 2);
  EXPECT_EQ(chunksOf(legend), 3);
}

}  // namespace
}  // namespace pipetrace
