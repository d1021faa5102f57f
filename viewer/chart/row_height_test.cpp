#include <gmock/gmock.h>

#include <QScrollBar>
#include <set>

#include "chart/row_layout.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/chart/row_labels.h"
#include "viewer/testing/shown_chart.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

constexpr auto kCtrl = Qt::ControlModifier;

/// How many ranks have their compute rows wholly in view.
std::size_t ranksInView(const ChartWidget& chart) {
  const ChartView view = chart.view();
  std::set<int> ranks;
  for (const RowInView& each : view.rowsInView()) {
    const bool isWhole = each.place.top >= view.area.y && each.place.bottom() <= view.area.bottom();
    if (isWhole && each.place.height > 0 && each.row->row != RowNode::kNone) {
      ranks.insert(view.model.rows()[each.row->row].rank);
    }
  }
  return ranks.size();
}

TestRun manyRanks() { return {.ranks = 256, .microBatches = 2, .steps = 1}; }

TEST(RowHeightTest, ManyRanksOpenWithDozensInViewAndAllOfThemFit) {
  ShownChart chart(manyRanks(), {1400, 640});
  EXPECT_GE(ranksInView(chart.widget()), 40U);
  chart.key(Qt::Key_9, kCtrl);
  EXPECT_EQ(ranksInView(chart.widget()), 256U);
  EXPECT_EQ(chart.widget().verticalScrollBar()->maximum(), 0);
  EXPECT_EQ(chart.widget().computeHeight(), 2);
  chart.key(Qt::Key_0, kCtrl);
  EXPECT_EQ(chart.widget().rowState(), RowState{});
}

TEST(RowHeightTest, KeysMakeRowsLowerAndHigherAndKeepTheRowInTheMiddle) {
  ShownChart chart(manyRanks(), {1400, 640});
  ChartWidget& widget = chart.widget();
  widget.setRowHeight(38);
  widget.showRow(3 * 100);
  const auto middle = [&] {
    const ChartView view = widget.view();
    const auto shown = view.layout.firstBelow(view.layoutYAt(view.area.y + view.area.height / 2));
    return view.model.rows()[view.layout.shown()[shown].row].rank;
  };
  EXPECT_NEAR(middle(), 100, 1);
  for (const int height : {30, 22, 16, 11, 8}) {
    chart.key(Qt::Key_Minus, kCtrl);
    EXPECT_EQ(widget.computeHeight(), height);
    EXPECT_NEAR(middle(), 100, 1);
  }
  for (const int height : {11, 16, 22}) {
    chart.key(Qt::Key_Plus, kCtrl);
    EXPECT_EQ(widget.computeHeight(), height);
  }
  widget.history().undo();
  EXPECT_LT(widget.computeHeight(), 22) << "heights are changes that can be taken back";
}

TEST(RowHeightTest, CtrlAndTheWheelOverTheLabelsChangeTheHeight) {
  ShownChart chart({.ranks = 8}, {1200, 640});
  const Nanoseconds span = chart.axis().span();
  chart.wheel({10, 300}, {0, -120}, kCtrl);
  EXPECT_EQ(chart.widget().computeHeight(), 30);
  chart.wheel({10, 300}, {0, 60}, kCtrl);
  EXPECT_EQ(chart.widget().computeHeight(), 30) << "half a notch";
  chart.wheel({10, 300}, {0, 60}, kCtrl);
  EXPECT_EQ(chart.widget().computeHeight(), 38);
  EXPECT_EQ(chart.axis().span(), span);
}

TEST(RowHeightTest, ANotchOverTheLabelsScrollsARankOfThreeRows) {
  ShownChart chart({.ranks = 24}, {1200, 400});
  chart.widget().setRowHeight(38);
  const RowLayout& layout = chart.widget().view().layout;
  chart.wheel({10, 300}, {0, -120});
  EXPECT_GE(chart.widget().verticalScrollBar()->value(), layout[3].top - layout[0].top);
}

TEST(RowHeightTest, AMessageThatIsGoneToGetsItsRowBack) {
  ShownChart chart(manyRanks(), {1400, 640});
  ChartWidget& widget = chart.widget();
  const ChartModel& model = chart.model();
  std::size_t row = 0;
  while (model.rows()[row].rank != 200 || model.rows()[row].lane != "send") ++row;
  ASSERT_FALSE(widget.view().layout.isShown(row)) << "low rows leave other lanes out";
  const Event& send = model.rows()[row].lanes[0][0];
  widget.goTo({.row = row, .event = &send, .count = 1, .load = {}, .span = 0});
  const ChartView view = widget.view();
  ASSERT_TRUE(view.layout.isShown(row));
  const int y = view.yOf(view.layout[row].top);
  EXPECT_GE(y, view.area.y);
  EXPECT_LE(y + view.layout[row].height, view.area.bottom());
}

TEST(RowHeightTest, TheLongestBubbleIsInViewWhereRowsAreAFewPixelsHigh) {
  ShownChart chart(manyRanks(), {1400, 640});
  chart.widget().setRowHeight(3);
  chart.widget().verticalScrollBar()->setValue(chart.widget().verticalScrollBar()->maximum());
  chart.key(Qt::Key_B);
  ASSERT_TRUE(chart.widget().selection());
  const ChartView view = chart.widget().view();
  const RowPlace place = view.layout[chart.widget().selection()->row];
  EXPECT_EQ(place.height, 3);
  EXPECT_GE(view.yOf(place.top), view.area.y);
  EXPECT_LE(view.yOf(place.bottom()), view.area.bottom());
}

}  // namespace
}  // namespace pipetrace
