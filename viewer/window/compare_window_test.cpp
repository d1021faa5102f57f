// A window with a second run under the first.
#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QDropEvent>
#include <QListWidget>
#include <QMessageBox>
#include <QMimeData>
#include <QPointer>
#include <QPushButton>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTest>

#include "viewer/testing/compared_runs.h"
#include "viewer/testing/shown_window.h"
#include "viewer/testing/slow_input.h"
#include "viewer/window/main_window.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CompareWindowTest : public testing::Test {
 protected:
  CompareWindowTest() { showActive(window_); }

  static QString write(const SimulatedRun& run, const QTemporaryDir& folder) {
    run.writeTo(folder.path().toStdString());
    return folder.path();
  }
  void openA(const SimulatedRun& run = {}) { window_.open({write(run, folderA_)}); }
  /// Until both are drawn, compared, and twins are known.
  void compare(const SimulatedRun& a, const SimulatedRun& b) {
    openA(a);
    window_.compareWith({write(b, folderB_)});
    ASSERT_TRUE(awaitDone());
  }
  bool awaitDone() {
    return QTest::qWaitFor(
        [&] {
          return pane().comparison().twins() != nullptr ||
                 (pane().comparison().stage() == RunComparison::Stage::kDone && !pane().stepOfA());
        },
        30'000);
  }
  ComparePane& pane() { return *window_.comparePane(); }
  ChartWidget& a() { return *window_.chart(); }
  ChartWidget& b() { return *pane().second(); }
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&a(), key, modifiers);
  }
  static std::string nameOf(const ChartWidget& chart) {
    if (!chart.selection()) return "-";
    const Event& job = *chart.selection()->event;
    return std::to_string(job.stage) + std::string(rowOf(job.kind).name).substr(0, 1) +
           std::to_string(job.microBatch);
  }
  std::string list(const char* accessibleName) {
    std::string text;
    for (const auto* each : window_.findChildren<QListWidget*>()) {
      if (each->accessibleName() != QString::fromLatin1(accessibleName)) continue;
      for (int i = 0; i < each->count(); ++i) text += each->item(i)->text().toStdString() + "\n";
    }
    return text;
  }
  /// Where an instant is in a chart, in pixels from the left of the window.
  static int xIn(const ChartWidget& chart, Nanoseconds time) {
    return chart.viewport()->mapTo(chart.window(), QPoint(chart.view().xOf(time), 0)).x();
  }

  const QTemporaryDir folderA_;
  const QTemporaryDir folderB_;
  MainWindow window_;
};

const SimulatedRun kSlow{.steps = 4, .backwardOfStage2 = 1.5};

TEST_F(CompareWindowTest, WithoutASecondRunNothingOfItIsSeen) {
  openA();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != nullptr; }, 20'000));
  EXPECT_EQ(pane().second(), nullptr);
  EXPECT_EQ(a().height(), window_.charts()->height());
  EXPECT_FALSE(window_.findChild<QDockWidget*>("comparison")->isVisible());
  EXPECT_FALSE(window_.findChild<QAction*>("next-difference")->isEnabled());
}

TEST_F(CompareWindowTest, BothMedianStepsBeginAboveEachOtherAtOneScale) {
  compare({}, kSlow);
  const StepSpan& stepOfA = a().model()->steps()[*pane().stepOfA()];
  const StepSpan& stepOfB = b().model()->steps()[*pane().stepOfB()];
  EXPECT_EQ(stepOfA.step, medianStep(a().model()->steps())->step);
  EXPECT_EQ(stepOfB.step, medianStep(b().model()->steps())->step);
  EXPECT_EQ(xIn(a(), stepOfA.begin), xIn(b(), stepOfB.begin));
  EXPECT_EQ(a().view().axis.span(), b().view().axis.span());
  EXPECT_EQ(a().view().axis.width(), b().view().axis.width());
  EXPECT_GE(a().view().axis.end() + pane().offset(), stepOfB.end) << "the longer one is seen, too";
}

TEST_F(CompareWindowTest, ZoomsMovesAndRowsOfOneAreThoseOfTheOther) {
  compare({}, kSlow);
  const auto areTogether = [&] {
    return a().view().axis.begin() + pane().offset() == b().view().axis.begin() &&
           a().view().axis.span() == b().view().axis.span();
  };
  key(Qt::Key_W);
  key(Qt::Key_D);
  EXPECT_TRUE(areTogether());
  b().zoomBy(2);
  b().scrollBy({-70, 0});
  EXPECT_TRUE(areTogether());
  key(Qt::Key_0);
  EXPECT_TRUE(areTogether()) << "the whole of both";
  EXPECT_LE(a().view().axis.begin(), a().model()->span().begin);
  EXPECT_GE(b().view().axis.end(), b().model()->span().end);
  a().foldAllRows(true);
  EXPECT_EQ(b().view().layout.shown().size(), a().view().layout.shown().size());
  RowState filtered;
  filtered.filter = "rank 2";
  b().setRowState(filtered);
  EXPECT_EQ(a().rowState().filter, "rank 2");
}

TEST_F(CompareWindowTest, TheNextStepIsBesideTheNextStepAndAnyTwoCanBeChosen) {
  compare({.steps = 4}, kSlow);
  pane().chooseSteps(0, 2);
  EXPECT_EQ(xIn(a(), a().model()->steps()[0].begin), xIn(b(), b().model()->steps()[2].begin));
  key(Qt::Key_N);
  EXPECT_EQ(pane().stepOfA(), 1U);
  EXPECT_EQ(pane().stepOfB(), 3U);
  EXPECT_EQ(xIn(a(), a().model()->steps()[1].begin), xIn(b(), b().model()->steps()[3].begin));
  key(Qt::Key_N);
  EXPECT_EQ(pane().stepOfA(), 1U) << "B has no step beside the next one";
  key(Qt::Key_P);
  key(Qt::Key_P);
  EXPECT_EQ(pane().stepOfA(), 0U);
  EXPECT_EQ(pane().stepOfB(), 2U);
}

TEST_F(CompareWindowTest, XLeadsFromTheLongestDifferenceToTheNext) {
  Faults faults;
  faults.jobs = {{.action = {JobKind::kForward, 2, 5}, .longer = 7 * kNsPerMs},
                 {.action = {JobKind::kBackward, 1, 3}, .longer = 9 * kNsPerMs}};
  compare({}, {.faults = faults});
  key(Qt::Key_X);
  EXPECT_EQ(nameOf(a()), "1b3");
  EXPECT_EQ(nameOf(b()), "1b3") << "its twin";
  EXPECT_THAT(pane().selectionText().toStdString(),
              "1B3 on rank 1: 20.00 ms in A, 29.00 ms in B, +9.000 ms (+45.0 %)");
  key(Qt::Key_X);
  EXPECT_EQ(nameOf(a()), "2f5");
  key(Qt::Key_X);
  EXPECT_EQ(nameOf(a()), "2f5") << "there is no other";
  key(Qt::Key_X, Qt::ShiftModifier);
  EXPECT_EQ(nameOf(b()), "1b3");
  EXPECT_THAT(list("Jobs that differ most"), HasSubstr("2F5 on rank 2: 10.00 ms in A"));
}

TEST_F(CompareWindowTest, BothJobsOfADifferenceAreSeenHoweverFarApart) {
  compare({}, {.backwardOfStage2 = 3});
  key(Qt::Key_X);
  for (int i = 0; i < 12; ++i) key(Qt::Key_W);
  key(Qt::Key_X);
  for (const ChartWidget* const chart : {&a(), &b()}) {
    const Event& job = *chart->selection()->event;
    EXPECT_GE(job.begin, chart->view().axis.begin());
    EXPECT_LE(job.end, chart->view().axis.end());
  }
}

TEST_F(CompareWindowTest, AClickInOneChartSelectsTheTwinInTheOther) {
  compare({}, kSlow);
  const auto& rows = b().model()->rows();
  std::size_t row = 0;
  while (rows[row].rank != 2 || !rows[row].isCompute) ++row;
  const LaneIndex& lane = rows[row].lanes[0];
  const Event& job = lane[lane.firstBeginningAt(b().model()->steps()[*pane().stepOfB()].begin) + 3];
  const ChartView view = b().view();
  QTest::mouseClick(b().viewport(), Qt::LeftButton, Qt::NoModifier,
                    QPoint(view.xOf(job.begin + job.duration() / 2),
                           view.yOf(view.layout[row].top + view.layout[row].height / 2)));
  EXPECT_EQ(b().selection()->event, &job);
  EXPECT_EQ(nameOf(a()), nameOf(b()));
  key(Qt::Key_Escape);
  EXPECT_FALSE(b().selection());
}

TEST_F(CompareWindowTest, ThePanelHasTheSentencesOfDiffAndWhatHasNoTwin) {
  compare({.microBatches = 8}, {.microBatches = 12, .backwardOfStage2 = 1.5});
  EXPECT_TRUE(window_.findChild<QDockWidget*>("comparison")->isVisible());
  EXPECT_THAT(list("What explains the difference"),
              AllOf(HasSubstr("stage 2's backwards"), HasSubstr("A  "),
                    HasSubstr("only B has 32 jobs of micro-batches 8 to 11")));
}

TEST_F(CompareWindowTest, RunsThatCannotBeComparedAreDrawnAllTheSameAndSayWhy) {
  compare({}, {.ranks = 8});
  EXPECT_EQ(b().model()->rankCount(), 8U);
  EXPECT_THAT(list("What explains the difference"),
              HasSubstr("no job has a twin, as stages of A and B are not the same"));
  key(Qt::Key_X);
  EXPECT_FALSE(a().selection());
}

TEST_F(CompareWindowTest, DifferencesAreTinted) {
  compare({}, kSlow);
  const auto countTints = [](ChartWidget& chart) {
    const QImage image = chart.viewport()->grab().toImage();
    int count = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        const QColor color = image.pixelColor(x, y);
        if (color.red() > 200 && color.blue() < 40 && color.green() > 70 && color.green() < 120) {
          ++count;
        }
      }
    }
    return count;
  };
  EXPECT_GT(countTints(a()), 300);
  EXPECT_GT(countTints(b()), 300);
  pane().comparison().close();
  EXPECT_EQ(countTints(a()), 0);
}

TEST_F(CompareWindowTest, ADropWithCtrlComparesAndOneWithoutOpens) {
  openA();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != nullptr; }, 20'000));
  const LoadedProfile* const first = window_.profile();
  QMimeData files;
  files.setUrls({QUrl::fromLocalFile(write(kSlow, folderB_))});
  const auto drop = [&](Qt::KeyboardModifiers modifiers) {
    QDragEnterEvent enter({100, 100}, Qt::CopyAction, &files, Qt::LeftButton, modifiers);
    QCoreApplication::sendEvent(&window_, &enter);
    QDropEvent event({100, 100}, Qt::CopyAction, &files, Qt::LeftButton, modifiers);
    QCoreApplication::sendEvent(&window_, &event);
  };
  drop(Qt::ControlModifier);
  ASSERT_TRUE(awaitDone());
  EXPECT_EQ(window_.profile(), first);
  EXPECT_NE(pane().second(), nullptr);
  drop(Qt::NoModifier);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != first; }, 20'000));
  EXPECT_EQ(pane().second(), nullptr) << "the second run went with the first";
}

TEST_F(CompareWindowTest, ASecondRunThatIsBeingReadCanBeCancelledAndHoldsNothingUp) {
  openA();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != nullptr; }, 20'000));
  const SlowInput slow;
  window_.compareWith({slow.path()});
  auto* const cancel = pane().findChild<QPushButton*>();
  ASSERT_TRUE(cancel->isVisible());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !cancel->visibleRegion().isEmpty(); }));
  const Nanoseconds before = a().view().axis.span();
  key(Qt::Key_W);
  EXPECT_LT(a().view().axis.span(), before) << "the chart goes on";
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_EQ(pane().comparison().stage(), RunComparison::Stage::kNone);
  EXPECT_FALSE(cancel->isVisible());
  EXPECT_TRUE(QTest::qWaitFor([&] { return a().height() == window_.charts()->height(); }));
}

TEST_F(CompareWindowTest, TheFirstRunCanBeClosedWhileTheSecondIsRead) {
  openA();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != nullptr; }, 20'000));
  const SlowInput slow;
  window_.compareWith({slow.path()});
  const LoadedProfile* const first = window_.profile();
  window_.open({write(kSlow, folderB_)});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != first; }, 20'000));
  EXPECT_EQ(pane().comparison().stage(), RunComparison::Stage::kNone);
}

TEST_F(CompareWindowTest, ASecondRunThatCannotBeReadLeavesTheFirstAlone) {
  openA();
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != nullptr; }, 20'000));
  window_.compareWith({QStringLiteral("/nowhere/logs")});
  QPointer<QMessageBox> box;
  ASSERT_TRUE(QTest::qWaitFor([&] { return (box = window_.findChild<QMessageBox*>()); }, 20'000));
  EXPECT_THAT(box->text().toStdString(),
              AllOf(HasSubstr("second run could not be opened"), HasSubstr("/nowhere/logs")));
  box->close();
  EXPECT_EQ(window_.message(), "");
}

TEST_F(CompareWindowTest, APredictionStandsBetweenBothRunsAndAllThreeMoveAsOne) {
  compare({}, kSlow);
  auto& whatIf = *window_.findChild<QDockWidget*>("what-if");
  auto& panel = *window_.findChild<WhatIfPanel*>();
  whatIf.show();
  panel.setChanges(WhatIfChanges::of("--scale stage=2:0.7"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.answer() != nullptr; }, 20'000));
  ChartWidget& predicted = panel.predictedChart().chart();
  const auto topOf = [&](const ChartWidget& chart) { return chart.mapTo(&window_, QPoint()).y(); };
  EXPECT_LT(topOf(a()), topOf(predicted));
  EXPECT_LT(topOf(predicted), topOf(b()));
  const auto areTogether = [&] {
    const TimeAxis axis = a().view().axis;
    return axis.begin() + pane().offset() == b().view().axis.begin() &&
           axis.span() == b().view().axis.span() && axis.span() == predicted.view().axis.span() &&
           a().view().area.x == predicted.view().area.x && a().view().area.x == b().view().area.x;
  };
  EXPECT_TRUE(areTogether());
  predicted.zoomBy(3);
  EXPECT_TRUE(areTogether()) << "the second run follows the prediction";
  b().panBy(0.3);
  EXPECT_TRUE(areTogether());
  key(Qt::Key_X);
  EXPECT_TRUE(b().selection());
  EXPECT_TRUE(areTogether());
  whatIf.hide();
  EXPECT_FALSE(predicted.isVisible());
  key(Qt::Key_W);
  EXPECT_EQ(a().view().axis.span(), b().view().axis.span());
  whatIf.show();
  pane().comparison().close();
  EXPECT_TRUE(predicted.isVisible());
  key(Qt::Key_W);
  EXPECT_EQ(a().view().axis.span(), predicted.view().axis.span());
}

TEST_F(CompareWindowTest, TheColoursOfBothAreThoseOfTheTheme) {
  compare({}, kSlow);
  window_.findChild<QAction*>("theme-colour-blind")->trigger();
  EXPECT_EQ(b().model()->theme(), a().model()->theme());
  window_.findChild<QAction*>("theme-paper")->trigger();
  EXPECT_EQ(b().model()->theme(), a().model()->theme());
}

}  // namespace
}  // namespace pipetrace
