#include <gmock/gmock.h>

#include <QFile>
#include <QLabel>
#include <QMessageBox>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QTest>

#include "viewer/testing/profile.h"
#include "viewer/testing/shown_window.h"
#include "viewer/testing/slow_input.h"
#include "viewer/window/loading_bar.h"
#include "viewer/window/main_window.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

class LoadingTest : public testing::Test {
 protected:
  LoadingTest() { showActive(window_); }

  void open(const TestLogs& logs) {
    window_.open({QString::fromStdString(logs.path())});
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != nullptr; }, 20'000));
  }
  std::string message() const { return window_.message().toStdString(); }

  MainWindow window_;
};

TEST_F(LoadingTest, EscapeGivesUpAndSaysWhatToDo) {
  const SlowInput slow;
  window_.open({slow.path()});
  const auto* bar = window_.findChild<LoadingBar*>();
  ASSERT_NE(bar, nullptr);
  ASSERT_TRUE(bar->isVisible());
  QTest::qWait(150);
  EXPECT_FALSE(bar->findChild<QLabel*>()->text().isEmpty());
  EXPECT_EQ(window_.focusWidget(), bar->findChild<QPushButton*>());
  QTest::keyClick(window_.focusWidget(), Qt::Key_Escape);
  EXPECT_THAT(message(), HasSubstr("was cancelled."));
  EXPECT_TRUE(window_.findChild<StartPage*>()->isVisible());
  EXPECT_FALSE(bar->isVisible());
  open(TestLogs());
}

TEST_F(LoadingTest, TheCancelButtonBringsTheOldProfileBack) {
  open(TestLogs({.ranks = 3}));
  const LoadedProfile* const old = window_.profile();
  const SlowInput slow;
  window_.open({slow.path()});
  EXPECT_THAT(message(), HasSubstr("Opening"));
  auto* const cancel = window_.findChild<LoadingBar*>()->findChild<QPushButton*>();
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_EQ(message(), "");
  EXPECT_EQ(window_.profile(), old);
  EXPECT_TRUE(window_.chart()->isVisible());
  EXPECT_EQ(window_.chart()->model(), &old->model());
}

TEST_F(LoadingTest, ASecondFileTakesThePlaceOfOneThatIsBeingRead) {
  const SlowInput slow;
  window_.open({slow.path()});
  open(TestLogs({.ranks = 5}));
  EXPECT_EQ(window_.profile()->model().rankCount(), 5U);
  EXPECT_EQ(message(), "");
}

TEST_F(LoadingTest, AnInputWithoutJobsLeavesTheRunThatIsShownItsExplanation) {
  const TestLogs logs({.ranks = 8, .steps = 40});
  open(logs);
  const LoadedProfile* const old = window_.profile();
  QTemporaryDir folder;
  QFile file(folder.filePath("empty.json"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(R"({"traceEvents": [{"ph": "C", "pid": 0, "name": "m", "ts": 1, "args": {"a": 1}}]})");
  file.close();
  window_.open({file.fileName()});
  QPointer<QMessageBox> box;
  ASSERT_TRUE(QTest::qWaitFor([&] { return (box = window_.findChild<QMessageBox*>()); }, 20'000));
  EXPECT_THAT(box->text().toStdString(), HasSubstr("no job"));
  box->close();
  EXPECT_EQ(window_.profile(), old);
  EXPECT_TRUE(QTest::qWaitFor([&] { return window_.explanation() != nullptr; }, 20'000));
}

TEST_F(LoadingTest, TheBarShowsHowMuchIsRead) {
  ProfileLoader loader;
  LoadingBar bar(loader);
  bar.show();
  EXPECT_EQ(bar.findChild<QProgressBar*>()->maximum(), 0) << "busy";
  EXPECT_FALSE(bar.findChild<QProgressBar*>()->accessibleName().isEmpty());
}

}  // namespace
}  // namespace pipetrace
