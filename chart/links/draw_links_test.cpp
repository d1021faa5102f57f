#include "chart/links/draw_links.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "chart/draw/draw_chart.h"
#include "chart/draw/svg_canvas.h"
#include "chart/links/draw_path.h"
#include "chart/links/link_colors.h"
#include "chart/testing/xml_check.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Of "#4c78a8".
Color parseHex(const std::string& text) {
  unsigned red = 0;
  unsigned green = 0;
  unsigned blue = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "#%2x%2x%2x", &red, &green, &blue), 3) << text;
  return {static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
          static_cast<std::uint8_t>(blue)};
}

/// Four ranks with one forward each: rank r from 10 r to 10 r + 10 ms. A pixel is a millisecond,
/// and rows are 38 pixels high, 12 apart,
/// the first 6 below the top.
class LinksTest : public testing::Test {
 protected:
  LinksTest()
      : timeline_(makeTimeline()), model_(timeline_), layout_(model_.rows(), RowHeights{}) {}

  static Timeline makeTimeline() {
    Timeline timeline;
    for (int rank = 0; rank < 4; ++rank) {
      timeline.track(rank, kComputeLane).events = {{.begin = rank * 10 * kNsPerMs,
                                                    .end = (rank + 1) * 10 * kNsPerMs,
                                                    .job = 1,
                                                    .microBatch = 5,
                                                    .stage = rank,
                                                    .kind = JobKind::kForward}};
    }
    timeline.sort();
    return timeline;
  }

  EventSpot spot(std::size_t rank) const { return {rank, &model_.rows()[rank].lanes[0][0]}; }

  ChartView view(int height, int scrollY = 0) const {
    return {model_, layout_, axis_, {100, 50, 40, height}, scrollY};
  }

  template <typename Draw>
  static std::vector<XmlElement> drawn(const Draw& draw) {
    SvgCanvas canvas(400, 400, "test");
    draw(canvas);
    std::vector<XmlElement> elements = parseXml(canvas.finish());
    // The pattern of the hatching has a path, too.
    std::erase_if(elements, [](const XmlElement& e) {
      return e.name == "path" && e.attribute("d").find("l3 -3") != std::string::npos;
    });
    return elements;
  }

  /// The points of paths of that colour; `name`: "stroke" or "fill".
  static std::vector<std::vector<PixelPoint>> paths(const std::vector<XmlElement>& elements,
                                                    const char* name, Color color) {
    std::vector<std::vector<PixelPoint>> found;
    for (const XmlElement& e : elements) {
      if (e.name != "path" || e.attribute(name) != toHex(color)) continue;
      std::string data = e.attribute("d");
      std::replace_if(
          data.begin(), data.end(),
          [](char c) { return c == 'M' || c == 'L' || c == 'C' || c == 'Z'; }, ' ');
      std::istringstream numbers(data);
      std::vector<PixelPoint>& points = found.emplace_back();
      for (PixelPoint point; numbers >> point.x >> point.y;) points.push_back(point);
    }
    return found;
  }

  static std::vector<std::string> texts(const std::vector<XmlElement>& elements) {
    std::vector<std::string> found;
    for (const XmlElement& e : elements) {
      if (e.name == "text") found.push_back(e.text);
    }
    return found;
  }

  Timeline timeline_;
  ChartModel model_;
  RowLayout layout_;
  LinkColors colors_ = linkColorsOf(model_);
  TimeAxis axis_{0, 40 * kNsPerMs, 40};
};

TEST_F(LinksTest, AnArrowLeadsFromWhereAJobEndsToWhereTheNextBegins) {
  const JobLink link{spot(0), spot(1), LinkKind::kDirect};
  const auto elements = drawn([&](Canvas& canvas) { drawLinks(canvas, view(200), {&link, 1}); });
  const auto lines = paths(elements, "stroke", colors_.ink);
  ASSERT_THAT(lines, SizeIs(1));
  // Rank 0 is at pixels 100 to 110 by 56 to 94; rank 1 begins at 110 by 106.
  EXPECT_NEAR(lines[0].front().x, 108, 4);
  EXPECT_NEAR(lines[0].front().y, 94, 1);
  const auto heads = paths(elements, "fill", colors_.ink);
  ASSERT_THAT(heads, SizeIs(1));
  EXPECT_NEAR(heads[0].front().x, 112, 4) << "the tip";
  EXPECT_NEAR(heads[0].front().y, 106, 1);
  EXPECT_THAT(texts(elements), IsEmpty());
}

TEST_F(LinksTest, AnArrowToARowBelowTheViewEndsAtTheEdgeAndNamesTheJob) {
  const JobLink link{spot(0), spot(3), LinkKind::kDirect};
  const auto elements = drawn([&](Canvas& canvas) { drawLinks(canvas, view(60), {&link, 1}); });
  const auto heads = paths(elements, "fill", colors_.ink);
  ASSERT_THAT(heads, SizeIs(1));
  EXPECT_NEAR(heads[0].front().y, 110, 2) << "the lower edge of the view";
  // The view is too narrow for the note; in a wider one it is there.
  TimeAxis wide(0, 40 * kNsPerMs, 300);
  const ChartView wideView{model_, layout_, wide, {100, 50, 300, 60}, 0};
  EXPECT_THAT(texts(drawn([&](Canvas& canvas) {
                drawLinks(canvas, wideView, {&link, 1});
              })),
              ElementsAre("3F5 on rank 3"));
}

TEST_F(LinksTest, AnArrowBetweenRowsAboveTheViewIsNotDrawn) {
  const JobLink link{spot(0), spot(1), LinkKind::kDirect};
  const auto elements = drawn([&](Canvas& canvas) {
    drawLinks(canvas, view(60, 120), {&link, 1});
  });
  EXPECT_THAT(paths(elements, "stroke", colors_.ink), IsEmpty());
}

TEST_F(LinksTest, AnArrowToARowThatIsLeftOutEndsWhereTheRowWouldBe) {
  RowHeights heights;
  std::vector<ChartRow> rows = model_.rows();
  for (std::size_t i = 1; i < rows.size(); ++i) rows[i].isCompute = false;
  heights.lane = 0;
  const RowLayout folded(rows, heights);
  ASSERT_EQ(folded[1].height, 0);
  const ChartView view{model_, folded, axis_, {100, 50, 40, 200}, 0};
  EXPECT_EQ(boxOf(view, spot(1)).side, RowSide::kNotShown);
  const JobLink link{spot(0), spot(1), LinkKind::kChain};
  EXPECT_FALSE(drawn([&](Canvas& canvas) { drawLinks(canvas, view, {&link, 1}); }).empty());
}

TEST_F(LinksTest, EachPartOfAPathIsOutlinedAndAWaitIsDashed) {
  ChartPath path;
  path.parts = {{.spot = spot(0), .begin = 0, .end = 10 * kNsPerMs},
                {.spot = spot(1),
                 .begin = 15 * kNsPerMs,
                 .end = 20 * kNsPerMs,
                 .wait = 5 * kNsPerMs,
                 .waitWords = "late start"}};
  const std::vector<const ChartPath*> all = {&path};
  const auto elements = drawn([&](Canvas& canvas) { drawCriticalPath(canvas, view(200), all); });
  std::vector<std::string> tops;  // of the outlines
  for (const XmlElement& e : elements) {
    const bool isTop = e.attribute("fill") == toHex(colors_.path) &&
                       (e.attribute("y") == "56" || e.attribute("y") == "106");
    if (isTop) tops.push_back(e.attribute("x") + " + " + e.attribute("width"));
  }
  EXPECT_THAT(tops, ElementsAre("100 + 10", "115 + 5"));
  const auto isDashed = [](const XmlElement& e) {
    return !e.attribute("stroke-dasharray").empty();
  };
  const auto dashed = std::find_if(elements.begin(), elements.end(), isDashed);
  ASSERT_NE(dashed, elements.end());
  EXPECT_EQ(dashed->attribute("d"), "M110 139L115 139") << "near the lower edge of rank 1's row";
}

TEST_F(LinksTest, AJobWithMoreSlackIsPaler) {
  const auto slackOf = [](std::size_t row, const Event&) {
    return static_cast<Nanoseconds>(row) * 10 * kNsPerMs;
  };
  const auto elements = drawn([&](Canvas& canvas) { drawSlack(canvas, view(200), slackOf); });
  std::vector<double> veils;
  for (const XmlElement& e : elements) {
    const std::string opacity = e.attribute("fill-opacity");
    if (!opacity.empty()) veils.push_back(std::stod(opacity));
  }
  ASSERT_THAT(veils, SizeIs(3)) << "rank 0 has no slack";
  EXPECT_LT(veils[0], veils[1]);
  EXPECT_LT(veils[1], veils[2]);
  EXPECT_LT(veils[2], 1) << "the job can still be seen";
}

TEST_F(LinksTest, PalerJobsKeepTheNumbersThatJustFit) {
  const auto slackOf = [](std::size_t, const Event&) { return 5 * kNsPerMs; };
  const auto numbersIn = [](const std::vector<XmlElement>& elements) {
    std::vector<std::string> numbers;
    for (const XmlElement& e : elements) {
      if (e.name == "text" && e.text.find("slack") == std::string::npos) numbers.push_back(e.text);
    }
    return numbers;
  };
  std::size_t labelled = 0;
  for (int width = 40; width < 400; width += 3) {
    const TimeAxis axis(0, 40 * kNsPerMs, width);
    const ChartView seen{model_, layout_, axis, {100, 50, width, 200}, 0};
    const auto rows = numbersIn(drawn([&](Canvas& canvas) { drawRows(canvas, seen); }));
    EXPECT_EQ(numbersIn(drawn([&](Canvas& canvas) { drawSlack(canvas, seen, slackOf); })), rows)
        << width;
    labelled += rows.size();
  }
  EXPECT_GT(labelled, 100U);
}

TEST_F(LinksTest, NamesOfPalerJobsCanBeRead) {
  const auto slackOf = [](std::size_t row, const Event&) {
    return static_cast<Nanoseconds>(row) * 30 * kNsPerMs;
  };
  const TimeAxis axis(0, 40 * kNsPerMs, 2000);
  const ChartView wide{model_, layout_, axis, {100, 50, 2000, 200}, 0};
  SvgCanvas canvas(2200, 400, "test");
  drawSlack(canvas, wide, slackOf);
  const std::vector<XmlElement> elements = parseXml(canvas.finish());
  Color ground;
  int names = 0;
  for (const XmlElement& e : elements) {
    if (e.name == "rect") ground = parseHex(e.attribute("fill"));
    if (e.name != "text" || e.text.find("slack") != std::string::npos) continue;
    ++names;
    EXPECT_GE(contrast(parseHex(e.attribute("fill")), ground), 4.5) << e.text;
  }
  EXPECT_EQ(names, 3) << "rank 0 has no slack";
}

}  // namespace
}  // namespace pipetrace
