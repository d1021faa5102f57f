#include "viewer/panels/ranks_panel.h"

#include <gmock/gmock.h>

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QScrollBar>

#include "analysis/testing/faulty_run.h"
#include "chart/testing/rows_text.h"
#include "viewer/causes/rank_order.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/chart/row_labels.h"
#include "viewer/testing/explained_chart.h"
#include "viewer/testing/shown_window.h"
#include "viewer/testing/slow_peer_run.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Four stages, of which the third takes half as long again.
Timeline withASlowStage() {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = test::costsOf(plan, 1);
  test::scaleRank(costs, plan, 2, 1.5);
  return test::completedRun(plan, costs);
}

class ShownRanks {
 public:
  explicit ShownRanks(Timeline timeline)
      : chart_(std::move(timeline)), panel_(chart_.widget(), chart_.causes()) {
    addRankOrders(chart_.widget(), chart_.causes());
    panel_.resize(900, 240);
    showActive(panel_);
  }

  ExplainedChart& chart() { return chart_; }
  RanksPanel& panel() { return panel_; }
  QTableView& view() { return *panel_.findChild<QTableView*>(); }
  QAbstractItemModel& model() { return *view().model(); }
  std::string text(int row, int column) {
    return model().index(row, column).data().toString().toStdString();
  }
  std::vector<std::string> column(int column) {
    std::vector<std::string> texts;
    for (int row = 0; row < model().rowCount(); ++row) texts.push_back(text(row, column));
    return texts;
  }
  int columnOf(const char* heading) {
    for (int i = 0; i < model().columnCount(); ++i) {
      if (model().headerData(i, Qt::Horizontal).toString() == QLatin1String(heading)) return i;
    }
    return -1;
  }
  void sortBy(int column, Qt::SortOrder order) { view().sortByColumn(column, order); }

 private:
  ExplainedChart chart_;
  RanksPanel panel_;
};

TEST(RanksPanelTest, TheRankThatIdlesLongestIsTheFirst) {
  ShownRanks shown(withASlowStage());
  const auto& ranks = shown.chart().explanation().ranks;
  ASSERT_EQ(shown.model().rowCount(), 4);
  std::vector<const ExplainedRank*> expected;
  for (const ExplainedRank& rank : ranks) expected.push_back(&rank);
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto* a, const auto* b) { return a->idle > b->idle; });
  for (int row = 0; row < 4; ++row) {
    EXPECT_EQ(shown.text(row, RanksTable::kRank),
              "rank " + std::to_string(expected[static_cast<std::size_t>(row)]->rank));
  }
  EXPECT_EQ(shown.text(3, RanksTable::kRank), "rank 2") << "the others wait for it";
  EXPECT_EQ(shown.text(3, RanksTable::kStage), "stage 2");
}

TEST(RanksPanelTest, TensorParallelPeersAreNamedAsPeersAndOnlyCopiesAreReplicas) {
  ShownRanks peers(runWithASlowPeer().timeline());
  peers.sortBy(RanksTable::kRank, Qt::AscendingOrder);
  EXPECT_THAT(peers.column(RanksTable::kStage),
              ElementsAre("stage 0, tensor rank 0", "stage 0, tensor rank 1",
                          "stage 1, tensor rank 0", "stage 1, tensor rank 1"));
  HybridRun run = runWithASlowPeer();
  run.replicas = 2;
  ShownRanks both(run.timeline());
  both.sortBy(RanksTable::kRank, Qt::AscendingOrder);
  EXPECT_EQ(both.text(3, RanksTable::kStage), "stage 0, replica 1, tensor rank 1");
}

TEST(RanksPanelTest, OwnWorkNamesTheSlowRank) {
  ShownRanks shown(withASlowStage());
  shown.sortBy(RanksTable::kWork, Qt::DescendingOrder);
  EXPECT_THAT(shown.column(RanksTable::kRank), ElementsAre("rank 2", "rank 0", "rank 1", "rank 3"));
  EXPECT_THAT(shown.column(RanksTable::kWork), ElementsAre("1.50×", "1.00×", "1.00×", "1.00×"));
}

TEST(RanksPanelTest, IdleTimeIsTheSumOfItsClasses) {
  ShownRanks shown(withASlowStage());
  shown.sortBy(RanksTable::kRank, Qt::AscendingOrder);
  const auto& ranks = shown.chart().explanation().ranks;
  ASSERT_GE(shown.columnOf("imbalance"), RanksTable::kFirstClass);
  const auto& table = static_cast<const RanksTable&>(shown.model());
  for (const ExplainedRank& rank : ranks) {
    double sum = 0;
    for (int c = RanksTable::kFirstClass; c < table.columnCount(); ++c) {
      sum += table.valueOf(rank, c);
    }
    EXPECT_DOUBLE_EQ(sum, static_cast<double>(rank.idle));
  }
}

TEST(RanksPanelTest, EnterGoesToTheRowOfTheRankAndInAClassToItsLongestBubble) {
  ShownRanks shown(withASlowStage());
  ChartWidget& chart = shown.chart().widget();
  chart.foldAllRows(true);
  shown.sortBy(RanksTable::kRank, Qt::AscendingOrder);
  shown.view().setFocus();
  shown.view().setCurrentIndex(shown.model().index(3, RanksTable::kRank));
  QTest::keyClick(&shown.view(), Qt::Key_Return);
  const RowTree& tree = chart.model()->rowTree(RowGrouping::kByRank);
  EXPECT_EQ(tree[chart.rowLabels()->current()].key, "rank 3");
  EXPECT_FALSE(chart.selection());
  const QModelIndex cell = shown.model().index(3, shown.columnOf("imbalance"));
  shown.view().scrollTo(cell);
  QTest::mouseClick(shown.view().viewport(), Qt::LeftButton, {},
                    shown.view().visualRect(cell).center());
  QTest::mouseDClick(shown.view().viewport(), Qt::LeftButton, {},
                     shown.view().visualRect(cell).center());
  ASSERT_TRUE(chart.selection());
  EXPECT_EQ(chart.selection()->event->bubbleClass, BubbleClass::kImbalance);
  EXPECT_EQ(chart.model()->rows()[chart.selection()->row].rank, 3);
}

TEST(RanksPanelTest, CtrlCCopiesTheTableAsCsvInItsOrder) {
  ShownRanks shown(withASlowStage());
  shown.sortBy(RanksTable::kWork, Qt::DescendingOrder);
  shown.view().setFocus();
  QGuiApplication::clipboard()->clear();
  QTest::keyClick(&shown.view(), Qt::Key_C, Qt::ControlModifier);
  const std::string csv = QGuiApplication::clipboard()->text().toStdString();
  EXPECT_THAT(csv, StartsWith("rank,stage,own_work,busy_ns,idle_ns,bubble_ratio,warm_up_ns"));
  EXPECT_THAT(csv, HasSubstr("\n2,stage 2,1.5000,"));
}

TEST(RanksPanelTest, TheChartsRowsTakeTheOrderOfTheTableAndOfTheCommands) {
  ShownRanks shown(withASlowStage());
  ChartWidget& chart = shown.chart().widget();
  chart.foldAllRows(true);
  const auto rows = [&] { return rowsText(*chart.model(), chart.rowState()); };
  const auto command = [&](const char* name) {
    for (QAction* action : commandsOf(chart, CommandMenu::kRowOrder)) {
      if (action->objectName() == QLatin1String(name)) return action->trigger();
    }
    FAIL() << name;
  };
  command("sort-by-work");
  EXPECT_EQ(rows(), "+ rank 2\n+ rank 0\n+ rank 1\n+ rank 3\n");
  command("sort-by-idle");
  std::string expected;
  for (const std::string& rank : shown.column(RanksTable::kRank)) expected += "+ " + rank + "\n";
  EXPECT_EQ(rows(), expected) << "the table begins with the longest idle time";
  command("run-order");
  EXPECT_EQ(rows(), "+ rank 0\n+ rank 1\n+ rank 2\n+ rank 3\n");
  shown.sortBy(RanksTable::kRank, Qt::DescendingOrder);
  shown.panel().findChild<QPushButton*>()->click();
  EXPECT_EQ(rows(), "+ rank 3\n+ rank 2\n+ rank 1\n+ rank 0\n");
}

TEST(RanksPanelTest, WithoutCausesItSaysSoAndRowsCannotBeSorted) {
  ShownRanks shown(withASlowStage());
  shown.chart().causes().clear();
  EXPECT_EQ(shown.model().rowCount(), 0);
  EXPECT_THAT(shown.panel().findChild<QLabel*>()->text().toStdString(),
              HasSubstr("before the causes"));
  for (QAction* action : commandsOf(shown.chart().widget(), CommandMenu::kRowOrder)) {
    EXPECT_EQ(action->isEnabled(), action->objectName() == QLatin1String("run-order"));
  }
}

}  // namespace
}  // namespace pipetrace
