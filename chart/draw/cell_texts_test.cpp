// Tests what is written on the jobs of a picture.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "chart/draw/svg_canvas.h"
#include "chart/testing/timelines.h"
#include "chart/testing/xml_check.h"

namespace pipetrace {
namespace {

/// A rank with forwards of 1 ms, among which every eighth takes 40 ms, and a recv lane.
Timeline jobsOfTwoLengths(int count) {
  Timeline timeline;
  Nanoseconds begin = 0;
  for (int i = 0; i < count; ++i) {
    const Nanoseconds length = (i % 8 == 0 ? 40 : 1) * kNsPerMs;
    timeline.track(0, kComputeLane)
        .events.push_back({.begin = begin,
                           .end = begin + length,
                           .microBatch = i,
                           .stage = 3,
                           .kind = JobKind::kForward});
    timeline.track(0, kRecvLane)
        .events.push_back({.begin = begin,
                           .end = begin + length,
                           .microBatch = i,
                           .kind = JobKind::kRecvForward});
    begin += length;
  }
  return timeline;
}

/// The texts of jobs' cells.
std::map<std::string, int> cellTexts(const ChartModel& model, int width) {
  std::map<std::string, int> found;
  for (const XmlElement& e : parseXml(renderSvg(model, {.width = width}))) {
    const bool isCell = e.name == "text" && e.attribute("text-anchor") == "middle" &&
                        e.attribute("font-weight") != "bold" && !e.text.ends_with("s");
    if (isCell) ++found[e.text];
  }
  found.erase("0");  // also a time of the axis
  return found;
}

TEST(CellTextsTest, AWideJobIsLabelledAlthoughItsLikeAreNarrow) {
  const Timeline timeline = jobsOfTwoLengths(64);
  const ChartModel model(timeline);
  const auto wide = cellTexts(model, 1600);
  EXPECT_EQ(wide.size(), 8U) << "only jobs of 40 ms, and no transfers";
  for (int i = 0; i < 64; i += 8) EXPECT_TRUE(wide.contains("3F" + std::to_string(i))) << i;
  const auto middling = cellTexts(model, 400);
  EXPECT_TRUE(middling.contains("56")) << "where the action has no room, the number has";
  EXPECT_FALSE(middling.contains("3F56"));
}

TEST(CellTextsTest, CellsOfOneWidthHaveLabelsOfOneForm) {
  Timeline timeline;
  for (int i = 0; i < 40; ++i) {
    timeline.track(0, kComputeLane)
        .events.push_back({.begin = i * kNsPerMs,
                           .end = (i + 1) * kNsPerMs,
                           .microBatch = i / 2,
                           .stage = i % 3,
                           .kind = i % 2 == 0 ? JobKind::kBackwardInput  // narrow and wide letters
                                              : JobKind::kBackwardWeight});
  }
  const ChartModel model(timeline);
  bool hasActions = false;
  bool hasNumbers = false;
  for (int width = 1000; width < 2600; width += 40) {
    int actions = 0;
    int numbers = 0;
    for (const auto& [text, count] : cellTexts(model, width)) {
      const bool isAction = text.find_first_of("IW") != std::string::npos;
      (isAction ? actions : numbers) += count;
    }
    // Cells differ by a pixel, so there may be some of each only where the form changes.
    hasActions = hasActions || numbers == 0;
    hasNumbers = hasNumbers || actions == 0;
    const bool isBetween = actions > 0 && numbers > 0;
    EXPECT_FALSE(isBetween && hasActions) << "wider cells have actions, too, at " << width;
  }
  EXPECT_TRUE(hasActions && hasNumbers) << "both sides of the threshold were seen";
}

TEST(CellTextsTest, NoLabelIsWiderThanItsCell) {
  const Timeline timeline = makeTestTimeline({.ranks = 4, .microBatches = 12, .steps = 2});
  const ChartModel model(timeline);
  SvgCanvas measure(1, 1, "");
  for (int width = 400; width < 3000; width += 130) {
    std::vector<XmlElement> cells;
    std::size_t texts = 0;
    for (const XmlElement& e : parseXml(renderSvg(model, {.width = width}))) {
      if (e.name == "rect") cells.push_back(e);
      if (e.name != "text" || e.attribute("text-anchor") != "middle") continue;
      const int x = std::stoi(e.attribute("x"));
      const int y = std::stoi(e.attribute("y"));
      const int size = std::stoi(e.attribute("font-size"));
      // The last rectangle at that point is the one that is seen.
      const auto cell = std::find_if(cells.rbegin(), cells.rend(), [&](const XmlElement& rect) {
        const PixelRect place{std::stoi(rect.attribute("x")), std::stoi(rect.attribute("y")),
                              std::stoi(rect.attribute("width")),
                              std::stoi(rect.attribute("height"))};
        return place.contains(x, y - size / 2);
      });
      ASSERT_NE(cell, cells.rend());
      EXPECT_LE(measure.textWidth(e.text, {.size = size}), std::stoi(cell->attribute("width")))
          << e.text << " at " << width;
      ++texts;
    }
    EXPECT_GE(texts, 3U);
  }
}

TEST(CellTextsTest, NumbersGetSmallerBeforeTheyAreLeftOut) {
  Timeline timeline;
  for (int i = 0; i < 30; ++i) {
    const Nanoseconds begin = i * 11 * kNsPerMs;
    timeline.track(0, kComputeLane)
        .events.insert(
            timeline.track(0, kComputeLane).events.end(),
            {{.begin = begin, .end = begin + kNsPerMs, .microBatch = i, .kind = JobKind::kForward},
             {.begin = begin + kNsPerMs,
              .end = begin + 11 * kNsPerMs,
              .microBatch = i,
              .kind = JobKind::kBackward}});
  }
  const ChartModel model(timeline);
  std::string smallest = "none";
  for (int width = 900; smallest == "none" && width > 320; width -= 10) {
    std::map<std::string, int> sizes;
    for (const XmlElement& e : parseXml(renderSvg(model, {.width = width}))) {
      if (e.name == "text" && e.text.ends_with("29")) ++sizes[e.attribute("font-size")];
    }
    if (sizes.empty()) break;
    ASSERT_EQ(sizes.size(), 1U);
    if (sizes.begin()->first == "9") smallest = "9";
  }
  EXPECT_EQ(smallest, "9") << "forwards are too short at any size and do not count";
}

}  // namespace
}  // namespace pipetrace
