// A window with the plan under the rows of its chart.
#include <gmock/gmock.h>

#include <QAction>
#include <QDockWidget>
#include <QListWidget>
#include <QTemporaryDir>
#include <QTest>

#include "viewer/testing/compared_runs.h"
#include "viewer/testing/shown_window.h"
#include "viewer/window/main_window.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PlanWindowTest : public testing::Test {
 protected:
  PlanWindowTest() { showActive(window_); }

  void open(const SimulatedRun& run) {
    run.writeTo(folder_.path().toStdString());
    window_.open({folder_.path()});
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.explanation() != nullptr; }, 20'000));
  }
  void showPlan() {
    QTest::keyClick(&chart(), Qt::Key_G);
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          const PlanGhost& ghost = *window_.planGhost();
          return ghost.plan() != nullptr && (!ghost.plan()->exists() || !ghost.steps().empty());
        },
        20'000));
  }
  ChartWidget& chart() { return *window_.chart(); }
  std::string list() {
    std::string text;
    const auto* list = window_.findChild<QDockWidget*>("plan")->findChild<QListWidget*>();
    for (int i = 0; i < list->count(); ++i) text += list->item(i)->text().toStdString() + "\n";
    return text;
  }
  QPoint middleOf(int rank, JobKind kind, int microBatch, int step) {
    const ChartView view = chart().view();
    for (std::size_t row = 0; row < view.model.rows().size(); ++row) {
      const ChartRow& lanes = view.model.rows()[row];
      if (lanes.rank != rank || !lanes.isCompute) continue;
      for (std::size_t i = 0; i < lanes.lanes[0].size(); ++i) {
        const Event& job = lanes.lanes[0][i];
        if (job.kind != kind || job.microBatch != microBatch || job.step != step) continue;
        return {view.xOf(job.begin + job.duration() / 2),
                view.yOf(view.layout[row].top + view.layout[row].height / 2)};
      }
    }
    throw std::out_of_range("no such job");
  }
  /// The least number of pixels between a compute row and the one below it.
  int roomUnderRows() {
    const ChartView view = chart().view();
    int room = 1000;
    for (std::size_t i = 0; i + 1 < view.layout.shown().size(); ++i) {
      if (!view.layout.shown()[i].showsLanes()) continue;
      if (!view.model.rows()[view.layout.shown()[i].row].isCompute) continue;
      room = std::min(room, view.layout.placeOf(i + 1).top - view.layout.placeOf(i).bottom());
    }
    return room;
  }
  QImage picture() { return chart().viewport()->grab().toImage(); }

  const QTemporaryDir folder_;
  MainWindow window_;
};

SimulatedRun slowForward() {
  SimulatedRun run{.steps = 4};
  run.faults.jobs = {{.action = {JobKind::kForward, 3, 5}, .step = 1, .longer = 7 * kNsPerMs}};
  return run;
}

TEST_F(PlanWindowTest, GPutsTheStepAsPlannedUnderEachRankAndTakesItAway) {
  open(slowForward());
  chart().showStep(1);
  showPlan();
  EXPECT_TRUE(window_.findChild<QDockWidget*>("plan")->isVisible());
  EXPECT_GE(roomUnderRows(), PlanGhost::kHeight);
  const ChartView view = chart().view();
  // Where the plan has its first forward stands its colour, a bit paler.
  const QImage with = picture();
  const RowPlace first = view.layout.placeOf(0);
  const int x = view.xOf(view.model.steps()[1].begin) + 4;
  const QColor ghost = with.pixelColor(x, view.yOf(first.bottom() + 5));
  EXPECT_GT(ghost.blue(), ghost.red() + 20) << "a forward";
  QTest::keyClick(&chart(), Qt::Key_G);
  EXPECT_LT(roomUnderRows(), PlanGhost::kHeight);
  EXPECT_FALSE(window_.findChild<QDockWidget*>("plan")->isVisible());
}

TEST_F(PlanWindowTest, TheListNamesWhatIsNotAsPlannedInTheStepInView) {
  open(slowForward());
  showPlan();
  chart().showStep(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return list().find("step 1 took") != std::string::npos; }));
  EXPECT_THAT(list(), AllOf(HasSubstr("1F1B with the median times of the run"),
                            HasSubstr("3F5 on rank 3 lasts 7.000 ms longer")));
  chart().showStep(3);
  ASSERT_TRUE(QTest::qWaitFor([&] { return list().find("step 3 took") != std::string::npos; }));
  EXPECT_THAT(list(), Not(HasSubstr("lasts")));
}

TEST_F(PlanWindowTest, AClickOnALineGoesToTheJob) {
  open(slowForward());
  showPlan();
  chart().showStep(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return list().find("3F5 on rank 3") != std::string::npos; }));
  auto* const lines = window_.findChild<QDockWidget*>("plan")->findChild<QListWidget*>();
  for (int i = 0; i < lines->count(); ++i) {
    if (!lines->item(i)->text().startsWith("3F5 on rank 3 lasts")) continue;
    lines->setCurrentRow(i);
    QTest::mouseClick(lines->viewport(), Qt::LeftButton, Qt::NoModifier,
                      lines->visualItemRect(lines->item(i)).center());
  }
  ASSERT_TRUE(chart().selection());
  EXPECT_EQ(chart().selection()->event->microBatch, 5);
  EXPECT_EQ(chart().selection()->event->stage, 3);
}

TEST_F(PlanWindowTest, TheCursorOnAJobShowsItsTwin) {
  open(slowForward());
  chart().showStep(1);
  showPlan();
  const QImage before = picture();
  const QPoint at = middleOf(3, JobKind::kForward, 5, 1);
  QTest::mouseMove(chart().viewport(), at);
  QMouseEvent move(QEvent::MouseMove, at, chart().viewport()->mapToGlobal(at), Qt::NoButton,
                   Qt::NoButton, Qt::NoModifier);
  QCoreApplication::sendEvent(chart().viewport(), &move);
  const auto twin = window_.planGhost()->twin();
  ASSERT_TRUE(twin);
  EXPECT_EQ(twin->planned.microBatch, 5);
  EXPECT_EQ(twin->planned.duration(), 10 * kNsPerMs);
  EXPECT_THAT(window_.planGhost()->textOf(*twin).toStdString(), HasSubstr("lasts +7.000 ms"));
  EXPECT_NE(picture(), before) << "it has an outline";
}

TEST_F(PlanWindowTest, WhereNoScheduleIsKnownTheListSaysSo) {
  open({.schedule = "PipeDream", .steps = 6});
  showPlan();
  EXPECT_THAT(list(), AllOf(HasSubstr("There is no plan to show"), HasSubstr("asynchronous")));
}

TEST_F(PlanWindowTest, AnotherRunHasItsOwnPlan) {
  open(slowForward());
  showPlan();
  const QTemporaryDir other;
  SimulatedRun{.schedule = "GPipe"}.writeTo(other.path().toStdString());
  window_.open({other.path()});
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        const PlannedSteps* const plan = window_.planGhost()->plan();
        return plan != nullptr && plan->schedule == "GPipe";
      },
      20'000));
}

}  // namespace
}  // namespace pipetrace
