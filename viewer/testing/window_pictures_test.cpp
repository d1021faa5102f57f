// Pictures of the window beside the committed ones, at the scale that QT_SCALE_FACTOR gives.
#include "viewer/testing/window_pictures.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QFontDatabase>
#include <QSettings>
#include <QStyleFactory>
#include <QTemporaryDir>
#include <QTest>

#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "viewer/export/export_picture.h"
#include "viewer/testing/compared_picture.h"
#include "viewer/testing/shown_window.h"
#include "viewer/window/app_icon.h"

namespace pipetrace {
namespace {

/// Those of the documentation at 1x are its own; all others lie in a folder for each scale.
std::string fileOf(const WindowPicture& picture, double scale) {
  const std::string folder =
      scale == 1 && picture.isInDocs
          ? "docs/pictures/"
          : "viewer/testing/pictures/" + QString::number(scale).toStdString() + "x/";
  return folder + picture.name + ".png";
}

class WindowPicturesTest : public testing::TestWithParam<WindowPicture> {};

TEST_P(WindowPicturesTest, ThePictureIsAsCommitted) {
  if (!QFontDatabase::families().contains(QStringLiteral("DejaVu Sans"))) {
    GTEST_SKIP() << "the font DejaVu Sans is not installed (fonts-dejavu-core)";
  }
  const WindowPicture& picture = GetParam();
  QSettings(QStringLiteral("PipeTrace"), QStringLiteral("pipe-view")).clear();  // the theme
  MainWindow window;
  const double scale = window.devicePixelRatioF();
  if (scale != 1 && !picture.isScaled) GTEST_SKIP() << "compared at 1x only";
  window.resize(picture.size);
  showActive(window);
  QWidget* const drawn = picture.prepare(window);
  QCoreApplication::processEvents();
  EXPECT_TRUE(isAsCommitted(drawn->grab().toImage(), fileOf(picture, scale)));
}

/// 300 steps of 16 ranks, of which stage 5 is slow and two jobs take long once.
LoadedProfile longRun() {
  Costs costs = Costs::equal(16, {.forward = 10 * kNsPerMs, .backward = 20 * kNsPerMs});
  costs.transfer = 500'000;
  costs.optimizer = 20 * kNsPerMs;
  costs.stages[5].forward = 12 * kNsPerMs;
  costs.stages[5].backward = 24 * kNsPerMs;
  costs.faults.jobs.push_back({.action = {.kind = JobKind::kForward, .stage = 9, .microBatch = 4},
                               .step = 100,
                               .longer = 600 * kNsPerMs});
  costs.faults.jobs.push_back({.action = {.kind = JobKind::kBackward, .stage = 3, .microBatch = 9},
                               .step = 200,
                               .late = 300 * kNsPerMs});
  const CheckedPlan plan(buildSchedule("1F1B", 16, 24));
  Diagnostics diagnostics;
  Timeline run = simulate(plan, costs, {.steps = 300}).timeline;
  completeTimeline(run, diagnostics);
  return {"long run", asRun(readyToShow(asRun(std::move(run)), {}).timeline), diagnostics, true};
}

TEST(WholeRunTest, ThePictureIsAsCommitted) {
  const LoadedProfile profile = longRun();
  const double scale = MainWindow().devicePixelRatioF();
  if (scale != 1) GTEST_SKIP() << "compared at 1x only";
  const auto picture = drawingOf(profile, {.width = 1120, .isAll = true});
  EXPECT_TRUE(isAsCommitted(imageOf(*picture, 1), "docs/pictures/whole-run.png"));
}

INSTANTIATE_TEST_SUITE_P(All, WindowPicturesTest, testing::ValuesIn(windowPictures()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(ComparedPictureTest, APictureOfWhichOneInAHundredPixelsDiffersIsNotAlike) {
  QImage one(100, 100, QImage::Format_RGB32);
  one.fill(qRgb(200, 100, 50));
  QImage other = one;
  for (int x = 0; x < 50; ++x) other.setPixel(x, 7, qRgb(200, 100, 59));
  EXPECT_TRUE(areAlike(one, other)) << "half of a percent";
  other.setPixel(50, 7, qRgb(200, 100, 59));
  EXPECT_FALSE(areAlike(one, other));
  other.fill(qRgb(208, 92, 58));
  EXPECT_TRUE(areAlike(one, other)) << "8 levels";
  EXPECT_FALSE(areAlike(one, other.copy(0, 0, 99, 100)));
}

}  // namespace
}  // namespace pipetrace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  // Pictures must not depend on who makes them.
  if (qEnvironmentVariable("PIPETRACE_WINDOWS") != QStringLiteral("real")) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  qputenv("TZ", "UTC");
  QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
  const QTemporaryDir home;
  qputenv("HOME", home.path().toUtf8());
  const QApplication application(argc, argv);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(QApplication::style()->standardPalette());
  QFont font(QStringLiteral("DejaVu Sans"));
  font.setPixelSize(12);
  QApplication::setFont(font);
  QApplication::setCursorFlashTime(0);
  QApplication::setWindowIcon(pipetrace::appIcon());
  return RUN_ALL_TESTS();
}
