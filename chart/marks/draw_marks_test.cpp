#include "chart/marks/draw_marks.h"

#include <gmock/gmock.h>

#include "chart/draw/svg_canvas.h"
#include "chart/testing/timelines.h"
#include "chart/testing/xml_check.h"

namespace pipetrace {
namespace {

class DrawMarksTest : public testing::Test {
 protected:
  std::vector<XmlElement> drawn(const std::vector<ChartMark>& marks, int height = 400) {
    SvgCanvas canvas(1200, 500, "test");
    drawMarks(canvas, {model_, layout_, axis_, {100, 50, 1000, height}, 0}, marks);
    return parseXml(canvas.finish());
  }
  static std::vector<std::string> textsOf(const std::vector<XmlElement>& elements) {
    std::vector<std::string> texts;
    for (const XmlElement& e : elements) {
      if (e.name == "text") texts.push_back(e.text);
    }
    return texts;
  }
  ChartMark atTime(Nanoseconds ms, const char* text) const {
    return {.begin = kTestEpoch + ms * kNsPerMs, .end = kTestEpoch + ms * kNsPerMs, .text = text};
  }

  Timeline timeline_ = makeTestTimeline({.ranks = 3, .steps = 1});
  ChartModel model_{timeline_};
  RowLayout layout_{model_.rows(), RowHeights{}};
  TimeAxis axis_{kTestEpoch, kTestEpoch + 1000 * kNsPerMs, 1000};
};

TEST_F(DrawMarksTest, ATimeHasALineAndItsTextOnAFlag) {
  const auto elements = drawn({atTime(200, "garbage collection")});
  EXPECT_THAT(textsOf(elements), testing::ElementsAre("garbage collection"));
  const auto line = std::find_if(elements.begin(), elements.end(), [](const XmlElement& e) {
    return !e.attribute("stroke-dasharray").empty();
  });
  ASSERT_NE(line, elements.end());
  const int x = 100 + axis_.xOf(kTestEpoch + 200 * kNsPerMs);
  EXPECT_THAT(line->attribute("d"), testing::StartsWith("M" + std::to_string(x) + ".5 50"));
}

TEST_F(DrawMarksTest, AnEventHasAFrameInItsRow) {
  const Event& job = timeline_.findTrack(1, kComputeLane)->events[3];
  const auto elements =
      drawn({{.begin = job.begin, .end = job.end, .rank = 1, .lane = "compute", .text = "slow"}});
  const std::string top = std::to_string(50 + layout_[3].top);
  const bool hasFrame = std::any_of(elements.begin(), elements.end(), [&](const XmlElement& e) {
    return e.name == "rect" && e.attribute("y") == top && e.attribute("height") == "2";
  });
  EXPECT_TRUE(hasFrame);
  EXPECT_THAT(textsOf(elements), testing::ElementsAre("slow"));
}

TEST_F(DrawMarksTest, FlagsOfTimesThatLieCloseTogetherAreBelowEachOther) {
  const auto elements = drawn({atTime(205, "second"), atTime(200, "first")});
  std::vector<std::string> heights;
  for (const XmlElement& e : elements) {
    if (e.name == "text") heights.push_back(e.attribute("y"));
  }
  ASSERT_EQ(heights.size(), 2U);
  EXPECT_NE(heights[0], heights[1]);
  EXPECT_EQ(textsOf(elements).front(), "first");
}

TEST_F(DrawMarksTest, MarksOutOfViewAndOfRanksThatAreNotThereAreNotDrawn) {
  EXPECT_THAT(textsOf(drawn({atTime(-500, "before"),
                             atTime(2000, "after"),
                             {.begin = kTestEpoch, .end = kTestEpoch, .rank = 9, .text = "x"}})),
              testing::IsEmpty());
}

}  // namespace
}  // namespace pipetrace
