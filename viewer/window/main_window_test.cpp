#include "viewer/window/main_window.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QDockWidget>
#include <QDropEvent>
#include <QFile>
#include <QListWidget>
#include <QMenuBar>
#include <QMimeData>
#include <QMouseEvent>
#include <QPushButton>
#include <QStatusBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>
#include <cstdlib>

#include "parser/chrome/write/writer.h"
#include "trace/files/output_file.h"
#include "trace/text/decimal_time.h"
#include "viewer/testing/profile.h"
#include "viewer/testing/shown_window.h"
#include "viewer/testing/slow_peer_run.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

QString allTexts(const QWidget* parent) {
  QString text;
  for (const QLabel* label : parent->findChildren<QLabel*>()) text += label->text() + "\n";
  return text;
}

bool opens(MainWindow& window) {
  return QTest::qWaitFor([&] { return window.profile() != nullptr; }, 20'000);
}

TEST(MainWindowTest, LogsAreReadOnAnotherThreadAndShown) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  EXPECT_THAT(window.message().toStdString(), HasSubstr("Opening " + logs.path()));
  EXPECT_EQ(window.profile(), nullptr) << "the window does not wait";
  ASSERT_TRUE(opens(window));
  EXPECT_EQ(window.message(), "");
  const ChartModel& model = *window.chart()->model();
  EXPECT_EQ(model.rankCount(), 4U);
  EXPECT_EQ(model.steps().size(), 3U);
  EXPECT_GT(model.rows()[0].bubbles.at(0).size(), 0U);
  EXPECT_THAT(window.windowTitle().toStdString(),
              HasSubstr(QString::fromStdString(logs.path()).section('/', -1).toStdString()));
  EXPECT_THAT(allTexts(window.statusBar()).toStdString(),
              AllOf(HasSubstr("1F1B, 4 ranks, 8 micro-batches"), HasSubstr("3 steps"),
                    HasSubstr("216 jobs, 288 transfers"),  // 4 x 3 x 18; 3 x 3 x 2 x 8 x 2
                    HasSubstr("bubble ratio of the run 3")));
}

TEST(MainWindowTest, ALongRunOpensAtAFewLegibleSteps) {
  const TestLogs logs({.steps = 12});
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const std::vector<StepSpan>& steps = window.profile()->model().steps();
  const auto shows = [&](std::size_t first, std::size_t last) {
    const TimeAxis axis = window.chart()->view().axis;
    return steps[first - 1].end >= axis.begin() && axis.begin() <= steps[first].begin &&
           steps[last].end <= axis.end() && axis.end() < steps[last + 1].end;
  };
  EXPECT_TRUE(shows(1, 2));
  QTest::keyClick(window.chart(), Qt::Key_F);
  EXPECT_TRUE(window.chart()->isFitted());
  EXPECT_GT(window.chart()->view().axis.span(), steps.back().end - steps.front().begin);
}

TEST(MainWindowTest, AShortRunOpensWhole) {
  const TestLogs logs({.microBatches = 4, .steps = 2});
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  EXPECT_TRUE(window.chart()->isFitted());
}

TEST(MainWindowTest, ABubbleWithoutACulpritIsReportedAsSuch) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  QTest::keyClick(window.chart(), Qt::Key_C);
  EXPECT_THAT(window.statusBar()->currentMessage().toStdString(), HasSubstr("Select a bubble"));
  const LaneIndex& bubbles = window.profile()->model().rows()[0].bubbles[0];
  std::size_t own = 0;
  while (!isOfSchedule(bubbles[own].bubbleClass)) ++own;
  window.chart()->goTo({.row = 0, .event = &bubbles[own], .count = 1, .load = {}, .span = 0});
  QTest::keyClick(window.chart(), Qt::Key_C);
  EXPECT_EQ(window.statusBar()->currentMessage(), "No job is to blame for this bubble");
}

TEST(MainWindowTest, TheDetailsTakeNoRoomWithoutASelection) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const auto* dock = window.findChild<QDockWidget*>("selection");
  ASSERT_NE(dock, nullptr);
  EXPECT_FALSE(dock->isVisible());
  EXPECT_EQ(window.chart()->width(), window.width());
  const ChartView view = window.chart()->view();
  const Event& job = view.model.rows()[0].lanes[0][2];
  QTest::mouseClick(window.chart()->viewport(), Qt::LeftButton, Qt::NoModifier,
                    QPoint(view.xOf(job.begin) + 3, view.yOf(view.layout[0].top + 4)));
  EXPECT_TRUE(dock->isVisible());
  QTest::keyClick(window.chart(), Qt::Key_Escape);
  EXPECT_FALSE(dock->isVisible());
}

TEST(MainWindowTest, TheStatusBarFollowsTheView) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const QString before = allTexts(window.statusBar());
  QTest::keyClick(window.chart(), Qt::Key_W);
  EXPECT_NE(allTexts(window.statusBar()), before);
}

TEST(MainWindowTest, ASelectedJobIsDescribed) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const ChartView view = window.chart()->view();
  const Event& job = view.model.rows()[0].lanes[0][2];
  const QPoint middle(view.xOf(job.begin + job.duration() / 2), view.yOf(view.layout[0].top + 10));
  QTest::mouseClick(window.chart()->viewport(), Qt::LeftButton, Qt::NoModifier, middle);
  const auto* details = window.findChild<DetailsPanel*>()->findChild<QTreeWidget*>();
  ASSERT_NE(details, nullptr);
  ASSERT_GT(details->topLevelItemCount(), 8);
  EXPECT_EQ(details->topLevelItem(0)->text(1), "forward 1");
  EXPECT_THAT(allTexts(window.statusBar()).toStdString(),
              HasSubstr("selected: forward 1, 10.00 ms"));
}

TEST(MainWindowTest, AButtonLeadsFromABubbleToItsCulpritAndBack) {
  const TestLogs logs;  // its transfers of 1 ms are what ranks wait for
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const auto buttonOf = [&](const QString& text) -> QPushButton* {
    for (QPushButton* button : window.findChildren<QPushButton*>()) {
      if (button->text().contains(text)) return button;
    }
    return nullptr;
  };
  QPushButton* const go = buttonOf("Go to the culprit");
  QPushButton* const back = buttonOf("Back");
  ASSERT_TRUE(go != nullptr && back != nullptr);
  const ChartView view = window.chart()->view();
  const LaneIndex& bubbles = view.model.rows()[0].bubbles[0];
  const Event* bubble = nullptr;
  for (std::size_t i = 0; i < bubbles.size() && bubble == nullptr; ++i) {
    const bool isTransfer = bubbles[i].bubbleClass == BubbleClass::kTransfer;
    if (isTransfer && view.axis.begin() < bubbles[i].begin) bubble = &bubbles[i];
  }
  ASSERT_NE(bubble, nullptr);
  const QPoint middle(view.xOf(bubble->begin + bubble->duration() / 2),
                      view.yOf(view.layout[0].top + 10));
  QTest::mouseClick(window.chart()->viewport(), Qt::LeftButton, Qt::NoModifier, middle);
  EXPECT_TRUE(go->isVisible());
  EXPECT_FALSE(back->isVisible());
  EXPECT_THAT(allTexts(window.statusBar()).toStdString(), HasSubstr("selected: bubble transfer"));
  go->click();
  ASSERT_TRUE(window.chart()->selection());
  const ChartHit culprit = *window.chart()->selection();
  EXPECT_EQ(view.model.rows()[culprit.row].rank, bubble->peer);
  EXPECT_EQ(culprit.event->job, bubble->job);
  EXPECT_FALSE(go->isVisible());
  EXPECT_TRUE(back->isVisible());
  back->click();
  EXPECT_EQ(window.chart()->selection()->event, bubble);
}

TEST(MainWindowTest, ADoubleClickMeansTheBubbleThatItsFirstClickHit) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const ChartView view = window.chart()->view();
  const LaneIndex& bubbles = view.model.rows()[0].bubbles[0];
  const Event* bubble = nullptr;  // the last in view: the pane of the selection moves it
  for (std::size_t i = 0; i < bubbles.size(); ++i) {
    const bool isTransfer = bubbles[i].bubbleClass == BubbleClass::kTransfer;
    if (isTransfer && bubbles[i].end < view.axis.end()) bubble = &bubbles[i];
  }
  ASSERT_NE(bubble, nullptr);
  const QPoint middle(view.xOf(bubble->begin + bubble->duration() / 2),
                      view.yOf(view.layout[0].top + 10));
  QTest::mouseClick(window.chart()->viewport(), Qt::LeftButton, Qt::NoModifier, middle);
  QCoreApplication::processEvents();
  ASSERT_LT(window.chart()->width(), window.width()) << "the pane is there";
  ASSERT_EQ(window.chart()->selection()->event, bubble);
  QTest::mouseDClick(window.chart()->viewport(), Qt::LeftButton, Qt::NoModifier, middle);
  EXPECT_EQ(window.chart()->selection()->event, bubble);
  const TimeAxis axis = window.chart()->view().axis;
  EXPECT_LE(axis.begin(), bubble->begin);
  EXPECT_GE(axis.end(), bubble->end);
  EXPECT_LT(axis.span(), 2 * bubble->duration());
}

TEST(MainWindowTest, AnUnreadableProfileCausesAMessageInTheWindow) {
  MainWindow window;
  showActive(window);
  window.open({"/nonexistent/profile.json"});
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return window.message().contains("could not be opened"); }, 20'000));
  EXPECT_THAT(window.message().toStdString(), HasSubstr("/nonexistent/profile.json"));
  EXPECT_EQ(window.profile(), nullptr);
  const TestLogs logs;
  window.open({QString::fromStdString(logs.path())});
  EXPECT_TRUE(opens(window)) << "and another profile opens afterwards";
}

TEST(MainWindowTest, AFailedOpenKeepsTheProfileOnTheScreen) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const LoadedProfile* shown = window.profile();
  window.open({"/nonexistent/profile.json"});
  QWidget* box = nullptr;
  ASSERT_TRUE(QTest::qWaitFor([&] { return (box = QApplication::activeModalWidget()) != nullptr; },
                              20'000));
  EXPECT_THAT(allTexts(box).toStdString(), HasSubstr("/nonexistent/profile.json"));
  box->close();
  EXPECT_EQ(window.profile(), shown);
  EXPECT_EQ(window.message(), "");
}

TEST(MainWindowTest, ADroppedFolderIsOpened) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(QString::fromStdString(logs.path()))});
  QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &drop);
  EXPECT_TRUE(opens(window));
}

TEST(MainWindowTest, AnotherProfileReplacesTheFirst) {
  const TestLogs first({.ranks = 2});
  const TestLogs second({.ranks = 3});
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(first.path())});
  ASSERT_TRUE(opens(window));
  const ChartView view = window.chart()->view();
  const Event& job = view.model.rows()[0].lanes[0][1];
  QTest::mouseClick(window.chart()->viewport(), Qt::LeftButton, Qt::NoModifier,
                    QPoint(view.xOf(job.begin) + 2, view.yOf(view.layout[0].top + 4)));
  ASSERT_TRUE(window.chart()->selection());
  window.open({QString::fromStdString(second.path())});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.profile()->model().rankCount() == 3; }, 20'000));
  EXPECT_FALSE(window.chart()->selection()) << "its job is gone";
  EXPECT_FALSE(window.grab().isNull());
}

TEST(MainWindowTest, ClosingWhileReadingIsSafe) {
  const TestLogs logs({.ranks = 8, .steps = 30});
  auto window = std::make_unique<MainWindow>();
  window->show();
  window->open({QString::fromStdString(logs.path())});
  window.reset();
}

TEST(MainWindowTest, TheReasonsForIdleTimeComeAfterThePicture) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.explanation() != nullptr; }, 20'000));
  EXPECT_EQ(window.explanation()->ranks.size(), 4U);
  EXPECT_FALSE(window.explanation()->findings.empty());
}

TEST(MainWindowTest, FindingsAreListedBelowTheChart) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  auto* dock = window.findChild<QDockWidget*>("findings");
  ASSERT_NE(dock, nullptr);
  EXPECT_FALSE(dock->isVisible()) << "there is no profile";
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  EXPECT_TRUE(dock->isVisible());
  auto* list = dock->findChild<QListWidget*>();
  if (window.explanation() == nullptr) {
    EXPECT_EQ(list->item(0)->text(), "Looking for causes …");
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.explanation() != nullptr; }, 20'000));
  ASSERT_EQ(static_cast<std::size_t>(list->count()), window.explanation()->findings.size());
  QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                    list->visualItemRect(list->item(0)).center());
  ASSERT_TRUE(window.chart()->selection());
  EXPECT_EQ(window.chart()->selection()->event->kind, JobKind::kBubble);
}

TEST(MainWindowTest, ALogThatIsCutOffOpensWithANote) {
  const TestLogs logs;
  QFile file(QString::fromStdString(logs.file("workerlog.2")));
  ASSERT_TRUE(file.open(QIODevice::ReadWrite));
  ASSERT_TRUE(file.resize(file.size() - 200));
  file.close();
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  auto* const trust = window.statusBar()->findChild<QToolButton*>("trust-button");
  ASSERT_TRUE(QTest::qWaitFor([&] { return trust->text().contains("warning"); }, 20'000))
      << trust->text().toStdString();
  EXPECT_FALSE(trust->icon().isNull());
  auto* const dock = window.findChild<QDockWidget*>("trust");
  trust->click();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !dock->visibleRegion().isEmpty(); }, 20'000))
      << "a click opens the list";
  EXPECT_GT(dock->findChild<QListWidget*>()->count(), 0);
}

TEST(MainWindowTest, TheTableOfRanksHasTheHeightToBeReadWhenItIsFirstSeen) {
  const TestLogs logs({.ranks = 16});
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.explanation() != nullptr; }, 20'000));
  auto* const ranks = window.findChild<QDockWidget*>("ranks");
  auto* const findings = window.findChild<QDockWidget*>("findings");
  const int before = findings->height();
  ranks->raise();
  EXPECT_TRUE(QTest::qWaitFor([&] { return ranks->height() > before + 20; }, 20'000)) << before;
  window.resizeDocks({ranks}, {120}, Qt::Vertical);
  findings->raise();
  QTest::qWait(50);
  ranks->raise();
  QTest::qWait(50);
  EXPECT_LT(ranks->height(), 160) << "after that it stays as the user has it";
}

TEST(MainWindowTest, TheStatusSaysWhatTheAxisShows) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const TimeAxis axis = window.chart()->view().axis;
  ASSERT_GT(axis.end(), window.chart()->model()->span().end) << "there is a margin";
  EXPECT_THAT(allTexts(window.statusBar()).toStdString(),
              HasSubstr("(" + formatDuration(axis.span()) + ")"));
}

TEST(MainWindowTest, EventsOfALaneOfBothAreTransfersOrOperatorsEachByItsOwnKind) {
  const QTemporaryDir folder;
  const std::string profile = folder.filePath(QStringLiteral("torch.json")).toStdString();
  Timeline timeline = makeTestTimeline({});
  for (int i = 0; i < 70; ++i) {
    Event work{.begin = kTestEpoch + i * kNsPerMs, .end = kTestEpoch + (i + 1) * kNsPerMs};
    if (i % 7 == 0) work.kind = JobKind::kAllReduce;  // as on a stream that computes
    timeline.track(0, "stream 7").events.push_back(work);
  }
  timeline.sort();
  OutputFile out(profile);
  writeChromeJson(timeline, {}, out);
  out.commit();
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(profile)});
  ASSERT_TRUE(opens(window));
  EXPECT_THAT(allTexts(window.statusBar()).toStdString(),
              HasSubstr("216 jobs, 298 transfers, 60 operators"));
}

TEST(MainWindowTest, TheWindowMayBeSmallAndStaysSoWhenABubbleIsSelected) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  window.resize(400, 300);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.size() == QSize(400, 300); }, 5000))
      << window.width() << " x " << window.height();
  QTest::keyClick(window.chart(), Qt::Key_B);
  ASSERT_TRUE(window.chart()->selection());
  QTest::qWait(100);
  EXPECT_EQ(window.size(), QSize(400, 300));
}

TEST(MainWindowTest, TheStatusBeginsWithWhatCannotBe) {
  const TestLogs logs;
  QFile file(QString::fromStdString(logs.file("workerlog.3")));
  ASSERT_TRUE(file.open(QIODevice::ReadWrite));
  QByteArray kept;
  for (const QByteArray& line : file.readAll().split('\n')) {
    if (line.contains("Job (") && line.contains("step = 2,")) continue;
    kept += line + '\n';
  }
  ASSERT_TRUE(file.resize(0));
  ASSERT_TRUE(file.seek(0));
  ASSERT_EQ(file.write(kept), kept.size());
  file.close();
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.profile()->isClassified(); }, 20'000));
  const auto* summary = window.statusBar()->findChild<ElidedLabel*>();
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return summary->text().startsWith("doubt: step 2 is incomplete"); }, 20'000))
      << summary->text().toStdString();
  EXPECT_THAT(summary->toolTip().toStdString(), HasSubstr("leave it out of comparisons"));
}

TEST(MainWindowTest, MenusHaveWhatTheDocumentationLists) {
  MainWindow window;
  QStringList entries;
  for (const QAction* menu : window.menuBar()->actions()) {
    for (const QAction* action : menu->menu()->actions()) entries.push_back(action->text());
  }
  const std::string all = entries.join('\n').toStdString();
  for (const char* entry :
       {"&Open", "&Export", "&Quit", "Zoom in", "Next step", "Culprit", "Mouse and keys"}) {
    EXPECT_THAT(all, HasSubstr(entry));
  }
}

TEST(MainWindowTest, TheStatisticsComeWithAnAreaAndGoWithIt) {
  const TestLogs logs;
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  auto* const dock = window.findChild<QDockWidget*>("statistics");
  EXPECT_FALSE(dock->isVisible());
  ChartWidget& chart = *window.chart();
  const ChartView view = chart.view();
  const QPoint from(view.area.x + 100, view.area.y + 20);
  const QPoint to = from + QPoint(200, 60);
  const int heightBefore = chart.height();
  const auto move = [&](QPoint position) {
    QMouseEvent event(QEvent::MouseMove, position, chart.viewport()->mapToGlobal(position),
                      Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(chart.viewport(), &event);
  };
  QTest::mousePress(chart.viewport(), Qt::LeftButton, Qt::NoModifier, from);
  move(to);
  EXPECT_TRUE(chart.area());
  EXPECT_FALSE(dock->isVisible()) << "the rows do not move under the pointer";
  QTest::mouseRelease(chart.viewport(), Qt::LeftButton, Qt::NoModifier, to);
  EXPECT_TRUE(dock->isVisible());
  auto* const findings = window.findChild<QDockWidget*>("findings");
  EXPECT_THAT(window.tabifiedDockWidgets(findings), testing::Contains(dock));
  EXPECT_TRUE(QTest::qWaitFor([&] { return findings->visibleRegion().isEmpty(); }, 20'000));
  EXPECT_TRUE(QTest::qWaitFor([&] { return dock->height() > 180; }, 20'000))
      << "the table is cramped";
  QTest::keyClick(&chart, Qt::Key_Escape);
  EXPECT_FALSE(dock->isVisible());
  EXPECT_TRUE(QTest::qWaitFor([&] { return !findings->visibleRegion().isEmpty(); }, 20'000));
  EXPECT_TRUE(QTest::qWaitFor([&] { return std::abs(chart.height() - heightBefore) < 8; }, 5000))
      << "the chart gets its height back: " << chart.height() << " of " << heightBefore;
}

TEST(MainWindowTest, WaitsInsideJobsHaveATabWhereThereAreSome) {
  const QTemporaryDir folder;
  const std::string profile = folder.filePath(QStringLiteral("hybrid.json")).toStdString();
  OutputFile out(profile);
  writeChromeJson(runWithASlowPeer().timeline(), {}, out);
  out.commit();
  MainWindow window;
  showActive(window);
  auto* const dock = window.findChild<QDockWidget*>("waiting");
  auto* const findings = window.findChild<QDockWidget*>("findings");
  ASSERT_NE(dock, nullptr);
  const auto shows = [&](const std::string& input, std::size_t ranks) {
    window.open({QString::fromStdString(input)});
    return QTest::qWaitFor(
        [&] {
          return window.explanation() != nullptr && window.profile()->model().rankCount() == ranks;
        },
        20'000);
  };
  const TestLogs other({.ranks = 2});
  ASSERT_TRUE(shows(other.path(), 2));
  EXPECT_FALSE(dock->isVisible()) << "no ranks meet inside jobs";
  ASSERT_TRUE(shows(profile, 4));
  EXPECT_TRUE(dock->toggleViewAction()->isChecked());
  EXPECT_THAT(window.tabifiedDockWidgets(findings), testing::Contains(dock));
  EXPECT_TRUE(QTest::qWaitFor([&] { return !findings->visibleRegion().isEmpty(); }, 20'000))
      << "findings stay on top";
  dock->raise();
  auto* const map = dock->findChild<QTableView*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !map->visibleRegion().isEmpty(); }, 20'000));
  EXPECT_TRUE(QTest::qWaitFor([&] { return dock->height() > 180; }, 20'000)) << "it is cramped";
  QTest::mouseClick(map->viewport(), Qt::LeftButton, {},
                    map->visualRect(map->model()->index(0, 1)).center());
  ASSERT_TRUE(window.chart()->selection());
  EXPECT_EQ(window.chart()->selection()->event->kind, JobKind::kForward);
  ASSERT_TRUE(shows(other.path(), 2));
  EXPECT_FALSE(dock->isVisible());
}

TEST(MainWindowTest, StepsOfTheStripHaveTheReportsBubbleRatios) {
  const TestLogs logs({.steps = 4});
  MainWindow window;
  showActive(window);
  window.open({QString::fromStdString(logs.path())});
  ASSERT_TRUE(opens(window));
  const auto& ratios = window.chart()->bubbleRatios();
  ASSERT_EQ(ratios.size(), 4U);
  for (const StepSummary& step : window.profile()->summary().steps) {
    EXPECT_NEAR(ratios.at(step.step), step.bubbleRatio, 1e-12);
  }
}

}  // namespace
}  // namespace pipetrace
