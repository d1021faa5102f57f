#include "chart/draw/svg_canvas.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "chart/testing/paper_colors.h"
#include "chart/testing/timelines.h"
#include "chart/testing/xml_check.h"
#include "trace/error.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Ge;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Le;
using testing::Not;
using testing::ThrowsMessage;

std::vector<std::string> textsOf(const std::vector<XmlElement>& elements) {
  std::vector<std::string> texts;
  for (const XmlElement& e : elements) {
    if (e.name == "text") texts.push_back(e.text);
  }
  return texts;
}

std::size_t countFilled(const std::vector<XmlElement>& elements, const std::string& fill,
                        int height) {
  return static_cast<std::size_t>(
      std::count_if(elements.begin(), elements.end(), [&](const XmlElement& e) {
        return e.name == "rect" && e.attribute("fill") == fill &&
               e.attribute("height") == std::to_string(height);
      }));
}

std::string groundOf(BubbleClass bubbleClass) {
  return toHex(kPaperTheme.hatchingOf(bubbleClass).ground);
}

TEST(SvgWriterTest, AStepIsDrawnJobByJobWithItsNumbers) {
  const Timeline timeline = makeTestTimeline({.ranks = 4, .microBatches = 8, .steps = 1});
  const auto elements = parseXml(renderSvg(timeline, {}));
  const RowHeights heights;
  EXPECT_EQ(
      countFilled(elements, toHex(kPaperColors.of({.kind = JobKind::kForward})), heights.compute),
      4U * 8U);
  EXPECT_EQ(
      countFilled(elements, toHex(kPaperColors.of({.kind = JobKind::kBackward})), heights.compute),
      4U * 8U);
  EXPECT_GT(countFilled(elements, groundOf(BubbleClass::kUnknown), heights.compute), 4U);
  const auto texts = textsOf(elements);
  EXPECT_THAT(texts, IsSupersetOf({"rank 0", "rank 3", "stage 3", "recv", "send", "step 0", "lr",
                                   "forward", "backward", "bubble", "0", "100 ms"}));
  EXPECT_THAT(texts, Contains("1F1B, 4 ranks, 8 micro-batches"));
  for (const char* action : {"0F7", "1F7", "2F7", "3F7", "3B0"}) {
    EXPECT_EQ(std::count(texts.begin(), texts.end(), action), 1) << action;
  }
}

TEST(SvgWriterTest, APictureCanHaveSomethingDrawnOverItsRows) {
  const Timeline timeline = makeTestTimeline({.steps = 1});
  const Color mark{1, 2, 3};
  PictureOptions options;
  options.overRows = [&](Canvas& canvas, const ChartView& view) {
    canvas.fill({view.xOf(view.model.steps()[0].begin), view.yOf(view.layout[0].top), 5, 7}, mark);
  };
  const auto elements = parseXml(renderSvg(timeline, options));
  const auto isMark = [&](const XmlElement& e) { return e.attribute("fill") == toHex(mark); };
  const auto found = std::find_if(elements.begin(), elements.end(), isMark);
  ASSERT_NE(found, elements.end());
  EXPECT_EQ(found->attribute("height"), "7");
  const auto isJob = [](const XmlElement& e) {
    return e.attribute("fill") == toHex(kPaperColors.of({.kind = JobKind::kBackward}));
  };
  EXPECT_TRUE(std::none_of(found, elements.end(), isJob)) << "it comes after all jobs";
}

/// A rank with a forward from 0 to 10 ms and an optimizer from 60 to 70 ms. Up to 50 ms there is
/// imbalance due to 2F5, then sync.
Timeline runWithClasses() {
  Timeline timeline;
  const auto ms = [](Nanoseconds time) { return time * kNsPerMs; };
  timeline.track(0, kComputeLane).events = {
      {.begin = 0, .end = ms(10), .microBatch = 0, .kind = JobKind::kForward},
      {.begin = ms(60), .end = ms(70), .microBatch = 0, .kind = JobKind::kOptimizer}};
  auto& bubbles = timeline.track(0, kBubbleLane).events;
  bubbles = {{.begin = ms(10),
              .end = ms(50),
              .peer = 2,
              .kind = JobKind::kBubble,
              .bubbleClass = BubbleClass::kImbalance},
             {.begin = ms(50),
              .end = ms(70),
              .kind = JobKind::kBubble,
              .bubbleClass = BubbleClass::kSync}};
  const Argument culprit = Argument::ofText(timeline.strings.intern(bubble_arguments::kCulprit),
                                            timeline.strings.intern("2F5"));
  timeline.setArguments(bubbles[0], {&culprit, 1});
  return timeline;
}

TEST(SvgWriterTest, BubblesAreHatchedInTheTintOfTheirClassAndNamed) {
  const Timeline timeline = runWithClasses();
  const auto elements = parseXml(renderSvg(timeline, {.width = 900}));
  const int full = RowHeights{}.compute;
  EXPECT_EQ(countFilled(elements, groundOf(BubbleClass::kImbalance), full), 1U);
  EXPECT_EQ(countFilled(elements, groundOf(BubbleClass::kSync), full), 1U);
  for (const BubbleClass hatched : {BubbleClass::kImbalance, BubbleClass::kSync}) {
    const Hatching hatching = kPaperTheme.hatchingOf(hatched);
    const std::string stroke = toHex(hatching.stroke);
    EXPECT_EQ(std::count_if(elements.begin(), elements.end(),
                            [&](const XmlElement& e) { return e.attribute("stroke") == stroke; }),
              2 * std::ssize(linesOf(hatching.pattern)))
        << "the bubble and the legend";
  }
  const auto texts = textsOf(elements);
  EXPECT_THAT(texts,
              IsSupersetOf({"bubbles:", "imbalance", "sync", "imbalance 40 ms, 2F5 on rank 2"}));
  EXPECT_THAT(texts, Not(Contains("drain"))) << "it does not occur";
}

TEST(SvgWriterTest, AnOptimizerLeavesAStripToItsBubbleAndCoversNoText) {
  const Timeline timeline = runWithClasses();
  const auto elements = parseXml(renderSvg(timeline, {.width = 900}));
  const int full = RowHeights{}.compute;
  const std::string color = toHex(kPaperColors.of({.kind = JobKind::kOptimizer}));
  EXPECT_EQ(countFilled(elements, color, full - full / 4), 1U);
  EXPECT_EQ(countFilled(elements, toHex(kPaperColors.of({.kind = JobKind::kForward})), full), 1U);
  int left = 0;
  int textAt = 0;
  for (const XmlElement& e : elements) {
    const bool isJob = e.name == "rect" && e.attribute("fill") == color;
    if (isJob && e.attribute("height") == std::to_string(full - full / 4)) {
      left = std::stoi(e.attribute("x"));
    }
    if (e.text == "sync 20 ms") textAt = std::stoi(e.attribute("x"));
  }
  SvgCanvas measure(1, 1, "");
  ASSERT_GT(textAt, 0);
  EXPECT_LE(textAt + measure.textWidth("sync 20 ms", {.size = 11}) / 2, left);
}

TEST(SvgWriterTest, TitleCaptionAndRangeAreThoseOfTheOptions) {
  const Timeline timeline = makeTestTimeline({.steps = 4});
  const ChartModel model(timeline);
  PictureOptions options;
  options.range = spanOfSteps(model.steps(), 2, 2);
  options.title = "Title <1> & \"2\"";
  options.caption = "step 2";
  const auto elements = parseXml(renderSvg(model, options));
  EXPECT_EQ(elements[1].name, "title");
  EXPECT_EQ(elements[1].text, options.title);
  EXPECT_THAT(textsOf(elements), IsSupersetOf({options.title, options.caption}));
  EXPECT_THAT(textsOf(elements), Contains("step 2"));
  EXPECT_THAT(textsOf(elements), Not(Contains("step 1")));
}

TEST(SvgWriterTest, TheSizeIsThatOfTheOptionsAndNothingSticksOut) {
  const Timeline timeline = makeTestTimeline({});
  const auto elements = parseXml(renderSvg(timeline, {.width = 900, .height = 700}));
  EXPECT_EQ(elements[0].attribute("width"), "900");
  EXPECT_EQ(elements[0].attribute("height"), "700");
  for (const XmlElement& e : elements) {
    if (e.name != "rect") continue;
    const int x = std::stoi("0" + e.attribute("x"));
    const int y = std::stoi("0" + e.attribute("y"));
    EXPECT_LE(x + std::stoi(e.attribute("width")), 900);
    EXPECT_LE(y + std::stoi(e.attribute("height")), 700);
  }
}

TEST(SvgWriterTest, NamesThatAreNoXmlAreEscaped) {
  Timeline timeline;
  timeline.track(0, "a<b> & \"c\" \x01\xFF]]>")
      .events.push_back({.begin = 0, .end = 1000, .name = timeline.strings.intern("<i>&\x02</i>")});
  const auto elements = parseXml(renderSvg(timeline, {}));
  EXPECT_THAT(textsOf(elements), Contains("a<b> & \"c\" \xEF\xBF\xBD\xEF\xBF\xBD]]>"));
  EXPECT_THAT(textsOf(elements), Contains("<i>&\xEF\xBF\xBD</i>"));
}

TEST(SvgWriterTest, AnEmptyTimelineIsAPictureWithAnAxis) {
  const auto elements = parseXml(renderSvg(Timeline(), {}));
  EXPECT_THAT(textsOf(elements), Contains("0 ranks"));
  EXPECT_THAT(textsOf(elements), Contains("0"));
}

TEST(SvgWriterTest, ASingleEventOfNoLengthIsVisible) {
  Timeline timeline;
  timeline.track(0, kComputeLane)
      .events.push_back({.begin = kTestEpoch, .end = kTestEpoch, .kind = JobKind::kForward});
  const auto elements = parseXml(renderSvg(timeline, {}));
  EXPECT_EQ(countFilled(elements, toHex(kPaperColors.of({.kind = JobKind::kForward})),
                        RowHeights{}.compute),
            1U);
}

TEST(SvgWriterTest, TheFileOfAMillionJobsIsLimitedByItsPixels) {
  Timeline timeline;
  auto& events = timeline.track(0, kComputeLane).events;
  for (int i = 0; i < 1'000'000; ++i) {
    events.push_back({.begin = i * 30, .end = i * 30 + 10 + i % 20, .kind = JobKind::kForward});
  }
  const std::string svg = renderSvg(timeline, {});
  EXPECT_LT(parseXml(svg).size(), 2U * 1600U + 200U);
}

TEST(ChartPictureTest, ManyRanksLeaveOutLanesAndSaySo) {
  const Timeline timeline = makeTestTimeline({.ranks = 64, .steps = 1});
  const auto elements = parseXml(renderSvg(timeline, {}));
  EXPECT_THAT(std::stoi(elements[0].attribute("height")), AllOf(Ge(800), Le(2500)));
  const auto texts = textsOf(elements);
  EXPECT_THAT(texts, IsSupersetOf({"compute lanes only", "rank 0", "rank 63"}));
  EXPECT_THAT(texts, Not(Contains("send forward")));
}

TEST(ChartPictureTest, LongTitlesAndCaptionsAreBrokenIntoLines) {
  const Timeline timeline = makeTestTimeline({.steps = 1});
  const ChartModel model(timeline);
  PictureOptions options;
  options.width = 320;
  options.title = "1F1B, 4 ranks, 8 micro-batches, bubble ratio 35.1 %";
  options.caption = "step 1 of 0 to 4 (bubble ratio of the whole run 35.0 %), 340 ms";
  const auto linesOf = [&](std::optional<int> height) {
    options.height = height;
    return textsOf(parseXml(renderSvg(model, options)));
  };
  for (const std::optional<int> height : {std::optional<int>(), std::optional<int>(700)}) {
    EXPECT_THAT(linesOf(height),
                IsSupersetOf({"1F1B, 4 ranks, 8", "micro-batches, bubble ratio", "35.1 %"}));
    EXPECT_THAT(linesOf(height), Contains(testing::EndsWith("340 ms")));
  }
  EXPECT_THAT(linesOf(270), Contains(testing::EndsWith("…"))) << "a low picture has no room for it";
}

TEST(ChartPictureTest, GridLinesEndWithTheRows) {
  const Timeline timeline = makeTestTimeline({.ranks = 1, .steps = 1});
  const auto elements = parseXml(renderSvg(timeline, {.width = 1000, .height = 3000}));
  int rowsEnd = 0;
  int gridEnd = 0;
  for (const XmlElement& e : elements) {
    if (e.name != "rect" || e.attribute("y").empty()) continue;
    const int bottom = std::stoi(e.attribute("y")) + std::stoi(e.attribute("height"));
    if (e.attribute("fill") == toHex(kPaperTheme.rowShade)) rowsEnd = std::max(rowsEnd, bottom);
    if (e.attribute("fill") == toHex(kPaperTheme.grid)) gridEnd = std::max(gridEnd, bottom);
  }
  ASSERT_GT(rowsEnd, 0);
  EXPECT_THAT(gridEnd, AllOf(Ge(rowsEnd), Le(rowsEnd + 10)));
}

TEST(ChartPictureTest, ImpossibleSizesAreRefusedWithAdvice) {
  const Timeline timeline = makeTestTimeline({.ranks = 64, .steps = 1});
  const ChartModel model(timeline);
  const auto render = [&](const PictureOptions& options) {
    return [&model, options] { renderSvg(model, options); };
  };
  EXPECT_THAT(render({.width = 10}), ThrowsMessage<Error>(HasSubstr("choose 320 to 20000")));
  EXPECT_THAT(render({.width = 30'000}), ThrowsMessage<Error>(HasSubstr("30000 pixels wide")));
  EXPECT_THAT(render({.height = 200}),
              ThrowsMessage<Error>(HasSubstr("64 ranks does not fit into a height of 200")));
}

/// Every text of the picture with the rectangle that its estimated width gives it.
TEST(ChartPictureTest, TextsOfOneLineDoNotOverlap) {
  const Timeline timeline = makeTestTimeline({.ranks = 4, .steps = 25});
  for (const int width : {500, 1000, 1600}) {
    const auto elements = parseXml(renderSvg(timeline, {.width = width}));
    std::map<int, std::vector<std::pair<int, int>>> lines;  // by y: left and right
    SvgCanvas measure(1, 1, "");
    for (const XmlElement& e : elements) {
      if (e.name != "text") continue;
      const TextStyle style{.size = std::stoi(e.attribute("font-size")),
                            .bold = e.attribute("font-weight") == "bold"};
      const int length = measure.textWidth(e.text, style);
      const std::string anchor = e.attribute("text-anchor");
      int left = std::stoi(e.attribute("x"));
      if (anchor == "middle") left -= length / 2;
      if (anchor == "end") left -= length;
      lines[std::stoi(e.attribute("y"))].emplace_back(left, left + length);
    }
    for (auto& [y, line] : lines) {
      std::sort(line.begin(), line.end());
      for (std::size_t i = 1; i < line.size(); ++i) {
        EXPECT_GE(line[i].first, line[i - 1].second - 1) << "y " << y << " width " << width;
      }
    }
  }
}

}  // namespace
}  // namespace pipetrace
