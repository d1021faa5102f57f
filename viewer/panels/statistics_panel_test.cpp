#include "viewer/panels/statistics_panel.h"

#include <gmock/gmock.h>

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHeaderView>
#include <QPushButton>
#include <QToolTip>
#include <numeric>

#include "viewer/testing/shown_chart.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A panel beside a chart.
class ShownPanel {
 public:
  explicit ShownPanel(const TestRun& run = {.ranks = 2, .microBatches = 4, .steps = 1})
      : chart_(run), causes_(chart_.widget()), panel_(chart_.widget(), causes_) {
    panel_.resize(1000, 240);
    showActive(panel_);
    QCoreApplication::processEvents();
  }

  ShownChart& chart() { return chart_; }
  StatisticsPanel& panel() { return panel_; }
  QTableView& table() { return *panel_.findChild<QTableView*>("lines"); }
  QAbstractItemModel& model() { return *table().model(); }

  void mark(Nanoseconds begin, Nanoseconds end, std::vector<std::size_t> rows) {
    chart_.widget().setArea(ChartArea{{begin, end}, std::move(rows)});
    ASSERT_TRUE(waitForAll());
  }
  void choose(int by) {
    panel_.findChild<QComboBox*>()->setCurrentIndex(by);
    ASSERT_TRUE(waitForAll());
  }
  /// Until the percentiles of all lines are there.
  bool waitForAll() {
    return QTest::qWaitFor(
        [&] {
          const int last = model().rowCount() - 1;
          return last >= 0 && text(last, StatisticsTable::kMedian) != "…";
        },
        20'000);
  }
  std::string text(int row, int column) {
    return model().index(row, column).data().toString().toStdString();
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (int row = 0; row < model().rowCount(); ++row) names.push_back(text(row, 0));
    return names;
  }

 private:
  ShownChart chart_;
  Causes causes_;
  StatisticsPanel panel_;
};

constexpr Nanoseconds kRunEnd = kTestEpoch + kNsPerSecond;

TEST(StatisticsPanelTest, TheTableHasALineForEachKindAndOneForAll) {
  ShownPanel shown;
  shown.mark(kTestEpoch, kRunEnd, {0});
  // Rank 0 runs 4 forwards of 10 ms and 4 backwards of 20 ms.
  EXPECT_EQ(shown.names().front(), "backward") << "most time first";
  EXPECT_EQ(shown.names().back(), "all");
  EXPECT_EQ(shown.text(0, StatisticsTable::kCount), "4");
  EXPECT_EQ(shown.text(0, StatisticsTable::kTime), "80.00 ms");
  EXPECT_EQ(shown.text(0, StatisticsTable::kMean), "20.00 ms");
  EXPECT_EQ(shown.text(0, StatisticsTable::kP99), "20.00 ms");
  EXPECT_EQ(shown.text(shown.model().rowCount() - 1, StatisticsTable::kShare), "100.0 %");
  QString texts;
  for (const QLabel* label : shown.panel().findChildren<QLabel*>()) texts += label->text();
  EXPECT_THAT(texts.toStdString(), HasSubstr("1.000 s in 1 row: busy 12.0 %"));
}

TEST(StatisticsPanelTest, AnotherChoiceHasOtherLines) {
  ShownPanel shown;
  shown.mark(kTestEpoch, kRunEnd, {0, 1, 2, 3});
  shown.choose(2);
  EXPECT_THAT(shown.names(), testing::UnorderedElementsAre("rank 0", "rank 1", "all"));
  shown.choose(3);
  EXPECT_EQ(shown.names().back(), "all");
  EXPECT_EQ(shown.names().front(), "unknown");
}

TEST(StatisticsPanelTest, AnotherChoiceMayHaveNoSuchLineAsTheSelectedOne) {
  ShownPanel shown;
  Timeline timeline = makeTestTimeline({.ranks = 2, .microBatches = 4, .steps = 1});
  Track& kernels = timeline.track(0, "stream 7");
  Event kernel = timeline.findTrack(0, kComputeLane)->events.front();
  kernel.kind = JobKind::kKernel;  // its number is higher than that of any bubble class
  kernel.end = kernel.begin + kNsPerSecond / 2;
  kernels.events.push_back(kernel);
  timeline.sort();
  const ChartModel model(timeline);
  shown.chart().widget().setModel(&model);
  std::vector<std::size_t> rows(model.rows().size());
  std::iota(rows.begin(), rows.end(), 0);
  shown.mark(kTestEpoch, kRunEnd, rows);
  ASSERT_EQ(shown.names().front(), "kernel");
  shown.table().setCurrentIndex(shown.model().index(0, 0));
  shown.choose(3);
  EXPECT_EQ(shown.names().front(), "unknown");
  EXPECT_EQ(shown.table().currentIndex().row(), 0);
  shown.chart().widget().setModel(nullptr);
}

TEST(StatisticsPanelTest, AClickOnAHeadingSortsAndTheSumStaysLast) {
  ShownPanel shown;
  shown.mark(kTestEpoch, kRunEnd, {0});
  QHeaderView* const header = shown.table().horizontalHeader();
  const auto click = [&](int column) {
    QTest::mouseClick(
        header->viewport(), Qt::LeftButton, Qt::NoModifier,
        QPoint(header->sectionViewportPosition(column) + header->sectionSize(column) / 2,
               header->height() / 2));
  };
  const auto meansOf = [&] {
    std::vector<double> means;
    for (int row = 0; row + 1 < shown.model().rowCount(); ++row) {
      const QString text = QString::fromStdString(shown.text(row, StatisticsTable::kMean));
      const double unit = text.endsWith("ms") ? 1000 : 1;  // else us
      means.push_back(text.section(' ', 0, 0).toDouble() * unit);
    }
    return means;
  };
  click(StatisticsTable::kMean);
  const std::vector<double> means = meansOf();
  EXPECT_TRUE(std::is_sorted(means.begin(), means.end()) ||
              std::is_sorted(means.rbegin(), means.rend()));
  click(StatisticsTable::kMean);
  std::vector<double> reversed = meansOf();
  EXPECT_NE(reversed, means);
  EXPECT_EQ(shown.names().back(), "all");
}

TEST(StatisticsPanelTest, TheKeyAndTheButtonCopyWholeNanoseconds) {
  ShownPanel shown;
  const Event& job = shown.chart().job(0, JobKind::kForward, 1);
  shown.mark(job.begin + 1, job.end, {0});
  shown.table().setFocus();
  QGuiApplication::clipboard()->clear();
  QTest::keyClick(&shown.table(), Qt::Key_C, Qt::ControlModifier);
  const std::string copied = QGuiApplication::clipboard()->text().toStdString();
  EXPECT_EQ(
      copied,
      "kind,count,own_ns,time_ns,share,mean_ns,median_ns,p90_ns,p99_ns,min_ns,max_ns\n"
      "forward,1,9999999,9999999,1.000000,10000000,10000000,10000000,10000000,10000000,10000000\n"
      "all,1,9999999,9999999,1.000000,10000000,10000000,10000000,10000000,10000000,10000000\n");
  QGuiApplication::clipboard()->clear();
  QTest::mouseClick(shown.panel().findChild<QPushButton*>(), Qt::LeftButton);
  EXPECT_EQ(QGuiApplication::clipboard()->text().toStdString(), copied);
}

TEST(StatisticsPanelTest, TheHistogramIsThatOfTheSelectedLine) {
  ShownPanel shown;
  shown.mark(kTestEpoch, kRunEnd, {0});
  auto* const histogram = shown.panel().findChild<HistogramView*>();
  EXPECT_THAT(histogram->accessibleDescription().toStdString(), HasSubstr("backward: median 20"));
  shown.table().setFocus();
  QTest::keyClick(&shown.table(), Qt::Key_Down);
  EXPECT_THAT(histogram->accessibleDescription().toStdString(),
              HasSubstr(shown.names()[1] + ": median"));
  EXPECT_TRUE(QTest::qWaitFor([&] { return histogram->width() > 100; }, 20'000));
  // The other window may lie over this one, so the event is sent.
  const QPointF middle(histogram->width() / 2.0, histogram->height() / 2.0);
  QMouseEvent move(QEvent::MouseMove, middle, histogram->mapToGlobal(middle), Qt::NoButton,
                   Qt::NoButton, Qt::NoModifier);
  QCoreApplication::sendEvent(histogram, &move);
  EXPECT_THAT(awaitToolTip(" to "), HasSubstr(" to "));
}

TEST(StatisticsPanelTest, ADragShowsSumsAsItGoesAndPercentilesAtItsEnd) {
  ShownPanel shown;
  ShownChart& chart = shown.chart();
  const ChartView view = chart.widget().view();
  const int y = view.yOf(view.layout[0].top + 10);
  chart.dragWithoutRelease({view.area.x + 100, y}, {view.area.x + 500, y});
  EXPECT_TRUE(QTest::qWaitFor([&] { return shown.model().rowCount() > 1; }, 20'000));
  EXPECT_EQ(shown.text(0, StatisticsTable::kMedian), "…");
  QTest::mouseRelease(chart.widget().viewport(), Qt::LeftButton, Qt::NoModifier,
                      {view.area.x + 500, y});
  EXPECT_TRUE(shown.waitForAll());
}

/// Ranks that each have a thread with 40 nested calls of 10 ms inside one of 600 ms.
Timeline withOperators(int ranks) {
  Timeline timeline = makeTestTimeline({.ranks = ranks, .microBatches = 4, .steps = 1});
  for (int rank = 0; rank < ranks; ++rank) {
    Track& thread = timeline.track(rank, "thread 7");
    Event call{.begin = kTestEpoch, .end = kTestEpoch + 600 * kNsPerMs};
    call.kind = JobKind::kOther;
    thread.events.push_back(call);
    for (int i = 0; i < 40; ++i) {
      call.begin = kTestEpoch + (i * 12 + 10) * kNsPerMs;
      call.end = call.begin + 10 * kNsPerMs;
      thread.events.push_back(call);
    }
  }
  timeline.sort();
  return timeline;
}

class PanelOfOperators : public ShownPanel {
 public:
  explicit PanelOfOperators(int ranks) : timeline_(withOperators(ranks)), model_(timeline_) {
    chart().widget().setModel(&model_);
    std::vector<std::size_t> rows(model_.rows().size());
    std::iota(rows.begin(), rows.end(), 0);
    mark(kTestEpoch, kRunEnd, rows);
  }
  ~PanelOfOperators() { chart().widget().setModel(nullptr); }

  QComboBox& events() { return *panel().findChildren<QComboBox*>().at(1); }

 private:
  Timeline timeline_;
  ChartModel model_;
};

TEST(StatisticsPanelTest, NestedOperatorsHaveAnOwnTimeAndATotal) {
  PanelOfOperators shown(1);
  std::size_t row = 0;
  while (shown.names().at(row) != "other") ++row;
  EXPECT_EQ(shown.text(static_cast<int>(row), StatisticsTable::kOwnTime), "600.0 ms");
  EXPECT_EQ(shown.text(static_cast<int>(row), StatisticsTable::kTime), "1.000 s");
}

TEST(StatisticsPanelTest, RanksHaveTheTimeOfTheirJobsUntilOthersAreChosen) {
  PanelOfOperators shown(2);
  shown.choose(2);
  EXPECT_EQ(shown.events().currentText(), "jobs");
  EXPECT_EQ(shown.text(0, StatisticsTable::kOwnTime), shown.text(0, StatisticsTable::kTime));
  const std::string jobs = shown.text(0, StatisticsTable::kOwnTime);
  shown.events().setCurrentIndex(3);
  ASSERT_TRUE(shown.waitForAll());
  EXPECT_EQ(shown.text(0, StatisticsTable::kOwnTime), "600.0 ms");
  shown.choose(0);
  EXPECT_EQ(shown.events().currentText(), "all events");
  shown.choose(2);
  EXPECT_EQ(shown.events().currentText(), "operators") << "each choice of lines has its own";
  shown.events().setCurrentIndex(1);
  ASSERT_TRUE(shown.waitForAll());
  EXPECT_EQ(shown.text(0, StatisticsTable::kOwnTime), jobs);
}

TEST(StatisticsPanelTest, KindsByRankAreATableOfTheirOwn) {
  PanelOfOperators shown(2);
  shown.choose(4);
  auto& view = *shown.panel().findChild<QTableView*>("pivot");
  ASSERT_TRUE(view.isVisible());
  const QAbstractItemModel& pivot = *view.model();
  ASSERT_EQ(pivot.rowCount(), 3);
  std::vector<std::string> kinds;
  for (int i = 0; i < pivot.columnCount(); ++i) {
    kinds.push_back(pivot.headerData(i, Qt::Horizontal).toString().toStdString());
  }
  EXPECT_EQ(kinds.front(), "Rank");
  EXPECT_EQ(kinds.back(), "bubble") << "idle time comes last";
  const auto column =
      static_cast<int>(std::find(kinds.begin(), kinds.end(), "forward") - kinds.begin());
  EXPECT_EQ(pivot.index(1, column).data().toString(), "40.00 ms");
  EXPECT_EQ(pivot.index(2, column).data().toString(), "80.00 ms");
  EXPECT_EQ(pivot.index(2, 0).data().toString(), "all");
  view.setFocus();
  QTest::keyClick(&view, Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(
      QGuiApplication::clipboard()->text().toStdString(),
      testing::AllOf(testing::StartsWith("rank,"), HasSubstr("forward_own_ns"), HasSubstr("\n1,")));
  view.sortByColumn(0, Qt::DescendingOrder);
  EXPECT_EQ(pivot.index(0, 0).data().toString(), "rank 1");
  EXPECT_EQ(pivot.index(2, 0).data().toString(), "all") << "it stays last";
}

TEST(StatisticsPanelTest, TheSelectedLineIsInSightWhenTheTableOpensAndAfterSorting) {
  ShownPanel shown({.ranks = 64, .microBatches = 2, .steps = 1});
  shown.panel().hide();
  std::vector<std::size_t> rows(shown.chart().model().rows().size());
  std::iota(rows.begin(), rows.end(), 0);
  shown.mark(kTestEpoch, kRunEnd, rows);
  shown.choose(2);
  const auto isInSight = [&] {
    const QRect row = shown.table().visualRect(shown.table().currentIndex());
    return shown.table().viewport()->rect().contains(row.center());
  };
  shown.table().setCurrentIndex(shown.model().index(60, 0));
  showActive(shown.panel());
  EXPECT_TRUE(QTest::qWaitFor(isInSight, 5000)) << "as it opens";
  for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
    shown.table().sortByColumn(StatisticsTable::kName, order);
    EXPECT_TRUE(QTest::qWaitFor(isInSight, 5000)) << "sorted " << order;
  }
}

TEST(StatisticsPanelTest, WithoutAnAreaTheTableIsEmpty) {
  ShownPanel shown;
  shown.mark(kTestEpoch, kRunEnd, {0});
  showActive(shown.chart().widget());  // a shortcut works in the window that has the keys
  shown.chart().key(Qt::Key_Escape);
  EXPECT_EQ(shown.model().rowCount(), 0);
}

TEST(StatisticsPanelTest, AreasAndModelsMayChangeWhileStatisticsAreFound) {
  ShownPanel shown({.ranks = 8, .microBatches = 32, .steps = 40});
  ChartWidget& widget = shown.chart().widget();
  for (int i = 0; i < 60; ++i) {
    widget.setArea(ChartArea{{kTestEpoch, kTestEpoch + (i + 1) * 20 * kNsPerMs}, {0, 1, 2, 3, 4}});
    if (i % 7 == 0) shown.panel().findChild<QComboBox*>()->setCurrentIndex(i % 4);
    if (i % 5 == 0) QCoreApplication::processEvents();
    if (i % 20 == 19) widget.setModel(&shown.chart().model());
  }
  shown.mark(kTestEpoch, kTestEpoch + 10 * kNsPerSecond, {0});
  shown.choose(0);
  EXPECT_EQ(shown.names().back(), "all");
}

}  // namespace
}  // namespace pipetrace
