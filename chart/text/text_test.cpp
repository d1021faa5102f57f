#include <gtest/gtest.h>

#include "chart/draw/canvas.h"
#include "chart/draw/text_width.h"
#include "chart/text/cell_label.h"
#include "trace/log/log_format.h"
#include "trace/text/utf8.h"

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

TEST(CellLabelTest, JobsWithoutAMicroBatchShowTheirName) {
  const Event optimizer{.microBatch = 0, .kind = JobKind::kOptimizer};
  EXPECT_EQ(label(optimizer, LabelForm::kNumber, 100), "optimizer");
  EXPECT_EQ(label(optimizer, LabelForm::kNumber, 30), "opt");
  EXPECT_EQ(label(optimizer, LabelForm::kNumber, 20), "");
  EXPECT_EQ(label({.kind = JobKind::kBubble}, LabelForm::kNumber, 500), "");
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

TEST(ElidedTest, KeepsTheBeginningAndWholeCharacters) {
  const TextMeasure tenEach = [](std::string_view text, const TextStyle&) {
    int count = 0;
    for (; !text.empty(); ++count) takeCharacter(text);
    return 10 * count;
  };
  EXPECT_EQ(elided(tenEach, "stream", {}, 60), "stream");
  EXPECT_EQ(elided(tenEach, "stream", {}, 59), "stre…");
  EXPECT_EQ(elided(tenEach, "前向通信", {}, 30), "前向…");
  EXPECT_EQ(elided(tenEach, "stream", {}, 9), "");
}

TEST(WrappedTest, BreaksAtSpacesAndElidesOnlyTheLastLine) {
  const TextMeasure tenEach = [](std::string_view text, const TextStyle&) {
    int count = 0;
    for (; !text.empty(); ++count) takeCharacter(text);
    return 10 * count;
  };
  using Lines = std::vector<std::string>;
  const std::string text = "1F1B, 4 ranks, 8 jobs";
  EXPECT_EQ(wrapped(tenEach, text, {}, 210, 3), Lines{text});
  EXPECT_EQ(wrapped(tenEach, text, {}, 140, 3), (Lines{"1F1B, 4 ranks,", "8 jobs"}));
  EXPECT_EQ(wrapped(tenEach, text, {}, 80, 3), (Lines{"1F1B, 4", "ranks, 8", "jobs"}));
  EXPECT_EQ(wrapped(tenEach, text, {}, 80, 2), (Lines{"1F1B, 4", "ranks, …"}));
  EXPECT_EQ(wrapped(tenEach, text, {}, 140, 1), Lines{"1F1B, 4 ranks…"});
  EXPECT_EQ(wrapped(tenEach, "a longestword b", {}, 50, 9), (Lines{"a", "long…"}));
  EXPECT_EQ(wrapped(tenEach, "", {}, 50, 3), Lines{});
}

TEST(TextWidthTest, GrowsWithTextSizeAndWeight) {
  const int normal = estimatedTextWidth("rank 0", {.size = 12});
  EXPECT_GT(normal, 24);
  EXPECT_LT(normal, 60);
  EXPECT_GT(estimatedTextWidth("rank 0", {.size = 12, .bold = true}), normal);
  EXPECT_GT(estimatedTextWidth("rank 0", {.size = 18}), normal);
  EXPECT_GT(estimatedTextWidth("前前", {.size = 12}), estimatedTextWidth("ii", {.size = 12}));
}

}  // namespace
}  // namespace pipetrace
