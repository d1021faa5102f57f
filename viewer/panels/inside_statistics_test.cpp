#include "viewer/panels/inside_statistics.h"

#include <gmock/gmock.h>

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QPushButton>
#include <QTableView>

#include "viewer/panels/statistics_panel.h"
#include "viewer/testing/explained_chart.h"
#include "viewer/testing/shown_window.h"
#include "viewer/testing/slow_peer_run.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// The statistics beside an explained chart, with all of its rows and steps as the area.
class ShownStatistics {
 public:
  static constexpr int kInside = 5;

  explicit ShownStatistics(Timeline timeline)
      : chart_(std::move(timeline)), panel_(chart_.widget(), chart_.causes()) {
    panel_.resize(1000, 240);
    showActive(panel_);
  }

  ExplainedChart& chart() { return chart_; }
  StatisticsPanel& panel() { return panel_; }
  QComboBox& by() { return *panel_.findChild<QComboBox*>(); }
  QTableView& view() { return *panel_.findChild<QTableView*>("inside"); }

  void mark(Timeline::Span time) {
    ChartArea area{time, {}};
    for (std::size_t row = 0; row < chart_.model().rows().size(); ++row) area.rows.push_back(row);
    chart_.widget().setArea(area);
    by().setCurrentIndex(kInside);
    ASSERT_TRUE(QTest::qWaitFor([&] { return view().model()->rowCount() > 0; }, 20'000));
  }
  std::vector<std::string> line(int row) {
    std::vector<std::string> texts;
    for (int column = 0; column < view().model()->columnCount(); ++column) {
      texts.push_back(view().model()->index(row, column).data().toString().toStdString());
    }
    return texts;
  }
  std::string header(int column) {
    return view().model()->headerData(column, Qt::Horizontal).toString().toStdString();
  }

 private:
  ExplainedChart chart_;
  StatisticsPanel panel_;
};

TEST(InsideStatisticsTest, AnAreaHasThePartsOfItsJobsByRank) {
  ShownStatistics shown(runWithASlowPeer().timeline());
  const StepSummary& step = shown.chart().explanation().steps.at(1).summary;
  shown.mark({step.begin, step.windowEnd});
  // Four micro-batches of 3 · 10 ms; 4 · (2.5 + 5) ms of waiting; 4 · 4 · 0.3 ms of moving.
  EXPECT_THAT(shown.line(0),
              ElementsAre("rank 0", "8", "154.8 ms", "120.0 ms", "30.00 ms", "4.800 ms", "-"));
  EXPECT_THAT(shown.line(1),
              ElementsAre("rank 1", "8", "154.8 ms", "150.0 ms", "-", "4.800 ms", "-"));
  EXPECT_THAT(shown.line(4),
              ElementsAre("all", "32", "559.2 ms", "510.0 ms", "30.00 ms", "19.20 ms", "-"));
}

TEST(InsideStatisticsTest, PartsOfAJobThatTheAreaCutsAddUpToWhatIsInIt) {
  ShownStatistics shown(runWithASlowPeer().timeline());
  const Event& job = shown.chart().job(0, JobKind::kForward, 1);
  shown.mark({job.begin, job.begin + job.duration() / 2});
  // 13.1 ms, of which half is in the area.
  EXPECT_THAT(shown.line(0),
              ElementsAre("rank 0", "1", "6.550 ms", "5.000 ms", "1.250 ms", "300.0 us", "-"));
}

TEST(InsideStatisticsTest, KindsOfGroupsHaveColumnsWhereThereIsMoreThanOne) {
  HybridRun made = runWithASlowPeer();
  made.replicas = 2;
  made.sharesWeights = true;
  ShownStatistics shown(made.timeline());
  const StepSummary& step = shown.chart().explanation().steps.at(0).summary;
  shown.mark({step.begin, step.windowEnd});
  EXPECT_EQ(shown.view().model()->columnCount(), InsideTable::kFirstOfGroups + 6);
  EXPECT_EQ(shown.header(InsideTable::kFirstOfGroups), "Waiting\ndata-parallel\nall-gather");
  EXPECT_EQ(shown.header(InsideTable::kFirstOfGroups + 5), "Moving\ntensor-parallel\nall-reduce");
  EXPECT_EQ(shown.line(0).at(InsideTable::kFirstOfGroups + 4), "30.00 ms");
  EXPECT_EQ(shown.line(0).at(InsideTable::kFirstOfGroups + 5), "4.800 ms");
}

TEST(InsideStatisticsTest, AClickOnAHeadingSortsAndTheSumStaysLast) {
  ShownStatistics shown(runWithASlowPeer().timeline());
  shown.mark(shown.chart().model().span());
  shown.view().sortByColumn(InsideTable::kOwnTime, Qt::DescendingOrder);
  EXPECT_EQ(shown.line(0).at(0), "rank 1");
  EXPECT_EQ(shown.line(4).at(0), "all");
}

TEST(InsideStatisticsTest, TheButtonCopiesWholeNanoseconds) {
  ShownStatistics shown(runWithASlowPeer().timeline());
  const StepSummary& step = shown.chart().explanation().steps.at(1).summary;
  shown.mark({step.begin, step.windowEnd});
  QTest::mouseClick(shown.panel().findChild<QPushButton*>(), Qt::LeftButton);
  EXPECT_THAT(QGuiApplication::clipboard()->text().toStdString(),
              StartsWith("rank,jobs,time_ns,own_ns,wait_inside_ns,move_inside_ns,launch_bound_ns\n"
                         "0,8,154800000,120000000,30000000,4800000,0\n"));
}

TEST(InsideStatisticsTest, TheChoiceIsThereOnlyForRunsInWhichRanksMeetInsideJobs) {
  ShownStatistics shown(runWithASlowPeer().timeline());
  ASSERT_EQ(shown.by().count(), ShownStatistics::kInside + 1);
  shown.mark(shown.chart().model().span());
  shown.chart().causes().clear();
  EXPECT_EQ(shown.by().count(), ShownStatistics::kInside);
  EXPECT_FALSE(shown.view().isVisible());
  ShownStatistics other(makeTestTimeline({}));
  EXPECT_EQ(other.by().count(), ShownStatistics::kInside);
}

}  // namespace
}  // namespace pipetrace
