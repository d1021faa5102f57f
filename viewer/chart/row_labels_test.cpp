#include "viewer/chart/row_labels.h"

#include <gmock/gmock.h>

#include <QContextMenuEvent>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolTip>

#include "chart/testing/replicas.h"
#include "chart/testing/rows_text.h"
#include "trace/testing/folders.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/run/loaded_profile.h"
#include "viewer/testing/shown_chart.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

/// A chart of a run whose rows are pointed at.
class Rows {
 public:
  explicit Rows(Timeline timeline, QSize size = {1200, 640}) : chart(std::move(timeline), size) {}

  RowLabels& labels() { return *chart.widget().rowLabels(); }
  const RowState& state() { return chart.widget().rowState(); }
  std::string text() { return rowsText(chart.model(), state()); }
  std::string current() {
    const std::size_t node = labels().current();
    return node == RowNode::kNone ? "" : chart.model().rowTree(state().grouping)[node].key;
  }

  /// The middle of a row's label, at `x` of the labels.
  QPoint at(const std::string& key, int x = 60) {
    const ChartView view = chart.widget().view();
    for (std::size_t i = 0; i < view.layout.shown().size(); ++i) {
      if ((*view.layout.tree())[view.layout.shown()[i].node].key != key) continue;
      const RowPlace place = view.layout.placeOf(i);
      return {x, view.yOf(place.top) - view.area.y + place.height / 2};
    }
    throw std::out_of_range(key + " is not shown");
  }
  void click(const std::string& key, int x) {
    QTest::mouseClick(&labels(), Qt::LeftButton, Qt::NoModifier, at(key, x));
  }
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&labels(), key, modifiers);
  }
  void drag(QPoint from, QPoint to) {
    QTest::mousePress(&labels(), Qt::LeftButton, Qt::NoModifier, from);
    for (const QPoint& through : {(from + to) / 2, to}) {
      QMouseEvent move(QEvent::MouseMove, through, labels().mapToGlobal(through), Qt::NoButton,
                       Qt::LeftButton, Qt::NoModifier);
      QCoreApplication::sendEvent(&labels(), &move);
    }
    QTest::mouseRelease(&labels(), Qt::LeftButton, Qt::NoModifier, to);
  }
  void command(const char* name) {
    for (QAction* action : commandsOf(chart.widget(), CommandMenu::kRows)) {
      if (action->objectName() == QLatin1String(name)) return action->trigger();
    }
    throw std::out_of_range(name);
  }

  ShownChart chart;
};

constexpr int kTriangle = 12;  // x of the triangles of the first level

Timeline twoReplicas() { return makeReplicas(2, {.ranks = 2, .steps = 1}); }
Timeline threeRanks() { return makeTestTimeline({.ranks = 3, .steps = 1}); }

TEST(RowLabelsTest, AClickOnATriangleFoldsAndUnfolds) {
  Rows rows(threeRanks());
  const QSignalSpy changes(&rows.chart.widget(), &ChartWidget::rowsChanged);
  rows.click("rank 1", kTriangle);
  EXPECT_EQ(rows.text(), "- rank 0\n  . recv\n  . send\n+ rank 1\n- rank 2\n  . recv\n  . send\n");
  EXPECT_EQ(changes.count(), 1);
  rows.click("rank 1", 60);
  EXPECT_EQ(changes.count(), 1) << "the name of a rank only becomes the current row";
  EXPECT_EQ(rows.current(), "rank 1");
  rows.click("rank 1", kTriangle);
  EXPECT_EQ(rows.state(), RowState{});
}

TEST(RowLabelsTest, AClickOnTheNameOfAReplicaUnfoldsIt) {
  Rows rows(twoReplicas());
  rows.click("replica 0", 60);
  EXPECT_THAT(rows.text(), testing::StartsWith("- replica 0\n  - rank 0\n"));
  rows.click("replica 0", 60);
  EXPECT_EQ(rows.state(), RowState{});
}

TEST(RowLabelsTest, AClickOnARowThatIsPartlyInViewFoldsThatRow) {
  Rows rows(makeReplicas(20, {.ranks = 2, .steps = 1}));
  rows.chart.widget().verticalScrollBar()->setValue(20);
  const QPoint top(60, 3);  // replica 0 reaches above the view
  QTest::mouseClick(&rows.labels(), Qt::LeftButton, Qt::NoModifier, top);
  EXPECT_EQ(rows.current(), "replica 0");
  EXPECT_EQ(rows.state().folded, (std::map<std::string, bool>{{"replica 0", false}}));
}

TEST(RowLabelsTest, KeysWalkAndFold) {
  Rows rows(twoReplicas());
  rows.labels().setFocus();
  EXPECT_EQ(rows.current(), "replica 0");
  rows.key(Qt::Key_Right);
  EXPECT_FALSE(rows.state().folded.at("replica 0"));
  rows.key(Qt::Key_Right);
  EXPECT_EQ(rows.current(), "rank 0");
}

TEST(RowLabelsTest, LeftAndEnterFoldAndDoNotMoveTheTime) {
  Rows rows(threeRanks());
  rows.labels().setFocus();
  for (int i = 0; i < 3; ++i) rows.chart.widget().zoomBy(1);
  const Nanoseconds begin = rows.chart.axis().begin();
  rows.key(Qt::Key_Down);
  EXPECT_EQ(rows.current(), "rank 0/recv");
  rows.key(Qt::Key_Left);
  EXPECT_EQ(rows.current(), "rank 0") << "to the row above";
  rows.key(Qt::Key_Left);
  EXPECT_THAT(rows.text(), testing::StartsWith("+ rank 0\n- rank 1\n"));
  rows.key(Qt::Key_Return);
  EXPECT_EQ(rows.state(), RowState{});
  rows.key(Qt::Key_End);
  EXPECT_EQ(rows.current(), "rank 2/send");
  rows.key(Qt::Key_Home);
  EXPECT_EQ(rows.current(), "rank 0");
  EXPECT_EQ(rows.chart.axis().begin(), begin);
}

TEST(RowLabelsTest, TheCurrentRowScrollsIntoView) {
  Rows rows(makeTestTimeline({.ranks = 40, .steps = 1}));
  rows.labels().setFocus();
  rows.key(Qt::Key_End);
  EXPECT_EQ(rows.current(), "rank 39/send");
  const QPoint last = rows.at("rank 39/send");
  EXPECT_GT(last.y(), 0);
  EXPECT_LT(last.y(), rows.labels().height());
  rows.key(Qt::Key_PageUp);
  EXPECT_NE(rows.current(), "rank 39/send");
}

TEST(RowLabelsTest, DraggingALabelReordersItsNeighbours) {
  Rows rows(threeRanks());
  rows.drag(rows.at("rank 2"), rows.at("rank 0") - QPoint(0, 8));
  EXPECT_EQ(rows.state().order.at(""), (std::vector<std::string>{"rank 2", "rank 0", "rank 1"}));
  rows.drag(rows.at("rank 2"), rows.at("rank 1/send") + QPoint(0, 20));
  EXPECT_EQ(rows.state(), RowState{}) << "behind rank 1 it is where it was";
  rows.drag(rows.at("rank 1/send"), rows.at("rank 1/recv") - QPoint(0, 4));
  EXPECT_EQ(rows.state().order.at("rank 1"),
            (std::vector<std::string>{"rank 1/send", "rank 1/recv"}));
}

TEST(RowLabelsTest, CommandsActOnTheCurrentRow) {
  Rows rows(threeRanks());
  rows.click("rank 1", 60);
  rows.command("row-up");
  EXPECT_EQ(rows.state().order.at(""), (std::vector<std::string>{"rank 1", "rank 0", "rank 2"}));
  QTest::keyClick(&rows.labels(), Qt::Key_Down, Qt::AltModifier);
  EXPECT_EQ(rows.state(), RowState{});
  rows.command("fold-all");
  EXPECT_EQ(rows.text(), "+ rank 0\n+ rank 1\n+ rank 2\n");
  rows.command("hide-row");
  EXPECT_EQ(rows.text(), "+ rank 0\n+ rank 2\n");
  EXPECT_EQ(rows.current(), "rank 2");
  rows.command("show-all-rows");
  rows.command("pin-row");
  EXPECT_EQ(rows.text(), "+ rank 2\n----\n+ rank 0\n+ rank 1\n");
  rows.command("pin-row");
  rows.command("unfold-all");
  EXPECT_EQ(rows.state(), RowState{});
  rows.command("rows-by-stage");
  EXPECT_THAT(rows.text(), testing::StartsWith("- stage 0\n"));
  rows.command("rows-as-opened");
  EXPECT_EQ(rows.state(), RowState{});
}

TEST(RowLabelsTest, PinnedRowsStayWhenTheOthersScroll) {
  Rows rows(makeTestTimeline({.ranks = 40, .steps = 1}));
  rows.click("rank 2", 60);
  rows.command("pin-row");
  ChartWidget& widget = rows.chart.widget();
  widget.verticalScrollBar()->setValue(1000);
  EXPECT_LT(rows.at("rank 2").y(), 40);
  const Event& job = rows.chart.job(2, JobKind::kBackward, 3);
  QTest::mouseClick(widget.viewport(), Qt::LeftButton, Qt::NoModifier, rows.chart.middleOf(2, job));
  ASSERT_TRUE(widget.selection());
  EXPECT_EQ(widget.selection()->event, &job);
}

TEST(RowLabelsTest, TheMenuOfARowHasItsCommandsByMouseAndByKey) {
  Rows rows(threeRanks());
  for (const auto reason : {QContextMenuEvent::Mouse, QContextMenuEvent::Keyboard}) {
    rows.click("rank 1", 60);
    const QPoint at = rows.at("rank 1");
    QContextMenuEvent event(reason, at, rows.labels().mapToGlobal(at));
    QCoreApplication::sendEvent(&rows.labels(), &event);
    auto* menu = rows.labels().findChild<QMenu*>();
    ASSERT_NE(menu, nullptr);
    EXPECT_EQ(menu->actions().front()->text(), "rank 1");
    EXPECT_GT(menu->actions().size(), 8);
    menu->close();
    delete menu;
  }
}

TEST(RowLabelsTest, HoveringALabelShowsWhatTheRowHolds) {
  Rows rows(twoReplicas());
  QTest::mouseMove(&rows.labels(), rows.at("replica 0"));
  EXPECT_THAT(awaitToolTip("2 ranks"), HasSubstr("2 ranks"));
}

TEST(RowLabelsTest, HoveringAFoldedReplicaShowsItsShare) {
  Rows rows(twoReplicas());
  const ChartView view = rows.chart.widget().view();
  const RowPlace place = view.layout.placeOf(0);
  const Event& job = rows.chart.job(0, JobKind::kForward, 0);  // rank 1 does nothing yet
  QTest::mouseMove(rows.chart.widget().viewport(),
                   QPoint(view.xOf(job.begin + job.duration() / 2), view.yOf(place.top + 4)));
  EXPECT_THAT(awaitToolTip("50.0 % of 2 ranks"), HasSubstr("50.0 % of 2 ranks"));
}

TEST(RowLabelsTest, HoveringACounterShowsItsValue) {
  Timeline timeline = threeRanks();
  const Timeline::Span span = timeline.span();
  timeline.counters.push_back({0, "memory", "bytes", {{span.begin, 3.0 * 1024 * 1024}}});
  Rows rows(std::move(timeline));
  const ChartView view = rows.chart.widget().view();
  const int y = rows.at("rank 0//counter/memory").y() + view.area.y;
  QTest::mouseMove(rows.chart.widget().viewport(), QPoint(view.area.x + 300, y));
  EXPECT_THAT(awaitToolTip("3 MiB"), HasSubstr("3 MiB"));
}

TEST(RowFilterTest, TypingFiltersAndEscapeShowsAllAgain) {
  Rows rows(threeRanks());
  RowFilter* filter = rows.chart.widget().rowFilter();
  filter->setFocus();
  QTest::keyClicks(filter, "rank 1");
  EXPECT_EQ(rows.text(), "- rank 1\n  . recv\n  . send\n");
  const Nanoseconds span = rows.chart.axis().span();
  QTest::keyClicks(filter, "wasd");
  EXPECT_EQ(rows.text(), "");
  EXPECT_EQ(rows.chart.axis().span(), span) << "letters are no commands here";
  QTest::keyClick(filter, Qt::Key_Escape);
  EXPECT_EQ(rows.state(), RowState{});
  EXPECT_TRUE(rows.chart.widget().hasFocus());
  rows.chart.widget().setRowState({.filter = "send"});
  EXPECT_EQ(filter->text(), "send");
}

TEST(ChartRowsTest, GoingToACulpritUnfoldsItsRow) {
  Timeline timeline = threeRanks();
  Track& bubbles = timeline.track(0, kBubbleLane);
  const Event& job = timeline.findTrack(2, kComputeLane)->events[3];
  bubbles.events.clear();
  bubbles.events.push_back({.begin = job.end,
                            .end = job.end + 5 * kNsPerMs,
                            .job = job.job,
                            .peer = 2,
                            .kind = JobKind::kBubble,
                            .bubbleClass = BubbleClass::kImbalance});
  Rows rows(std::move(timeline));
  ChartWidget& widget = rows.chart.widget();
  widget.setRowState({.hidden = {"rank 2"}});
  const ChartView view = widget.view();
  const Event& bubble = rows.chart.model().rows()[0].bubbles[0][0];
  widget.verticalScrollBar()->setValue(0);
  QTest::mouseClick(
      widget.viewport(), Qt::LeftButton, Qt::NoModifier,
      QPoint(view.xOf(bubble.begin + bubble.duration() / 2), view.yOf(view.layout[0].top + 2)));
  rows.chart.key(Qt::Key_C);
  ASSERT_TRUE(widget.selection());
  EXPECT_EQ(widget.selection()->event->job, job.job);
  EXPECT_TRUE(widget.view().layout.isShown(widget.selection()->row));
  EXPECT_EQ(rows.state(), RowState{});
}

TEST(ChartRowsTest, ThreadsOfATorchTraceStartAsOneRowUnderTheirRank) {
  const auto profile =
      loadProfile({test::inSources("parser/testing/torch_gloo/1f1b")}, AlignBy::kNone);
  std::string expected;
  for (const char* rank : {"0", "1", "2", "3"}) {
    expected += std::string("- rank ") + rank + "\n  . recv\n  . send\n  + 2 other lanes\n";
  }
  EXPECT_EQ(rowsText(profile->model()), expected);
}

TEST(ChartRowsTest, AChartOfFiveThousandRowsPaintsThoseInView) {
  Rows rows(makeTestTimeline({.ranks = 1700, .microBatches = 2, .steps = 1}));
  ASSERT_GT(rows.chart.model().rows().size(), 5000U);
  ChartWidget& widget = rows.chart.widget();
  EXPECT_LT(widget.view().rowsInView().size(), 200U);
  const std::size_t unfolded = widget.view().layout.shown().size();
  widget.foldAllRows(true);
  EXPECT_LT(widget.view().layout.shown().size(), unfolded / 2);
  EXPECT_LT(widget.view().rowsInView().size(), 200U);
}

}  // namespace
}  // namespace pipetrace
