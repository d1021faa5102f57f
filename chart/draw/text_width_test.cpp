#include "chart/draw/text_width.h"

#include <gtest/gtest.h>

#include "chart/draw/canvas.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

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
