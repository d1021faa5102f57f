#include "viewer/start/start_page.h"

#include <gmock/gmock.h>

#include <QDir>
#include <QFile>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "viewer/start/sample_run.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StartPageTest : public testing::Test {
 protected:
  QString file(const QString& name, int bytes = 10) const {
    QFile made(folder_.filePath(name));
    EXPECT_TRUE(made.open(QIODevice::WriteOnly));
    made.write(QByteArray(bytes, 'x'));
    return made.fileName();
  }

  QTemporaryDir folder_;
};

QStringList namesIn(const QTreeWidget& list) {
  QStringList names;
  for (int i = 0; i < list.topLevelItemCount(); ++i) {
    names.push_back(list.topLevelItem(i)->text(0));
  }
  return names;
}

TEST_F(StartPageTest, TheFilesThatWereOpenedLastComeBackTheLatestFirst) {
  QSettings store(folder_.filePath("settings.ini"), QSettings::IniFormat);
  const QString a = file("a.json");
  const QString b = file("b & c.json");
  {
    RecentFiles recent(&store);
    recent.add({a});
    recent.add({b});
    recent.add({a, b});
    recent.add({a});
  }
  const RecentFiles again(&store);
  EXPECT_THAT(again.entries(), ElementsAre(QStringList{a}, QStringList({a, b}), QStringList{b}));
  RecentFiles many(&store);
  for (int i = 0; i < 40; ++i) many.add({file(QString::number(i))});
  EXPECT_EQ(RecentFiles(&store).entries().size(), RecentFiles::kMost);
  many.clear();
  EXPECT_TRUE(RecentFiles(&store).entries().isEmpty());
}

TEST_F(StartPageTest, AListEntryShowsNameFolderSizeAndOpensWithEnter) {
  RecentFiles recent(nullptr);
  QDir(folder_.path()).mkdir("logs");
  file("logs/workerlog.0", 3000);
  file("logs/workerlog.1", 2000);
  recent.add({folder_.filePath("logs")});
  StartPage page(recent);
  page.resize(900, 500);
  page.show();
  auto* list = page.findChild<QTreeWidget*>();
  ASSERT_EQ(list->topLevelItemCount(), 1);
  const QTreeWidgetItem& item = *list->topLevelItem(0);
  EXPECT_EQ(item.text(0), "logs");
  EXPECT_THAT(item.text(1).toStdString(), HasSubstr(folder_.path().toStdString()));
  EXPECT_EQ(item.text(3), QLocale().formattedDataSize(5000, 1));
  QSignalSpy opened(&page, &StartPage::opened);
  QTest::keyClick(list, Qt::Key_Return);
  ASSERT_EQ(opened.size(), 1);
  EXPECT_EQ(opened[0][0].toStringList(), QStringList{folder_.filePath("logs")});
}

TEST_F(StartPageTest, AFileThatIsGoneIsGreySaysSoAndLeavesWithDelete) {
  RecentFiles recent(nullptr);
  const QString there = file("there.json");
  const QString gone = file("gone.json");
  recent.add({there});
  recent.add({gone});
  ASSERT_TRUE(QFile::remove(gone));
  StartPage page(recent);
  page.show();
  auto* list = page.findChild<QTreeWidget*>();
  ASSERT_EQ(namesIn(*list), QStringList({"gone.json", "there.json"}));
  EXPECT_EQ(list->topLevelItem(0)->text(2), "no longer there");
  EXPECT_EQ(list->topLevelItem(0)->foreground(0).color(),
            page.palette().color(QPalette::Disabled, QPalette::Text));
  QSignalSpy opened(&page, &StartPage::opened);
  QTest::keyClick(list, Qt::Key_Return);
  EXPECT_EQ(opened.size(), 0);
  EXPECT_THAT(page.problem().toStdString(), HasSubstr("gone.json is no longer there"));
  QTest::keyClick(list, Qt::Key_Delete);
  EXPECT_EQ(namesIn(*list), QStringList{"there.json"});
  EXPECT_EQ(recent.entries().size(), 1);
}

TEST_F(StartPageTest, ButtonsAskForAFileAFolderAndTheSample) {
  RecentFiles recent(nullptr);
  StartPage page(recent);
  page.show();
  QSignalSpy file(&page, &StartPage::fileWanted);
  QSignalSpy folder(&page, &StartPage::folderWanted);
  QSignalSpy sample(&page, &StartPage::sampleWanted);
  const auto buttons = page.findChildren<QPushButton*>();
  ASSERT_EQ(buttons.size(), 3);
  QTest::keyClick(buttons[0], Qt::Key_Return);
  QTest::keyClick(buttons[1], Qt::Key_Space);
  QTest::mouseClick(buttons[2], Qt::LeftButton);
  EXPECT_EQ(file.size(), 1);
  EXPECT_EQ(folder.size(), 1);
  EXPECT_EQ(sample.size(), 1);
  EXPECT_FALSE(page.findChild<QTreeWidget*>()->isVisible()) << "an empty list takes no room";
}

TEST(SampleRunTest, ItHasTheJobsOfItsScheduleAndTheLateForward) {
  const Timeline run = sampleRun();
  ASSERT_EQ(run.ranks.size(), 4U);
  // Rank 1 begins 1F5 of step 3 40 ms after all that it needs: its gap before it is the longest.
  const auto gapBefore = [&](int step) {
    Nanoseconds last = 0;
    for (const Event& job : run.findTrack(1, kComputeLane)->events) {
      if (job.kind == JobKind::kForward && job.microBatch == 5 && job.step == step) {
        return job.begin - last;
      }
      last = job.end;
    }
    return Nanoseconds{-1};
  };
  EXPECT_GE(gapBefore(2), 0);
  EXPECT_GE(gapBefore(3), gapBefore(2) + 40 * kNsPerMs);
  std::size_t computeJobs = 0;
  for (const Track& track : run.tracks) {
    for (const Event& event : track.events) computeJobs += isCompute(event.kind) ? 1 : 0;
  }
  EXPECT_EQ(computeJobs, 4U * 6 * 2 * 8);
}

}  // namespace
}  // namespace pipetrace
