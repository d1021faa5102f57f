#include "viewer/window/window_memory.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QFile>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QStatusBar>
#include <QTest>
#include <QTimer>

#include "viewer/chart/row_labels.h"
#include "viewer/export/export_dialog.h"
#include "viewer/testing/profile.h"
#include "viewer/testing/shown_window.h"
#include "viewer/window/app_icon.h"
#include "viewer/window/main_window.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class WindowMemoryTest : public testing::Test {
 protected:
  WindowMemory memory(bool isFresh = false) const {
    return WindowMemory(
        std::make_unique<QSettings>(folder_.filePath("settings.ini"), QSettings::IniFormat),
        isFresh);
  }
  QTemporaryDir folder_;
};

void openLogs(MainWindow& window, const TestLogs& logs) {
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.message().isEmpty(); }, 20'000));
  ASSERT_NE(window.profile(), nullptr);
}

Timeline::Span seen(const MainWindow& window) {
  const TimeAxis axis = window.chart()->view().axis;
  return {axis.begin(), axis.end()};
}

QAction* entry(const MainWindow& window, const QString& text) {
  for (QAction* action : window.findChildren<QAction*>()) {
    if (action->text().remove('&').startsWith(text)) return action;
  }
  return nullptr;
}

TEST_F(WindowMemoryTest, TheWindowComesBackWithItsSizeAndTheTimeInView) {
  const TestLogs logs;
  Timeline::Span left;
  {
    MainWindow window(AlignBy::kBest, memory());
    window.resize(1111, 666);
    openLogs(window, logs);
    const Timeline::Span opened = seen(window);
    for (int i = 0; i < 5; ++i) QTest::keyClick(window.chart(), Qt::Key_W);
    QTest::keyClick(window.chart(), Qt::Key_D);
    left = seen(window);
    ASSERT_LT(left.end - left.begin, (opened.end - opened.begin) / 2);
    window.close();
  }
  MainWindow again(AlignBy::kBest, memory());
  EXPECT_EQ(again.size(), QSize(1111, 666));
  openLogs(again, logs);
  EXPECT_EQ(seen(again).begin, left.begin);
  EXPECT_EQ(seen(again).end, left.end);
  MainWindow fresh(AlignBy::kBest, memory(true));
  EXPECT_NE(fresh.size(), QSize(1111, 666));
  openLogs(fresh, logs);
  EXPECT_NE(seen(fresh).begin, left.begin);
}

TEST_F(WindowMemoryTest, PanelsComeBackWhereTheyWere) {
  const TestLogs logs;
  const auto dockOf = [](MainWindow& window) {
    return window.findChild<QDockWidget*>("selection");
  };
  {
    MainWindow window(AlignBy::kBest, memory());
    openLogs(window, logs);
    window.addDockWidget(Qt::LeftDockWidgetArea, dockOf(window));
    window.close();
  }
  MainWindow again(AlignBy::kBest, memory());
  again.show();
  again.close();  // without a run nothing is known of panels
  MainWindow third(AlignBy::kBest, memory());
  openLogs(third, logs);
  EXPECT_EQ(third.dockWidgetArea(dockOf(third)), Qt::LeftDockWidgetArea);
  EXPECT_FALSE(dockOf(third)->isVisible()) << "nothing is selected";
}

TEST_F(WindowMemoryTest, ARunThatHasChangedOpensAsIfNew) {
  const TestLogs logs;
  MainWindow untouched;
  openLogs(untouched, logs);
  {
    MainWindow window(AlignBy::kBest, memory());
    window.resize(untouched.size());
    openLogs(window, logs);
    for (int i = 0; i < 5; ++i) QTest::keyClick(window.chart(), Qt::Key_W);
    window.close();
  }
  QFile file(QString::fromStdString(logs.file("workerlog.0")));
  ASSERT_TRUE(file.open(QIODevice::ReadWrite));
  ASSERT_TRUE(file.setFileTime(QDateTime::currentDateTime().addSecs(60),
                               QFileDevice::FileModificationTime));
  file.close();
  MainWindow again(AlignBy::kBest, memory());
  openLogs(again, logs);
  EXPECT_EQ(seen(again).begin, seen(untouched).begin);
  EXPECT_EQ(seen(again).end, seen(untouched).end);
}

TEST_F(WindowMemoryTest, AnotherRunInBetweenDoesNotDisturbTheTimeInView) {
  const TestLogs first;
  const TestLogs second({.ranks = 2});
  MainWindow window(AlignBy::kBest, memory());
  openLogs(window, first);
  for (int i = 0; i < 4; ++i) QTest::keyClick(window.chart(), Qt::Key_W);
  const Timeline::Span left = seen(window);
  window.open({QString::fromStdString(second.path())});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.profile()->model().rankCount() == 2; }, 20'000));
  window.open({QString::fromStdString(first.path())});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.profile()->model().rankCount() == 4; }, 20'000));
  EXPECT_EQ(seen(window).begin, left.begin);
  EXPECT_EQ(seen(window).end, left.end);
}

TEST_F(WindowMemoryTest, OnlyTheLastInputsAreRemembered) {
  WindowMemory many = memory();
  for (int i = 0; i <= WindowMemory::kMostInputs; ++i) {
    many.saveSeen({QString("/nonexistent/%1").arg(i)}, {.begin = 0, .end = 10 + i});
  }
  EXPECT_FALSE(many.seenOf({"/nonexistent/0"}));
  ASSERT_TRUE(many.seenOf({"/nonexistent/200"}));
  EXPECT_EQ(many.seenOf({"/nonexistent/200"})->end, 210);
}

TEST_F(WindowMemoryTest, AWindowWithoutMemoryWritesNoSettings) {
  const TestLogs logs;
  MainWindow window;
  openLogs(window, logs);
  EXPECT_EQ(window.recentFiles().entries().size(), 1);
  window.close();
  EXPECT_EQ(MainWindow().recentFiles().entries().size(), 0);
}

TEST_F(WindowMemoryTest, OpenedFilesAreInTheMenuUntilItIsCleared) {
  const TestLogs logs;
  MainWindow window(AlignBy::kBest, memory());
  openLogs(window, logs);
  const QString name = QDir(QString::fromStdString(logs.path())).dirName();
  QAction* recent = entry(window, name);
  ASSERT_NE(recent, nullptr);
  EXPECT_TRUE(recent->isEnabled());
  const LoadedProfile* before = window.profile();
  recent->trigger();
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.profile() != before; }, 20'000));
  QAction* clear = entry(window, "Clear the list");
  ASSERT_NE(clear, nullptr);
  clear->trigger();
  EXPECT_EQ(entry(window, name), nullptr);
  EXPECT_TRUE(memory().settings()->value("recent/size").toInt() == 0);
}

TEST_F(WindowMemoryTest, TheSampleOpensFromTheStartPageAndIsNotRemembered) {
  MainWindow window(AlignBy::kBest, memory());
  showActive(window);
  for (QPushButton* button : window.findChildren<QPushButton*>()) {
    if (button->text().contains("sample")) QTest::mouseClick(button, Qt::LeftButton);
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.explanation() != nullptr; }, 30'000));
  EXPECT_EQ(window.windowTitle(), "sample run");
  EXPECT_TRUE(window.recentFiles().entries().isEmpty());
  EXPECT_TRUE(window.profile()->diagnostics().empty());
  std::set<BubbleClass> classes;
  for (const Track& track : window.profile()->timeline().tracks) {
    for (const Event& event : track.events) {
      if (event.kind == JobKind::kBubble) classes.insert(event.bubbleClass);
    }
  }
  EXPECT_GE(classes.size(), 5U);
}

TEST_F(WindowMemoryTest, TheChartIsCopiedAsItIsSeenWithoutTheFieldOverTheNames) {
  const TestLogs logs;
  MainWindow window;
  openLogs(window, logs);
  QTest::keyClick(&window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
  const QImage copied = QApplication::clipboard()->image();
  QWidget* const field = window.chart()->rowFilter();
  EXPECT_TRUE(field->isVisible());
  EXPECT_NE(copied.convertToFormat(QImage::Format_RGB32),
            window.chart()->viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32));
  field->hide();
  const QImage shown = window.chart()->viewport()->grab().toImage();
  ASSERT_EQ(copied.size(), shown.size());
  EXPECT_EQ(copied.convertToFormat(QImage::Format_RGB32),
            shown.convertToFormat(QImage::Format_RGB32));
}

TEST_F(WindowMemoryTest, AnExportRemembersItsFolder) {
  const TestLogs logs;
  QDir(folder_.path()).mkdir("pictures");
  {
    MainWindow window(AlignBy::kBest, memory());
    openLogs(window, logs);
    QTimer::singleShot(200, &window, [&] {
      auto* dialog = qobject_cast<ExportDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      auto* file = dialog->findChild<QLineEdit*>("file");
      file->selectAll();
      QTest::keyClicks(file, folder_.filePath("pictures/a.svg"));
      QTest::keyClick(dialog, Qt::Key_Return);
    });
    QTest::keyClick(&window, Qt::Key_E, Qt::ControlModifier);
    EXPECT_TRUE(QFile::exists(folder_.filePath("pictures/a.svg")));
    EXPECT_THAT(window.statusBar()->currentMessage().toStdString(), HasSubstr("a.svg"));
  }
  EXPECT_EQ(memory().exportFolder(), folder_.filePath("pictures"));
}

TEST_F(WindowMemoryTest, TheDropZoneShowsThatFilesMayBeDropped) {
  MainWindow window;
  showActive(window);
  const QImage before = window.grab().toImage();
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(folder_.path())});
  QDragEnterEvent enter(QPoint(100, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &enter);
  EXPECT_NE(window.grab().toImage(), before);
  QDragLeaveEvent leave;
  QCoreApplication::sendEvent(&window, &leave);
  EXPECT_EQ(window.grab().toImage(), before);
  QMimeData text;
  text.setText("no file");
  QDragEnterEvent other(QPoint(100, 300), Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
  other.ignore();
  QCoreApplication::sendEvent(&window, &other);
  EXPECT_FALSE(other.isAccepted());
}

TEST_F(WindowMemoryTest, FilesCanBeDroppedOnTheStartPage) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  auto* page = window.findChild<QWidget*>("start page");
  ASSERT_NE(page, nullptr);
  ASSERT_TRUE(page->isVisible());
  EXPECT_FALSE(page->acceptDrops()) << "so that its window gets what is dropped";
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(QString::fromStdString(logs.file("workerlog.0"))),
                QUrl::fromLocalFile(QString::fromStdString(logs.file("workerlog.1")))});
  QDragEnterEvent enter(QPoint(100, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(100, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &drop);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.profile() != nullptr; }, 20'000))
      << window.message().toStdString();
  EXPECT_EQ(window.profile()->model().rankCount(), 2U);
}

TEST_F(WindowMemoryTest, AFileThatCannotBeReadLeavesTheStartPageWithAReason) {
  QFile text(folder_.filePath("notes.txt"));
  ASSERT_TRUE(text.open(QIODevice::WriteOnly));
  text.write("hello\nworld\n");
  text.close();
  QFile empty(folder_.filePath("empty.json"));
  ASSERT_TRUE(empty.open(QIODevice::WriteOnly));
  empty.close();
  QDir(folder_.path()).mkdir("nothing");
  for (const QString& input : {text.fileName(), empty.fileName(), folder_.filePath("nothing")}) {
    MainWindow window;
    showActive(window);
    window.open({input});
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.message().contains("could not be"); }, 20'000))
        << input.toStdString();
    EXPECT_THAT(window.message().toStdString(), HasSubstr(input.toStdString()));
    EXPECT_TRUE(window.findChild<QWidget*>("start page")->isVisible());
    EXPECT_TRUE(window.recentFiles().entries().isEmpty());
  }
}

TEST_F(WindowMemoryTest, ALongSummaryDoesNotWidenTheWindow) {
  const TestLogs logs;
  MainWindow window;
  openLogs(window, logs);
  window.resize(640, 480);
  QCoreApplication::processEvents();
  EXPECT_LE(window.width(), 640);
  const auto* summary = window.statusBar()->findChild<ElidedLabel*>();
  ASSERT_NE(summary, nullptr);
  EXPECT_TRUE(summary->shownText().endsWith("…"));
  window.resize(2500, 900);
  QCoreApplication::processEvents();
  EXPECT_EQ(summary->shownText(), summary->text());
}

TEST(AppIconTest, ItIsDrawnFromItsFileInEverySize) {
  const QIcon icon = appIcon();
  for (const int side : {16, 48, 256}) {
    const QImage image = icon.pixmap(side, side).toImage();
    ASSERT_EQ(image.width(), side);
    EXPECT_EQ(image.pixelColor(0, 0).alpha(), 0) << "round corners";
    EXPECT_EQ(image.pixelColor(side / 2, side * 57 / 64), QColor("#1f2937"));
    EXPECT_EQ(image.pixelColor(side * 45 / 64, side * 18 / 64), QColor("#7ecb76"));
  }
}

}  // namespace
}  // namespace pipetrace
