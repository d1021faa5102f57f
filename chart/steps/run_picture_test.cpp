#include "chart/steps/run_picture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "chart/draw/svg_canvas.h"
#include "chart/testing/paper_colors.h"
#include "chart/testing/timelines.h"
#include "chart/testing/xml_check.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// One rank. Step 0 lasts 100 ms: 30 forward, 20 backward, 40 imbalance, 10 drain. Step 1 lasts
/// 400 ms: 100 forward, 300 backward.
Timeline twoSteps() {
  Timeline timeline;
  const auto ms = [](Nanoseconds time) { return time * kNsPerMs; };
  timeline.track(0, kComputeLane).events = {
      {.begin = ms(0), .end = ms(30), .step = 0, .kind = JobKind::kForward},
      {.begin = ms(70), .end = ms(90), .step = 0, .kind = JobKind::kBackward},
      {.begin = ms(90), .end = ms(100), .step = 0, .kind = JobKind::kOptimizer},
      {.begin = ms(100), .end = ms(200), .step = 1, .kind = JobKind::kForward},
      {.begin = ms(200), .end = ms(500), .step = 1, .kind = JobKind::kBackward}};
  timeline.track(0, kBubbleLane).events = {{.begin = ms(30),
                                            .end = ms(70),
                                            .kind = JobKind::kBubble,
                                            .bubbleClass = BubbleClass::kImbalance},
                                           {.begin = ms(90),
                                            .end = ms(100),
                                            .kind = JobKind::kBubble,
                                            .bubbleClass = BubbleClass::kDrain}};
  timeline.sort();
  return timeline;
}

/// The heights of rectangles of a colour inside a cell.
int heightIn(const std::vector<XmlElement>& elements, PixelRect cell, Color color) {
  int height = 0;
  for (const XmlElement& e : elements) {
    if (e.name != "rect" || e.attribute("fill") != toHex(color)) continue;
    const int y = std::stoi(e.attribute("y"));
    const bool isInside = std::stoi(e.attribute("x")) == cell.x && y >= cell.y &&
                          y + std::stoi(e.attribute("height")) <= cell.bottom();
    if (isInside) height += std::stoi(e.attribute("height"));
  }
  return height;
}

Color bubble(BubbleClass cause) {
  Event event;
  event.kind = JobKind::kBubble;
  event.bubbleClass = cause;
  return kPaperColors.of(event);
}

std::vector<std::string> textsIn(const std::vector<XmlElement>& elements) {
  std::vector<std::string> texts;
  for (const XmlElement& e : elements) {
    if (e.name == "text") texts.push_back(e.text);
  }
  return texts;
}

TEST(RunPictureTest, ACellIsStackedByTheSharesOfTheStep) {
  const Timeline timeline = twoSteps();
  const ChartModel model(timeline);
  const RunPicture picture(model, {.width = 600, .height = 420});
  const auto elements = parseXml(renderSvg(picture, "run"));
  const PixelRect first = picture.cellOf(0, 0);
  ASSERT_GT(first.height, 40);
  const auto expectShare = [&](PixelRect cell, Color color, double share) {
    EXPECT_NEAR(heightIn(elements, cell, color), share * cell.height, 1) << toHex(color);
  };
  expectShare(first, kPaperColors.of({.kind = JobKind::kForward}), 0.3);
  expectShare(first, kPaperColors.of({.kind = JobKind::kBackward}), 0.2);
  expectShare(first, bubble(BubbleClass::kImbalance), 0.4);
  expectShare(first, bubble(BubbleClass::kDrain), 0.1);
  const PixelRect second = picture.cellOf(1, 0);
  expectShare(second, kPaperColors.of({.kind = JobKind::kForward}), 0.25);
  expectShare(second, kPaperColors.of({.kind = JobKind::kBackward}), 0.75);
  expectShare(second, bubble(BubbleClass::kImbalance), 0);
}

TEST(RunPictureTest, NumbersSayTheBubbleRatioOfStepsAndRanks) {
  const Timeline timeline = twoSteps();
  const ChartModel model(timeline);
  const auto texts =
      textsIn(parseXml(renderSvg(RunPicture(model, {.width = 600, .height = 420}), "run")));
  EXPECT_THAT(texts, Contains("50 %")) << "step 0";
  EXPECT_THAT(texts, Contains("0 %")) << "step 1";
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "10.0 %"), 2) << "50 of 500 ms: rank 0, and all";
  EXPECT_THAT(texts, Contains("400.0 ms")) << "the longest step";
}

TEST(RunPictureTest, WithoutClassesIdleTimeIsPlain) {
  const Timeline timeline = twoSteps();
  const ChartModel model(timeline);
  const RunPicture picture(model, {.width = 600, .height = 420, .showsClasses = false});
  const std::string svg = renderSvg(picture, "run");
  EXPECT_THAT(svg, testing::Not(HasSubstr(toHex(bubble(BubbleClass::kImbalance)))));
  EXPECT_THAT(textsIn(parseXml(svg)), testing::Not(Contains("imbalance")));
}

TEST(RunPictureTest, EveryCellIsFilledToItsEdgesInEverySize) {
  const Timeline timeline = makeTestTimeline({.ranks = 6, .microBatches = 3, .steps = 37});
  const ChartModel model(timeline);
  for (const int height : {450, 463, 700}) {
    const RunPicture picture(model, {.width = 900, .height = height});
    const auto elements = parseXml(renderSvg(picture, "run"));
    for (const std::size_t rank : {0U, 5U}) {
      const PixelRect cell = picture.cellOf(20, rank);
      int filled = 0;
      for (const XmlElement& e : elements) {
        if (e.name != "rect" || e.attribute("x") != std::to_string(cell.x)) continue;
        const int y = std::stoi(e.attribute("y"));
        if (y >= cell.y && y < cell.bottom()) filled += std::stoi(e.attribute("height"));
      }
      EXPECT_EQ(filled, cell.height) << height;
    }
  }
}

TEST(RunPictureTest, ManyStepsShareAColumnAndTheirTimesAddUp) {
  const Timeline timeline = makeTestTimeline({.ranks = 2, .microBatches = 2, .steps = 1000});
  const ChartModel model(timeline);
  EXPECT_TRUE(RunPicture::isBetterFor(model, 1600));
  const RunPicture picture(model, {.width = 800});
  const StepGrid& grid = picture.grid();
  ASSERT_EQ(grid.columns.size(), 100U) << "ten steps in each";
  const StepGrid single = stepGridOf(timeline, 1);
  ASSERT_EQ(single.columns.size(), 1000U);
  for (const std::size_t column : {0U, 57U, 99U}) {
    Nanoseconds window = 0;
    Nanoseconds busy = 0;
    for (std::size_t i = column * 10; i < column * 10 + 10; ++i) {
      window += single.columns[i].ranks[1].window;
      busy += single.columns[i].ranks[1].busyTime();
    }
    EXPECT_EQ(grid.columns[column].ranks[1].window, window);
    EXPECT_EQ(grid.columns[column].ranks[1].busyTime(), busy);
    EXPECT_EQ(grid.columns[column].first, static_cast<int>(column) * 10);
    EXPECT_EQ(grid.columns[column].last, static_cast<int>(column) * 10 + 9);
  }
}

TEST(RunPictureTest, AShortRunIsBetterDrawnWithItsJobs) {
  const Timeline timeline = makeTestTimeline({.steps = 12});
  EXPECT_FALSE(RunPicture::isBetterFor(ChartModel(timeline), 1600));
  EXPECT_TRUE(RunPicture::isBetterFor(ChartModel(timeline), 400));
}

TEST(RunPictureTest, RanksStandAsInTheWindowAndHiddenOnesHaveNoLine) {
  const Timeline timeline = makeTestTimeline({.ranks = 4, .steps = 3});
  const ChartModel model(timeline);
  const auto labels = [&](const RowState& rows) {
    const RunPicture picture(model, {.width = 700, .rows = rows});
    std::vector<std::string> ranks;
    for (const std::string& text : textsIn(parseXml(renderSvg(picture, "run")))) {
      if (text.starts_with("rank ")) ranks.push_back(text);
      if (text.find("no line") != std::string::npos) ranks.push_back("note");
    }
    return ranks;
  };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels({}), (Labels{"rank 0", "rank 1", "rank 2", "rank 3"}));
  EXPECT_EQ(labels({.filter = "rank 2, rank 0"}), (Labels{"note", "rank 0", "rank 2"}));
  RowState moved;
  moved.hidden = {"rank 1"};
  moved.order[""] = {"rank 3", "rank 0"};
  EXPECT_EQ(labels(moved), (Labels{"note", "rank 3", "rank 0", "rank 2"}));
  moved = {};
  moved.folded["rank 1"] = true;
  EXPECT_EQ(labels(moved).size(), 4U) << "a folded rank is shown";
}

TEST(RunPictureTest, AHeightThatIsTooSmallForTheRanksNamesOneThatIsNot) {
  const Timeline timeline = makeTestTimeline({.ranks = 64, .microBatches = 64, .steps = 3});
  const ChartModel model(timeline);
  EXPECT_THAT(([&] { RunPicture(model, {.width = 800, .height = 200}); }),
              ThrowsMessage<Error>(HasSubstr("choose at least ")));
  EXPECT_NO_THROW(RunPicture(model, {.width = 800}));
  EXPECT_THROW(RunPicture(model, {.width = 100}), Error);
}

}  // namespace
}  // namespace pipetrace
