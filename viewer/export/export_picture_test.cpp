#include "viewer/export/export_picture.h"

#include <gmock/gmock.h>

#include <QDir>
#include <QFile>
#include <QImage>
#include <QXmlStreamReader>
#include <set>

#include "analysis/testing/run_of_timeline.h"
#include "chart/draw/svg_canvas.h"
#include "chart/links/link_colors.h"
#include "chart/testing/gpipe_timeline.h"
#include "chart/testing/paper_colors.h"
#include "chart/testing/replicas.h"
#include "trace/error.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/paint/qt_canvas.h"
#include "viewer/testing/profile.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::ThrowsMessage;

LoadedProfile profileOf(Timeline timeline) {
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return {"run", asRun(readyToShow(asRun(std::move(timeline)), {}).timeline), diagnostics, true};
}

LoadedProfile profileOf(const TestRun& run) { return profileOf(makeTestTimeline(run)); }

int countColor(const QImage& image, Color color) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      if (image.pixelColor(x, y) == toQColor(color)) ++count;
    }
  }
  return count;
}

TEST(ExportPictureTest, APngHasTheSizeAndTheColoursOfTheRun) {
  const QTemporaryDir folder;
  const std::string path = folder.filePath("out.png").toStdString();
  const LoadedProfile profile = profileOf({.steps = 1});
  exportPicture(profile, {.path = path, .width = 1200, .height = 500});
  const QImage image(QString::fromStdString(path));
  ASSERT_EQ(image.size(), QSize(1200, 500));
  const int forward = countColor(image, kPaperColors.of({.kind = JobKind::kForward}));
  const int backward = countColor(image, kPaperColors.of({.kind = JobKind::kBackward}));
  EXPECT_GT(forward, 10'000);
  EXPECT_NEAR(static_cast<double>(backward) / forward, 2.0, 0.25) << "backward takes twice as long";
  EXPECT_GT(countColor(image, kPaperTheme.paper), 50'000);
  EXPECT_EQ(QDir(folder.path()).entryList(QDir::Files).size(), 1) << "no other file is left";
}

TEST(ExportPictureTest, AnSvgIsWellFormedAndHoldsTheSameTexts) {
  const QTemporaryDir folder;
  const QString path = folder.filePath("out.SVG");
  const LoadedProfile profile = profileOf({.steps = 2});
  exportPicture(profile, {.path = path.toStdString()});
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  QXmlStreamReader xml(&file);
  QStringList texts;
  while (!xml.atEnd()) {
    if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == QLatin1String("text")) {
      texts.push_back(xml.readElementText());
    }
  }
  EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
  EXPECT_TRUE(texts.contains("rank 3"));
  EXPECT_TRUE(texts.contains("step 1"));
  EXPECT_TRUE(texts.first().startsWith("1F1B, 4 ranks, 8 micro-batches, bubble ratio "));
}

TEST(ExportPictureTest, TheTitleHasTheBubbleRatioOfTheShownSteps) {
  // The closed form of 1F1B with equal stages and no transfers is (p - 1) / (m + p - 1).
  const LoadedProfile profile = profileOf(
      {.ranks = 4, .microBatches = 8, .steps = 3, .hasTransfers = false, .hasBubbles = false});
  const auto ratio = [&](const ExportOptions& options) {
    const std::string title = pictureOf(profile, options).title;
    return std::stod(title.substr(title.rfind("ratio ") + 6));
  };
  EXPECT_NEAR(ratio({.isAll = true}), 100.0 * 3 / 11, 0.7);  // lr and optimizer are idle as well
  EXPECT_NEAR(ratio({.steps = StepChoice{1, 1}}), 100.0 * 3 / 11, 0.7);
}

TEST(ExportPictureTest, TheTitleHasTheBubbleRatioOfStepsWhoseTimesSumUpToMoreThan64Bits) {
  constexpr Nanoseconds kQuarter = Nanoseconds{1} << 60;
  Timeline timeline;
  for (int rank = 0; rank < 4; ++rank) {
    Event& job = timeline.track(rank, kComputeLane).events.emplace_back();
    job.kind = JobKind::kForward;
    job.step = job.microBatch = 0;
    job.end = rank == 0 ? 2 * kQuarter : 4 * kQuarter;
  }
  const LoadedProfile profile("run", asRun(readyToShow(asRun(std::move(timeline)), {}).timeline),
                              {}, true);
  EXPECT_THAT(pictureOf(profile, {}).title, HasSubstr("bubble ratio 12.5 %"));
}

TEST(ExportPictureTest, AStepIsShownFromItsFirstForwardToItsLastOptimizer) {
  const LoadedProfile profile = profileOf(GpipeRun::make(5));
  for (const int step : {1, 3}) {
    const PictureOptions picture = pictureOf(profile, {.steps = StepChoice{step, step}});
    ASSERT_TRUE(picture.range);
    EXPECT_EQ(picture.range->begin, GpipeRun::beginOf(step))
        << "not where the last rank's lr begins";
    EXPECT_EQ(picture.range->end, GpipeRun::beginOf(step) + GpipeRun::kWindow);
    // Closed form: 1 - m (F + B) / ((m + p - 1) (F + B) + optimizer) = 1 - 120 / 332.
    EXPECT_THAT(picture.title, HasSubstr("bubble ratio 63.9 %"));
  }
  const PictureOptions standard = pictureOf(profile, {.width = 8000});
  EXPECT_EQ(standard.range->begin, GpipeRun::beginOf(1));
  EXPECT_EQ(standard.range->end, GpipeRun::beginOf(2) + GpipeRun::kWindow);
}

TEST(ExportPictureTest, TheSecondAndThirdOfManyStepsAreShownAndNamedInTheCaption) {
  const LoadedProfile profile = profileOf({.microBatches = 6, .steps = 12});
  const PictureOptions picture = pictureOf(profile, {});
  EXPECT_THAT(picture.caption, StartsWith("steps 1 to 2 of 0 to 11"));
  ASSERT_TRUE(picture.range);
  EXPECT_EQ(picture.range->begin, profile.model().steps()[1].begin);
  EXPECT_EQ(picture.range->end, profile.model().steps()[2].end);
}

TEST(ExportPictureTest, OneStepIsShownWhenTwoWouldNotBeLegible) {
  const LoadedProfile profile = profileOf({.microBatches = 40, .steps = 5});
  EXPECT_THAT(pictureOf(profile, {}).caption, StartsWith("step 1 of 0 to 4"));
  EXPECT_THAT(pictureOf(profile, {.width = 8000}).caption, StartsWith("steps 1 to 2 of"));
}

TEST(ExportPictureTest, FewShortStepsAreShownWhole) {
  const LoadedProfile profile = profileOf({.microBatches = 4, .steps = 2});
  EXPECT_THAT(pictureOf(profile, {}).caption,
              AllOf(StartsWith("steps 0 to 1,"), Not(HasSubstr(" of 0"))));
}

TEST(ExportPictureTest, TheStepsOfTheOptionAreShown) {
  const LoadedProfile profile = profileOf({.steps = 6});
  EXPECT_THAT(pictureOf(profile, {.steps = StepChoice{4, 4}}).caption,
              StartsWith("step 4 of 0 to 5"));
  EXPECT_THAT(pictureOf(profile, {.steps = StepChoice{2, 4}}).caption,
              StartsWith("steps 2 to 4 of 0 to 5"));
  EXPECT_THAT(pictureOf(profile, {.steps = StepChoice{1, 99}}).caption,
              StartsWith("steps 1 to 5 of 0 to 5"));
  EXPECT_THAT(pictureOf(profile, {.steps = StepChoice{5, 99}}).caption,
              StartsWith("step 5 of 0 to 5"));
  EXPECT_THAT(pictureOf(profile, {.steps = StepChoice{0, 99}}).caption,
              StartsWith("steps 0 to 5,"));
  EXPECT_THAT(pictureOf(profile, {.isAll = true}).caption, StartsWith("steps 0 to 5,"));
  EXPECT_THAT(
      [&] {
        pictureOf(profile, {.steps = StepChoice{9, 9}});
      },
      ThrowsMessage<Error>(HasSubstr("has no step 9; it holds steps 0 to 5")));
}

/// One micro-batch on two ranks: 0F0, 1F0, 1B0, 0B0 and an optimizer are the path.
TEST(ExportPictureTest, TheCriticalPathOfTheStepsIsOutlinedOnRequest) {
  const LoadedProfile profile = profileOf({.ranks = 2, .microBatches = 1, .steps = 1});
  const auto outlined = [&](bool isAsked) {
    const PictureOptions picture = pictureOf(profile, {.showsCriticalPath = isAsked});
    EXPECT_EQ(picture.caption.find("critical path") != std::string::npos, isAsked);
    QXmlStreamReader xml(QByteArray::fromStdString(renderSvg(profile.model(), picture)));
    std::set<QString> jobs;  // by the left edges of their outlines
    while (!xml.atEnd()) {
      if (xml.readNext() != QXmlStreamReader::StartElement) continue;
      const auto fill = xml.attributes().value("fill").toString().toStdString();
      const bool isTop = fill == toHex(linkColorsOf(profile.model()).path) &&
                         xml.attributes().value("width").toInt() > 30;
      if (isTop) jobs.insert(xml.attributes().value("x").toString());
    }
    return jobs.size();
  };
  EXPECT_EQ(outlined(true), 5U);
  EXPECT_EQ(outlined(false), 0U);
}

TEST(ExportPictureTest, TooManyCriticalPathsAreRefused) {
  const LoadedProfile profile = profileOf({.ranks = 2, .microBatches = 1, .steps = 70});
  EXPECT_THAT([&] { pictureOf(profile, {.isAll = true, .showsCriticalPath = true}); },
              ThrowsMessage<Error>(HasSubstr("choose fewer steps")));
}

TEST(ExportPictureTest, APictureOfTheViewHasTheRowsOfTheWindow) {
  const QTemporaryDir folder;
  const std::string path = folder.filePath("view.svg").toStdString();
  const LoadedProfile profile = profileOf(makeReplicas(2, {.ranks = 2, .steps = 1}));
  ChartWidget chart;
  chart.setModel(&profile.model());
  const auto textsOf = [&](const RowState& rows) {
    const TimeAxis axis = chart.view().axis;
    exportPicture(profile, {.path = path, .rows = rows, .time = {{axis.begin(), axis.end()}}});
    QFile file(QString::fromStdString(path));
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return QString::fromUtf8(file.readAll()).toStdString();
  };
  const std::string opened = textsOf({});
  EXPECT_THAT(opened, AllOf(HasSubstr(">replica 0<"), HasSubstr(">rank 2<"), HasSubstr(">send<")));
  EXPECT_THAT(opened, Not(HasSubstr(">rank 0<"))) << "its replica starts folded";
  const std::string changed = textsOf({.folded = {{"replica 0", false}}, .hidden = {"rank 2"}});
  EXPECT_THAT(changed, AllOf(HasSubstr(">rank 0<"), HasSubstr(">rank 3<")));
  EXPECT_THAT(changed, Not(HasSubstr(">rank 2<")));
  chart.setModel(nullptr);
}

TEST(ExportPictureTest, AnUnknownEndingIsRefusedWithTheKnownOnes) {
  const LoadedProfile profile = profileOf({.steps = 1});
  for (const char* path : {"out.gif", "out", "png", ".png"}) {
    EXPECT_THAT([&] { exportPicture(profile, {.path = path}); },
                ThrowsMessage<Error>(AllOf(HasSubstr(path), HasSubstr(".png, .pdf or .svg"))));
  }
}

TEST(ExportPictureTest, AFailedExportKeepsTheOlderFile) {
  const QTemporaryDir folder;
  const QString path = folder.filePath("out.png");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("old");
  file.close();
  const LoadedProfile profile = profileOf({.ranks = 64, .steps = 1});
  EXPECT_THROW(exportPicture(profile, {.path = path.toStdString(), .height = 150}), Error);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll(), "old");
  EXPECT_EQ(QDir(folder.path()).entryList(QDir::Files).size(), 1);
}

}  // namespace
}  // namespace pipetrace
