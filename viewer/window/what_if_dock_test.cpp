// The panel of what-ifs in the window.
#include <gmock/gmock.h>

#include <QApplication>
#include <QDockWidget>
#include <QListWidget>
#include <QTest>
#include <QToolButton>

#include "trace/log/write_job_logs.h"
#include "viewer/testing/asked_run.h"
#include "viewer/testing/profile.h"
#include "viewer/testing/shown_window.h"
#include "viewer/window/main_window.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class WhatIfDockTest : public testing::Test {
 protected:
  WhatIfDockTest() { writeJobLogs(askedRun()->timeline(), logs().toStdString()); }

  WindowMemory memory() const {
    return WindowMemory(
        std::make_unique<QSettings>(folder_.filePath("settings.ini"), QSettings::IniFormat));
  }
  QString logs() const { return folder_.filePath(QStringLiteral("logs")); }
  static bool opens(MainWindow& window, const QString& input) {
    const LoadedProfile* const before = window.profile();
    window.open({input});
    return QTest::qWaitFor(
        [&] { return window.profile() != before && window.explanation() != nullptr; }, 20'000);
  }
  static WhatIfPanel& panelOf(MainWindow& window) { return *window.findChild<WhatIfPanel*>(); }
  static bool isAnswered(MainWindow& window) {
    return QTest::qWaitFor([&] { return panelOf(window).answer() != nullptr; }, 20'000);
  }
  static QDockWidget& dockOf(MainWindow& window) {
    return *window.findChild<QDockWidget*>(QStringLiteral("what-if"));
  }

  QTemporaryDir folder_;
};

TEST_F(WhatIfDockTest, AltWShowsThePanelAndTheChartOfThePrediction) {
  MainWindow window;
  showActive(window);
  ASSERT_TRUE(opens(window, logs()));
  EXPECT_FALSE(dockOf(window).isVisible());
  EXPECT_EQ(panelOf(window).work().facts(), nullptr)
      << "nothing is computed before it is asked for";
  QTest::keyClick(window.chart(), Qt::Key_W, Qt::AltModifier);
  EXPECT_TRUE(dockOf(window).isVisible());
  ASSERT_TRUE(QTest::qWaitFor([&] { return panelOf(window).work().facts() != nullptr; }, 20'000));
  panelOf(window).setChanges(WhatIfChanges::of("--scale stage=1:0.7"));
  ASSERT_TRUE(isAnswered(window));
  PredictedChart& predicted = panelOf(window).predictedChart();
  EXPECT_TRUE(predicted.isVisible());
  EXPECT_GT(predicted.mapTo(&window, QPoint()).y(), window.chart()->mapTo(&window, QPoint()).y());
  EXPECT_EQ(predicted.mapTo(&window, QPoint()).x(), window.chart()->mapTo(&window, QPoint()).x());
  QTest::keyClick(window.chart(), Qt::Key_W, Qt::AltModifier);
  EXPECT_FALSE(dockOf(window).isVisible());
  EXPECT_FALSE(predicted.isVisible());
}

TEST_F(WhatIfDockTest, KeysOfTheChartWorkWhileTheOtherOneIsThere) {
  MainWindow window;
  showActive(window);
  ASSERT_TRUE(opens(window, logs()));
  dockOf(window).show();
  panelOf(window).setChanges(WhatIfChanges::of("--scale stage=1:0.7"));
  ASSERT_TRUE(isAnswered(window));
  const Nanoseconds span = window.chart()->view().axis.span();
  QTest::keyClick(window.chart(), Qt::Key_Plus);
  EXPECT_LT(window.chart()->view().axis.span(), span) << "no key has two meanings";
}

TEST_F(WhatIfDockTest, AFindingIsTakenAwayByItsButton) {
  MainWindow window;
  showActive(window);
  ASSERT_TRUE(opens(window, logs()));
  auto& findings = *window.findChild<FindingsPanel*>();
  auto& list = *findings.findChild<QListWidget*>();
  QToolButton* whatIf = nullptr;
  for (QToolButton* each : findings.findChildren<QToolButton*>()) {
    if (each->text() == "What if …") whatIf = each;
  }
  ASSERT_NE(whatIf, nullptr);
  EXPECT_FALSE(whatIf->isEnabled()) << "no finding is chosen";
  std::vector<std::string> texts;
  for (int i = 0; i < list.count(); ++i) {
    emit list.itemClicked(list.item(i));
    if (!whatIf->isEnabled()) continue;
    whatIf->click();
    texts.push_back(panelOf(window).text().toStdString());
  }
  EXPECT_THAT(texts, testing::Contains(StartsWith("--scale stage=1:0.")));
  EXPECT_THAT(texts, testing::Contains("--link 2-3=0.1ms"));
  EXPECT_TRUE(dockOf(window).isVisible());
  ASSERT_TRUE(isAnswered(window));
  EXPECT_LT(panelOf(window).answer()->answer.change(), 0);
}

TEST_F(WhatIfDockTest, ARunThatIsOpenedAgainHasItsChangesAgain) {
  {
    MainWindow window(AlignBy::kBest, memory());
    showActive(window);
    ASSERT_TRUE(opens(window, logs()));
    dockOf(window).show();
    panelOf(window).setChanges(WhatIfChanges::of("--scale stage=1:0.7 --schedule ZB-H1"));
    window.close();
  }
  {
    MainWindow again(AlignBy::kBest, memory());
    showActive(again);
    ASSERT_TRUE(opens(again, logs()));
    EXPECT_TRUE(dockOf(again).isVisible());
    EXPECT_EQ(panelOf(again).text(), "--scale stage=1:0.7 --schedule ZB-H1");
    ASSERT_TRUE(isAnswered(again));
    const TestLogs others;
    ASSERT_TRUE(opens(again, QString::fromStdString(others.path())));
    EXPECT_EQ(panelOf(again).text(), "") << "those of this run";
    EXPECT_EQ(panelOf(again).predictedChart().run(), nullptr);
    again.close();
  }
  MainWindow fresh(AlignBy::kBest,
                   WindowMemory(std::make_unique<QSettings>(folder_.filePath("settings.ini"),
                                                            QSettings::IniFormat),
                                true));
  showActive(fresh);
  ASSERT_TRUE(opens(fresh, logs()));
  EXPECT_EQ(panelOf(fresh).text(), "");
}

TEST_F(WhatIfDockTest, AWindowClosesWhileARunIsPredicted) {
  const TestLogs large({.ranks = 8, .microBatches = 64, .steps = 20});
  auto window = std::make_unique<MainWindow>();
  showActive(*window);
  ASSERT_TRUE(opens(*window, QString::fromStdString(large.path())));
  dockOf(*window).show();
  ASSERT_TRUE(QTest::qWaitFor([&] { return panelOf(*window).work().facts() != nullptr; }, 20'000));
  panelOf(*window).setChanges(WhatIfChanges::of("--scale stage=1:0.7"));
  EXPECT_TRUE(panelOf(*window).work().isAnswering());
  window.reset();
}

TEST_F(WhatIfDockTest, AnotherThemeReachesThePredictedChart) {
  MainWindow window;
  showActive(window);
  ASSERT_TRUE(opens(window, logs()));
  dockOf(window).show();
  panelOf(window).setChanges(WhatIfChanges::of("--scale stage=1:0.7"));
  ASSERT_TRUE(isAnswered(window));
  window.findChild<QAction*>(QStringLiteral("brightness-dark"))->trigger();
  EXPECT_TRUE(panelOf(window).predictedChart().run()->model().theme().isDark);
  window.findChild<QAction*>(QStringLiteral("brightness-light"))->trigger();
}

}  // namespace
}  // namespace pipetrace
