#include "viewer/marks/marks_panel.h"

#include <gmock/gmock.h>

#include <QFile>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "viewer/testing/shown_chart.h"
#include "viewer/testing/shown_window.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

class MarksTest : public testing::Test {
 protected:
  MarksTest() : panel_(chart_.widget()) {
    panel_.marks().open(file(), chart_.model().span().begin);
    panel_.resize(600, 200);
    showActive(panel_);
  }

  QString file() const { return folder_.filePath("logs.pipetrace-notes.json"); }
  QTreeWidget& list() { return *panel_.findChild<QTreeWidget*>(); }
  std::string saved() const {
    QFile in(file());
    return in.open(QIODevice::ReadOnly) ? in.readAll().toStdString() : "";
  }
  const Event& job() { return chart_.job(2, JobKind::kBackward, 3, 1); }
  void select() {
    std::size_t row = 0;
    while (chart_.model().rows()[row].rank != 2) ++row;
    chart_.widget().goTo({.row = row, .event = &job(), .count = 1, .load = {}, .span = 0});
  }
  /// Types into the field that asks for the text.
  void type(const QString& text) {
    auto* field = list().findChild<QLineEdit*>();
    ASSERT_NE(field, nullptr);
    QTest::keyClicks(field, text);
    QTest::keyClick(field, Qt::Key_Return);
    ASSERT_TRUE(QTest::qWaitFor([&] { return list().findChild<QLineEdit*>() == nullptr; }, 5000));
  }

  QTemporaryDir folder_;
  ShownChart chart_;
  MarksPanel panel_;
};

TEST_F(MarksTest, MMarksTheSelectedJobAndAsksForANote) {
  select();
  const QSignalSpy wanted(&panel_, &MarksPanel::wanted);
  panel_.markHere();
  EXPECT_EQ(wanted.count(), 1);
  type("slow by the disk");
  ASSERT_EQ(panel_.marks().list().size(), 1U);
  const ChartMark& mark = panel_.marks().list().front();
  EXPECT_EQ(mark.begin, job().begin);
  EXPECT_EQ(mark.rank, 2);
  EXPECT_EQ(mark.text, "slow by the disk");
  EXPECT_THAT(list().topLevelItem(0)->text(2).toStdString(),
              HasSubstr("rank 2, compute: backward 3"));
  EXPECT_THAT(saved(), HasSubstr("\"slow by the disk\""));
}

TEST_F(MarksTest, WithoutASelectionATimeIsMarked) {
  panel_.markHere();
  ASSERT_EQ(panel_.marks().list().size(), 1U);
  EXPECT_FALSE(panel_.marks().list().front().isOfEvent());
  EXPECT_EQ(list().topLevelItem(0)->text(2), "all ranks");
  chart_.widget().clearSelection();
}

TEST_F(MarksTest, NotesAreThereAgainWhenTheRunIsOpenedAgain) {
  select();
  panel_.markHere();
  type("first");
  const std::vector<ChartMark> before = panel_.marks().list();
  Marks again;
  again.open(file(), chart_.model().span().begin);
  EXPECT_EQ(again.list(), before);
  again.open(folder_.filePath("other.json"), 0);
  EXPECT_TRUE(again.list().empty()) << "another run has none of them";
}

TEST_F(MarksTest, EnterGoesToAMarkAndDeleteRemovesItWithItsFile) {
  select();
  panel_.markHere();
  type("here");
  chart_.widget().clearSelection();
  list().setFocus();
  QTest::keyClick(&list(), Qt::Key_Return);
  ASSERT_TRUE(chart_.widget().selection());
  EXPECT_EQ(chart_.widget().selection()->event, &job());
  QTest::keyClick(&list(), Qt::Key_Delete);
  EXPECT_EQ(list().topLevelItemCount(), 0);
  EXPECT_FALSE(QFile::exists(file()));
}

TEST_F(MarksTest, AJobIsMarkedOnce) {
  select();
  panel_.markHere();
  type("one");
  panel_.markHere();
  type(" more");
  EXPECT_EQ(panel_.marks().list().size(), 1U);
}

TEST_F(MarksTest, AFileThatIsNotUnderstoodIsNotReplaced) {
  QFile out(file());
  ASSERT_TRUE(out.open(QIODevice::WriteOnly));
  out.write("{\"pipetrace_notes\": 99}");
  out.close();
  const QSignalSpy failed(&panel_.marks(), &Marks::failed);
  panel_.marks().open(file(), 0);
  EXPECT_EQ(failed.count(), 1);
  panel_.markHere();
  EXPECT_EQ(saved(), "{\"pipetrace_notes\": 99}");
}

TEST(MarksFileTest, ItStandsBesideTheRun) {
  EXPECT_EQ(marksFile({"/runs/logs/", "/runs/more"}), "/runs/logs.pipetrace-notes.json");
  EXPECT_EQ(marksFile({"/runs/a.json"}), "/runs/a.json.pipetrace-notes.json");
}

}  // namespace
}  // namespace pipetrace
