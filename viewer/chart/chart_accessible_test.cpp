#include "viewer/chart/chart_accessible.h"

#include <gmock/gmock.h>

#include <QAccessible>

#include "viewer/chart/row_labels.h"
#include "viewer/testing/shown_chart.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

class ChartAccessibleTest : public testing::Test {
 protected:
  QAccessibleInterface& rows() {
    return *QAccessible::queryAccessibleInterface(chart_.widget().rowLabels());
  }
  std::string nameOf(int row) { return rows().child(row)->text(QAccessible::Name).toStdString(); }

  ShownChart chart_{{.ranks = 3, .steps = 1}};
};

TEST_F(ChartAccessibleTest, RowsAreItemsOfAListWithTheirNames) {
  EXPECT_EQ(rows().role(), QAccessible::List);
  ASSERT_EQ(rows().childCount(), 9);
  EXPECT_EQ(rows().child(3)->role(), QAccessible::ListItem);
  EXPECT_EQ(nameOf(3), "rank 1, stage 1");
  EXPECT_EQ(nameOf(4), "recv");
  EXPECT_EQ(rows().child(9), nullptr);
  EXPECT_EQ(rows().indexOfChild(rows().child(5)), 5);
}

TEST_F(ChartAccessibleTest, FoldedAndCurrentRowsSaySo) {
  EXPECT_TRUE(rows().child(0)->state().expanded);
  chart_.widget().foldAllRows(true);
  ASSERT_EQ(rows().childCount(), 3);
  EXPECT_TRUE(rows().child(2)->state().collapsed);
  RowLabels& labels = *chart_.widget().rowLabels();
  labels.setFocus();
  QTest::keyClick(&labels, Qt::Key_Down);
  EXPECT_TRUE(rows().child(1)->state().focused);
  EXPECT_FALSE(rows().child(0)->state().focused);
  EXPECT_EQ(rows().focusChild(), rows().child(1));
}

TEST_F(ChartAccessibleTest, ItemsAreWhereTheirRowsAre) {
  const ChartView view = chart_.widget().view();
  const QRect second = rows().child(3)->rect();
  const QPoint top =
      chart_.widget().viewport()->mapToGlobal(QPoint(0, view.yOf(view.layout[3].top)));
  EXPECT_EQ(second.top(), top.y());
  EXPECT_EQ(second.height(), view.layout[3].height);
  EXPECT_EQ(rows().childAt(second.center().x(), second.center().y()), rows().child(3));
}

TEST_F(ChartAccessibleTest, TheChartAndItsRowSayWhatIsSelected) {
  const Event& job = chart_.job(1, JobKind::kBackward, 2);
  QTest::mouseClick(chart_.widget().viewport(), Qt::LeftButton, {}, chart_.middleOf(1, job));
  const std::string words = chart_.widget().accessibleDescription().toStdString();
  EXPECT_EQ(words, "backward 2 on rank 1, step 0, 20.00 ms");
  EXPECT_THAT(rows().child(3)->text(QAccessible::Description).toStdString(), HasSubstr(words));
  EXPECT_EQ(rows().child(0)->text(QAccessible::Description), "");
  chart_.key(Qt::Key_B);
  EXPECT_THAT(chart_.widget().accessibleDescription().toStdString(),
              testing::StartsWith("bubble, "));
  chart_.key(Qt::Key_Escape);
  EXPECT_EQ(chart_.widget().accessibleDescription(), "");
}

}  // namespace
}  // namespace pipetrace
