#include "chart/text/cell_label.h"

#include <gtest/gtest.h>

#include "trace/event_arguments.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

int sevenPixelsEach(std::string_view text) { return 7 * static_cast<int>(text.size()); }

std::string label(const Event& event, int width) {
  return cellLabel(Timeline(), event, width, sevenPixelsEach);
}

TEST(CellLabelTest, TheActionIsWrittenWhereItFitsElseTheMicroBatch) {
  const Event forward{.microBatch = 13, .stage = 2, .kind = JobKind::kForward};
  EXPECT_EQ(label(forward, 4 * 7 + 6), "2F13");
  EXPECT_EQ(label(forward, 4 * 7 + 5), "13");
  EXPECT_EQ(label(forward, 16), "13");
  EXPECT_EQ(label(forward, 15), "");
  EXPECT_EQ(label({.microBatch = 13, .kind = JobKind::kBackwardInput}, 100), "I13");
}

TEST(CellLabelTest, AnActionIsWrittenOnlyWhereTheWidestOneWouldFit) {
  const Event forward{.microBatch = 3, .stage = 2, .kind = JobKind::kForward};
  const auto labelWith = [&](int width) {
    return cellLabel(Timeline(), forward, width, sevenPixelsEach, 5 * 7);
  };
  EXPECT_EQ(labelWith(5 * 7 + 6), "2F3");
  EXPECT_EQ(labelWith(5 * 7 + 5), "3") << "a job of this width may be another's 2W13";
}

TEST(CellLabelTest, JobsWithoutAMicroBatchAreLabelledByName) {
  const Event optimizer{.microBatch = 0, .kind = JobKind::kOptimizer};
  EXPECT_EQ(label(optimizer, 100), "optimizer");
  EXPECT_EQ(label(optimizer, 30), "opt");
  EXPECT_EQ(label(optimizer, 20), "");
  EXPECT_EQ(label({.kind = JobKind::kBubble}, 500), "");
  EXPECT_EQ(label({.kind = JobKind::kCheckpoint}, 40), "ckpt") << "the row of its kind says so";
}

TEST(CellLabelTest, BubblesAreLabelledByClassLengthAndCulprit) {
  Timeline timeline;
  Event bubble{.end = 3'214'000,
               .peer = 2,
               .kind = JobKind::kBubble,
               .bubbleClass = BubbleClass::kImbalance};
  const auto fitting = [&](int width) {
    return cellLabel(timeline, bubble, width, sevenPixelsEach);
  };
  EXPECT_EQ(fitting(500), "imbalance 3.2 ms, rank 2");
  const Argument culprit = Argument::ofText(timeline.strings.intern(bubble_arguments::kCulprit),
                                            timeline.strings.intern("2F5"));
  timeline.setArguments(bubble, {&culprit, 1});
  EXPECT_EQ(fitting(500), "imbalance 3.2 ms, 2F5 on rank 2");
  EXPECT_EQ(fitting(31 * 7 + 1), "imbalance, 2F5 on rank 2");
  EXPECT_EQ(fitting(24 * 7 + 1), "imbalance 3.2 ms");
  EXPECT_EQ(fitting(16 * 7 + 1), "imbalance");
  EXPECT_EQ(fitting(9 * 7 + 1), "");
  bubble.peer = kNotGiven;
  bubble.argumentCount = 0;
  bubble.bubbleClass = BubbleClass::kWarmUp;
  EXPECT_EQ(fitting(500), "warm up 3.2 ms");
  bubble.bubbleClass = BubbleClass::kUnknown;
  EXPECT_EQ(fitting(500), "unknown 3.2 ms");
}

TEST(CellLabelTest, FusedPairsShowBothNumbers) {
  Timeline timeline;
  Event pair{.microBatch = 7, .kind = JobKind::kForwardBackward};
  const Argument action = Argument::ofText(timeline.strings.intern(log_format::kAction),
                                           timeline.strings.intern("(0F7;5B13)OVERLAP_F_B"));
  timeline.setArguments(pair, {&action, 1});
  const auto fitting = [&](int width) { return cellLabel(timeline, pair, width, sevenPixelsEach); };
  EXPECT_EQ(fitting(8 * 7 + 2), "0F7 5B13");
  EXPECT_EQ(fitting(44), "7 + 13");
  EXPECT_EQ(fitting(43), "7+13");
  EXPECT_EQ(fitting(29), "7");
}

}  // namespace
}  // namespace pipetrace
