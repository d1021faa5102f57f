#include "viewer/panels/waiting_panel.h"

#include <gmock/gmock.h>

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QTableView>
#include <filesystem>

#include "trace/testing/folders.h"
#include "viewer/panels/statistics_panel.h"
#include "viewer/run/loaded_profile.h"
#include "viewer/testing/explained_chart.h"
#include "viewer/testing/shown_window.h"
#include "viewer/testing/slow_peer_run.h"

namespace pipetrace {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// The heat map beside an explained chart.
class ShownMap {
 public:
  explicit ShownMap(Timeline timeline)
      : chart_(std::move(timeline)), panel_(chart_.widget(), chart_.causes()) {
    panel_.resize(800, 240);
    showActive(panel_);
  }

  ExplainedChart& chart() { return chart_; }
  WaitingPanel& panel() { return panel_; }
  QTableView& view() { return *panel_.findChild<QTableView*>(); }
  QComboBox& by() { return *panel_.findChild<QComboBox*>(); }
  std::vector<std::string> line(int row) {
    std::vector<std::string> texts;
    for (int column = 0; column < view().model()->columnCount(); ++column) {
      texts.push_back(view().model()->index(row, column).data().toString().toStdString());
    }
    return texts;
  }
  QColor colorAt(int row, int column) {
    return view().model()->index(row, column).data(Qt::BackgroundRole).value<QColor>();
  }
  void click(int row, int column) {
    const QModelIndex cell = view().model()->index(row, column);
    view().scrollTo(cell);
    QTest::mouseClick(view().viewport(), Qt::LeftButton, {}, view().visualRect(cell).center());
  }
  std::string words() {
    std::string words;
    for (const QLabel* label : panel_.findChildren<QLabel*>()) {
      if (label->isVisible()) words += label->text().toStdString() + "\n";
    }
    return words;
  }

 private:
  ExplainedChart chart_;
  WaitingPanel panel_;
};

TEST(WaitingPanelTest, TheMapHasWhatRanksWaitByPlaceMicroBatchAndStep) {
  ShownMap shown(runWithASlowPeer().timeline());
  ASSERT_EQ(shown.by().count(), 4);
  EXPECT_EQ(shown.by().itemText(0), "by place in the job");
  // Of a step: four forwards with 1.25 ms at each place, four backwards with 2.5 ms.
  EXPECT_THAT(shown.line(0), ElementsAre("5.000 ms", "5.000 ms", "10.00 ms", "10.00 ms"));
  EXPECT_THAT(shown.line(1), Each("-"));
  EXPECT_EQ(shown.view().model()->headerData(0, Qt::Horizontal).toString(), "forward\u00a01");
  EXPECT_EQ(shown.view().model()->headerData(1, Qt::Vertical).toString(), "rank 1");
  shown.by().setCurrentIndex(1);
  EXPECT_THAT(shown.line(0), ElementsAre("7.500 ms", "7.500 ms", "7.500 ms", "7.500 ms"));
  shown.by().setCurrentIndex(2);
  EXPECT_THAT(shown.line(0), ElementsAre("30.00 ms", "30.00 ms", "30.00 ms"));
}

TEST(WaitingPanelTest, TheLastMapHasTheOwnTimeOfRanksByMicroBatch) {
  ShownMap shown(runWithASlowPeer().timeline());
  shown.by().setCurrentIndex(3);
  EXPECT_EQ(shown.by().itemText(3), "own time by micro-batch");
  // A forward of two layers of 5 ms, and a backward that takes twice as long; rank 1 1.25 times.
  EXPECT_THAT(shown.line(0), Each("30.00 ms"));
  EXPECT_THAT(shown.line(1), Each("37.50 ms"));
  EXPECT_GT(shown.colorAt(0, 0).lightness(), shown.colorAt(1, 0).lightness() + 60)
      << "the shortest is as pale as can be";
  EXPECT_EQ(shown.panel().findChild<HeatScale*>()->accessibleDescription(),
            "from 30.00 ms to 37.50 ms");
  shown.click(1, 2);
  EXPECT_EQ(shown.chart().selected(), "0B2") << "the longest of the two jobs";
  shown.panel().copyCsv();
  EXPECT_THAT(QGuiApplication::clipboard()->text().toStdString(),
              StartsWith("rank,micro-batch 0 own_ns,"));
}

TEST(WaitingPanelTest, AClickAndEnterGoToTheJobThatWaitedLongestThere) {
  ShownMap shown(runWithASlowPeer().timeline());
  shown.click(0, 3);
  ASSERT_TRUE(shown.chart().widget().selection());
  EXPECT_EQ(shown.chart().selected(), "0B0");
  shown.by().setCurrentIndex(1);
  shown.view().setFocus();
  shown.view().setCurrentIndex(shown.view().model()->index(0, 1));
  QTest::keyClick(&shown.view(), Qt::Key_Right);
  QTest::keyClick(&shown.view(), Qt::Key_Return);
  EXPECT_EQ(shown.chart().selected(), "0B2");
  shown.click(1, 0);
  EXPECT_EQ(shown.chart().selected(), "0B2") << "rank 1 waits for nobody";
}

TEST(WaitingPanelTest, ColoursAreThoseOfTheThemeAndTheirScaleIsShown) {
  ShownMap shown(runWithASlowPeer().timeline());
  const QColor light = shown.colorAt(0, 2);
  EXPECT_NE(light, shown.colorAt(0, 0)) << "half as long";
  EXPECT_NE(shown.colorAt(0, 0), shown.colorAt(1, 0));
  shown.chart().setTheme(themeOf(ThemeName::kColourBlind, true));
  shown.panel().updateTheme();
  EXPECT_NE(shown.colorAt(0, 2), light);
  EXPECT_LT(shown.colorAt(1, 0).lightness(), 60) << "the paper is dark";
  EXPECT_EQ(shown.panel().findChild<HeatScale*>()->accessibleDescription(),
            "from no waiting to 10.00 ms");
}

TEST(WaitingPanelTest, CtrlCCopiesTheMap) {
  ShownMap shown(runWithASlowPeer().timeline());
  shown.by().setCurrentIndex(2);
  shown.view().setFocus();
  QGuiApplication::clipboard()->clear();
  QTest::keyClick(&shown.view(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_THAT(QGuiApplication::clipboard()->text().toStdString(),
              StartsWith("rank,step 0 wait_inside_ns,step 1 wait_inside_ns,"
                         "step 2 wait_inside_ns\n0,30000000,30000000,30000000\n1,0,0,0\n"));
}

TEST(WaitingPanelTest, ItSaysWhyItIsEmpty) {
  ShownMap plain(makeTestTimeline({}));
  EXPECT_FALSE(plain.panel().isThere());
  EXPECT_THAT(plain.words(), HasSubstr("no ranks of this run are known to meet"));
  ShownMap even(HybridRun().timeline());
  EXPECT_FALSE(even.panel().isThere());
  EXPECT_THAT(even.words(), HasSubstr("none waits"));
  even.chart().causes().clear();
  EXPECT_THAT(even.words(), HasSubstr("before the causes"));
}

TEST(WaitingPanelTest, RunsOfKnownWaitsHaveThemInTheMapAndInTheStatistics) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(test::inSources("../shared/data")) / "hybrid" / "slow_peer";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const auto profile = loadProfile({folder.string()});
  ChartWidget chart;
  chart.resize(1200, 640);
  chart.setModel(&profile->model());
  Causes causes(chart);
  StatisticsPanel statistics(chart, causes);
  WaitingPanel map(chart, causes);
  causes.show(std::make_shared<const Explanation>(profile->run(), ExplainOptions{}), nullptr);

  // Ranks 4, 5 and 7 wait 60 ms a step for rank 6.
  map.findChild<QComboBox*>()->setCurrentIndex(2);
  const QAbstractItemModel& waits = *map.findChild<QTableView*>()->model();
  ASSERT_EQ(waits.rowCount(), 16);
  ASSERT_EQ(waits.columnCount(), 3);
  for (int rank = 0; rank < 16; ++rank) {
    const bool isPeer = rank == 4 || rank == 5 || rank == 7;
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(waits.index(rank, step).data().toString(), isPeer ? "60.00 ms" : "-")
          << "rank " << rank << ", step " << step;
    }
  }
  statistics.findChild<QComboBox*>()->setCurrentIndex(5);
  ChartArea all{profile->model().span(), {}};
  for (std::size_t row = 0; row < profile->model().rows().size(); ++row) all.rows.push_back(row);
  chart.setArea(all);
  const QAbstractItemModel* const table = statistics.findChild<QTableView*>("inside")->model();
  ASSERT_TRUE(QTest::qWaitFor([&] { return table->rowCount() == 17; }, 60'000));
  const auto text = [&](int rank, int column) {
    return table->index(rank, column).data().toString().toStdString();
  };
  // Eight micro-batches of 30 ms in three steps; 2 · 16 all-reduces of 0.3 ms.
  EXPECT_EQ(text(4, InsideTable::kOwnTime), "720.0 ms");
  EXPECT_EQ(text(4, InsideTable::kWaiting), "180.0 ms");
  EXPECT_EQ(text(4, InsideTable::kMoving), "28.80 ms");
  EXPECT_EQ(text(6, InsideTable::kOwnTime), "900.0 ms");
  EXPECT_EQ(text(6, InsideTable::kWaiting), "-");
  chart.setModel(nullptr);
}

}  // namespace
}  // namespace pipetrace
