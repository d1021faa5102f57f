#include "chart/text/cell_label.h"

#include <gtest/gtest.h>

#include "trace/bubble_arguments.h"
#include "trace/log/log_format.h"

namespace pipetrace {
namespace {

int sevenPixelsEach(std::string_view text) { return 7 * static_cast<int>(text.size()); }

std::string label(const Event& event, LabelForm form, int width) {
  return cellLabel(Timeline(), event, form, width, sevenPixelsEach);
}

TEST(CellLabelTest, TheLongestFormThatFitsIsWritten) {
  const Event forward{.microBatch = 13, .kind = JobKind::kForward};
  EXPECT_EQ(label(forward, LabelForm::kLetterAndNumber, 23), "F13");
  EXPECT_EQ(label(forward, LabelForm::kLetterAndNumber, 22), "13");
  EXPECT_EQ(label(forward, LabelForm::kNumber, 100), "13");
  EXPECT_EQ(label(forward, LabelForm::kNumber, 15), "");
}

TEST(CellLabelTest, JobsWithoutAMicroBatchAreLabelledByName) {
  const Event optimizer{.microBatch = 0, .kind = JobKind::kOptimizer};
  EXPECT_EQ(label(optimizer, LabelForm::kNumber, 100), "optimizer");
  EXPECT_EQ(label(optimizer, LabelForm::kNumber, 30), "opt");
  EXPECT_EQ(label(optimizer, LabelForm::kNumber, 20), "");
  EXPECT_EQ(label({.kind = JobKind::kBubble}, LabelForm::kNumber, 500), "");
}

TEST(CellLabelTest, BubblesAreLabelledByClassAndCulprit) {
  Timeline timeline;
  Event bubble{.peer = 2, .kind = JobKind::kBubble, .bubbleClass = BubbleClass::kImbalance};
  const auto fitting = [&](int width) {
    return cellLabel(timeline, bubble, LabelForm::kNumber, width, sevenPixelsEach);
  };
  EXPECT_EQ(fitting(500), "imbalance, rank 2");
  const Argument culprit = Argument::ofText(timeline.strings.intern(bubble_arguments::kCulprit),
                                            timeline.strings.intern("2F5"));
  timeline.setArguments(bubble, {&culprit, 1});
  EXPECT_EQ(fitting(500), "imbalance, 2F5 on rank 2");
  EXPECT_EQ(fitting(24 * 7 + 1), "imbalance, 2F5");
  EXPECT_EQ(fitting(14 * 7 + 1), "imbalance");
  EXPECT_EQ(fitting(9 * 7 + 1), "");
  bubble.peer = kNotGiven;
  bubble.argumentCount = 0;
  bubble.bubbleClass = BubbleClass::kWarmUp;
  EXPECT_EQ(fitting(500), "warm up");
  bubble.bubbleClass = BubbleClass::kUnknown;
  EXPECT_EQ(fitting(500), "") << "it is hatched";
}

TEST(CellLabelTest, FusedPairsShowBothNumbers) {
  Timeline timeline;
  Event pair{.microBatch = 7, .kind = JobKind::kForwardBackward};
  const Argument action = Argument::ofText(timeline.strings.intern(log_format::kAction),
                                           timeline.strings.intern("(0F7;5B13)OVERLAP_F_B"));
  timeline.setArguments(pair, {&action, 1});
  const auto fitting = [&](LabelForm form, int width) {
    return cellLabel(timeline, pair, form, width, sevenPixelsEach);
  };
  EXPECT_EQ(fitting(LabelForm::kLetterAndNumber, 44), "F7 B13");
  EXPECT_EQ(fitting(LabelForm::kNumber, 44), "7 + 13");
  EXPECT_EQ(fitting(LabelForm::kNumber, 43), "7+13");
  EXPECT_EQ(fitting(LabelForm::kNumber, 29), "7");
}

}  // namespace
}  // namespace pipetrace
