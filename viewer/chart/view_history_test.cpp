#include "viewer/chart/view_history.h"

#include <gmock/gmock.h>

#include <QScrollBar>
#include <random>

#include "viewer/chart/chart_commands.h"
#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

/// A chart whose events are each worked off before the next one, as a desktop's are.
struct Watched : ShownChart {
  using ShownChart::ShownChart;

  ViewState state() const { return widget().viewState(); }
  void turnWheel(QPoint angle, Qt::KeyboardModifiers modifiers = {}) {
    wheel({600, 300}, angle, modifiers);
    QCoreApplication::processEvents();
  }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(&widget(), key, modifiers);
    QCoreApplication::processEvents();
  }
  void click(int rank, const Event& event) {
    QTest::mouseClick(widget().viewport(), Qt::LeftButton, {}, middleOf(rank, event));
    QCoreApplication::processEvents();
  }
  void undo() { press(Qt::Key_Z, Qt::ControlModifier); }
  void redo() { press(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier); }
  QAction* command(const char* name) {
    for (QAction* action : commandsOf(widget(), CommandMenu::kEdit)) {
      if (action->objectName() == name) return action;
    }
    return nullptr;
  }
  /// Longer than the changes of a burst are apart.
  static void pause() { QTest::qWait(700); }
};

TEST(ViewHistoryTest, ABurstOfTheWheelIsOneEntry) {
  Watched chart;
  const ViewState whole = chart.state();
  for (int i = 0; i < 6; ++i) chart.turnWheel({0, 120});
  const ViewState zoomed = chart.state();
  ASSERT_FALSE(zoomed == whole);
  chart.undo();
  EXPECT_TRUE(chart.state() == whole);
  EXPECT_TRUE(chart.widget().isFitted());
  EXPECT_FALSE(chart.command("undo")->isEnabled());
  chart.redo();
  EXPECT_TRUE(chart.state() == zoomed);
  EXPECT_FALSE(chart.command("redo")->isEnabled());
}

TEST(ViewHistoryTest, APauseBeginsAnotherEntry) {
  Watched chart;
  chart.turnWheel({0, 120});
  const ViewState first = chart.state();
  Watched::pause();
  chart.turnWheel({0, 120});
  chart.undo();
  EXPECT_TRUE(chart.state() == first);
}

TEST(ViewHistoryTest, TheMenuSaysWhatWouldBeTakenBack) {
  Watched chart;
  EXPECT_EQ(chart.command("undo")->text(), "&Undo");
  chart.turnWheel({0, 120});
  EXPECT_EQ(chart.command("undo")->text(), "&Undo zoom");
  chart.press(Qt::Key_D);
  EXPECT_EQ(chart.command("undo")->text(), "&Undo move");
  chart.click(1, chart.job(1, JobKind::kForward, 3, 1));
  EXPECT_EQ(chart.command("undo")->text(), "&Undo selection");
  chart.undo();
  EXPECT_EQ(chart.command("undo")->text(), "&Undo move");
  EXPECT_EQ(chart.command("redo")->text(), "&Redo selection");
}

TEST(ViewHistoryTest, ADragIsOneEntryHoweverLongItTakes) {
  Watched chart;
  for (int i = 0; i < 4; ++i) chart.turnWheel({0, 120});
  Watched::pause();
  const ViewState before = chart.state();
  QWidget* viewport = chart.widget().viewport();
  QTest::mousePress(viewport, Qt::LeftButton, Qt::ShiftModifier, {600, 300});
  for (const int x : {580, 540, 500}) {
    const QPoint at(x, 300);
    QMouseEvent move(QEvent::MouseMove, at, viewport->mapToGlobal(at), Qt::NoButton, Qt::LeftButton,
                     Qt::ShiftModifier);
    QCoreApplication::sendEvent(viewport, &move);
    Watched::pause();
  }
  QTest::mouseRelease(viewport, Qt::LeftButton, Qt::ShiftModifier, {500, 300});
  ASSERT_FALSE(chart.state() == before);
  chart.undo();
  EXPECT_TRUE(chart.state() == before);
}

TEST(ViewHistoryTest, SelectionsComeBackOneByOne) {
  Watched chart;
  const Event& first = chart.job(1, JobKind::kForward, 5, 2);
  const Event& second = chart.job(2, JobKind::kBackward, 1, 0);
  chart.click(1, first);
  chart.click(2, second);
  chart.undo();
  ASSERT_TRUE(chart.widget().selection());
  EXPECT_EQ(chart.widget().selection()->event, &first);
  chart.undo();
  EXPECT_FALSE(chart.widget().selection());
  chart.redo();
  chart.redo();
  EXPECT_EQ(chart.widget().selection()->event, &second);
}

TEST(ViewHistoryTest, BackspaceTakesBackTheZoomAndKeepsTheSelection) {
  Watched chart;
  const ViewState whole = chart.state();
  chart.turnWheel({0, 120});
  const Event& job = chart.job(1, JobKind::kForward, 3, 1);
  chart.click(1, job);
  chart.press(Qt::Key_Backspace);
  EXPECT_TRUE(chart.state().hasTimeOf(whole));
  ASSERT_TRUE(chart.widget().selection());
  EXPECT_EQ(chart.widget().selection()->event, &job);
  chart.press(Qt::Key_Backspace);
  EXPECT_TRUE(chart.state().hasTimeOf(whole)) << "there is nothing left to take back";
}

TEST(ViewHistoryTest, AnythingNewEndsWhatCouldBeBroughtBack) {
  Watched chart;
  chart.turnWheel({0, 120});
  chart.undo();
  chart.turnWheel({0, 240});
  const ViewState now = chart.state();
  chart.redo();
  EXPECT_TRUE(chart.state() == now);
}

TEST(ViewHistoryTest, TheSizeOfTheWindowIsNoEntry) {
  Watched chart({.ranks = 32, .steps = 1});
  chart.widget().setRowHeight(RowHeights{}.compute);
  QCoreApplication::processEvents();
  chart.widget().verticalScrollBar()->setValue(chart.widget().verticalScrollBar()->maximum());
  QCoreApplication::processEvents();
  ASSERT_EQ(chart.command("undo")->text(), "&Undo move");
  chart.undo();
  chart.widget().resize(800, 900);
  QCoreApplication::processEvents();
  EXPECT_FALSE(chart.command("undo")->isEnabled());
}

TEST(ViewHistoryTest, AnotherModelBeginsAnotherHistory) {
  Watched chart;
  chart.turnWheel({0, 120});
  const Timeline timeline = makeTestTimeline({.ranks = 2});
  const ChartModel other(timeline);
  chart.widget().setModel(&other);
  QCoreApplication::processEvents();
  EXPECT_FALSE(chart.command("undo")->isEnabled());
  chart.widget().setModel(nullptr);
}

TEST(ViewHistoryTest, ARunThatGrowsKeepsItsHistory) {
  Watched chart({.steps = 3});
  const Event& job = chart.job(1, JobKind::kForward, 5, 2);
  const ViewState whole = chart.state();
  chart.click(1, job);
  chart.turnWheel({0, 120});
  chart.click(2, chart.job(2, JobKind::kForward, 1, 1));
  const Timeline timeline = makeTestTimeline({.steps = 5});
  const ChartModel grown(timeline);
  chart.widget().replaceModel(&grown);
  QCoreApplication::processEvents();
  EXPECT_EQ(chart.command("undo")->text(), "&Undo selection") << "growing is no entry";
  chart.undo();
  ASSERT_TRUE(chart.widget().selection());
  const Event* selected = chart.widget().selection()->event;
  EXPECT_NE(selected, &job) << "it is the event of the new model";
  EXPECT_EQ(selected->begin, job.begin);
  chart.undo();
  EXPECT_TRUE(chart.widget().isFitted());
  EXPECT_GT(chart.axis().span(), whole.end - whole.begin);
  chart.widget().setModel(nullptr);
}

TEST(ViewHistoryTest, AllOfARandomWalkIsTakenBackAndBroughtBack) {
  Watched chart({.ranks = 24, .steps = 3});
  const ViewState first = chart.state();
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    switch (random() % 6) {
      case 0: chart.turnWheel({0, random() % 2 == 0 ? 120 : -120}); break;
      case 1: chart.turnWheel({120, 0}, Qt::ShiftModifier); break;
      case 2: chart.press(random() % 2 == 0 ? Qt::Key_N : Qt::Key_P); break;
      case 3: chart.press(Qt::Key_Down); break;
      case 4: chart.press(Qt::Key_0); break;
      default:
        QTest::mouseClick(
            chart.widget().viewport(), Qt::LeftButton, {},
            QPoint(200 + static_cast<int>(random() % 900), 80 + static_cast<int>(random() % 500)));
        QCoreApplication::processEvents();
    }
  }
  const ViewState last = chart.state();
  int undone = 0;
  while (chart.command("undo")->isEnabled() && undone < 100) {
    chart.undo();
    ++undone;
  }
  EXPECT_GT(undone, 10);
  EXPECT_TRUE(chart.state() == first);
  for (int i = 0; i < undone; ++i) chart.redo();
  EXPECT_TRUE(chart.state() == last);
}

}  // namespace
}  // namespace pipetrace
