#include "viewer/testing/window_pictures.h"

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QTest>
#include <stdexcept>

#include "viewer/export/export_dialog.h"
#include "viewer/testing/prepared_windows.h"

namespace pipetrace {
namespace {

/// Files in the home folder that were opened before; the last one is gone.
QWidget* started(MainWindow& window) {
  const QDir home(QDir::homePath());
  home.mkpath(QStringLiteral("runs/monday/logs"));
  home.mkpath(QStringLiteral("traces"));
  const auto add = [&](const QString& name, qsizetype bytes, int day) {
    QFile file(home.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) throw std::runtime_error("cannot write into the home");
    file.write(QByteArray(bytes, ' '));
    file.flush();
    file.setFileTime(QDateTime({2026, 3, day}, {14, 5}), QFileDevice::FileModificationTime);
    return file.fileName();
  };
  const QString gone = add(QStringLiteral("traces/old.json"), 10, 1);
  const QString profile = add(QStringLiteral("traces/profile.pftrace"), 1'234'567, 2);
  for (int rank = 0; rank < 4; ++rank) {
    add(QStringLiteral("runs/monday/logs/workerlog.%1").arg(rank), 700'000, 9);
  }
  window.recentFiles().add({gone});
  window.recentFiles().add({profile});
  window.recentFiles().add({home.filePath(QStringLiteral("runs/monday/logs"))});
  QFile::remove(gone);
  window.hide();
  window.show();
  return &window;
}

QWidget* sample(MainWindow& window) {
  openSample(window);
  return &window;
}

QWidget* selectedBubble(MainWindow& window) {
  openSample(window);
  selectBubble(window, BubbleClass::kImbalance);
  return &window;
}

/// The chart with a selected bubble in the colours of that theme.
std::function<QWidget*(MainWindow&)> chartIn(const char* theme, const char* brightness) {
  return [theme, brightness](MainWindow& window) -> QWidget* {
    run(window, theme);
    run(window, brightness);
    selectedBubble(window);
    return window.chart();
  };
}

QWidget* darkWindow(MainWindow& window) {
  run(window, "theme-colour-blind");
  run(window, "brightness-dark");
  openSample(window);
  selectJob(window, 2, JobKind::kForward, 5);
  return &window;
}

QWidget* findings(MainWindow& window) {
  openSample(window);
  return &partOf<QDockWidget>(window, "findings");
}

QWidget* detailsOfABubble(MainWindow& window) {
  selectedBubble(window);
  return &partOf<QDockWidget>(window, "selection");
}

QWidget* detailsOfAJob(MainWindow& window) {
  openSample(window);
  selectJob(window, 2, JobKind::kForward, 5);
  return &partOf<QDockWidget>(window, "selection");
}

QWidget* statistics(MainWindow& window) {
  openSample(window);
  dragArea(window, {0.2, 0.0}, {0.8, 0.9});
  return &window;
}

QWidget* waiting(MainWindow& window) {
  openUnevenPeers(window);
  showWaiting(window);
  return &window;
}

QWidget* whatIfFaster(MainWindow& window) {
  openSample(window);
  askWhatIf(window, "--scale stage=2:0.77");
  return &window;
}

QWidget* otherPlan(MainWindow& window) {
  openSample(window);
  askWhatIf(window, "--schedule ZB-H1");
  return &window;
}

QWidget* twoRuns(MainWindow& window) {
  openTwoRuns(window);
  return &window;
}

/// A prediction and a second run at once.
QWidget* threeCharts(MainWindow& window) {
  openTwoRuns(window);
  askWhatIf(window, "--scale stage=2:0.8");
  return &window;
}

QWidget* withPlan(MainWindow& window) {
  openWithPlan(window);
  return &window;
}

/// The same in dark colours.
std::function<QWidget*(MainWindow&)> inTheDark(const std::function<QWidget*(MainWindow&)>& open) {
  return [open](MainWindow& window) -> QWidget* {
    run(window, "brightness-dark");
    return open(window);
  };
}

QWidget* found(MainWindow& window) {
  openSample(window);
  find(window, "kind:backward mb:2,3");
  return &window;
}

QWidget* criticalPath(MainWindow& window) {
  openSample(window);
  showCriticalPath(window);
  return window.chart();
}

QWidget* steps(MainWindow& window) {
  openSample(window);
  press(window, Qt::Key_Home);
  return window.chart();
}

QWidget* rows(MainWindow& window) {
  openReplicas(window);
  return window.chart();
}

QWidget* rowsByStage(MainWindow& window) {
  openReplicas(window);
  run(window, "rows-by-stage");
  return window.chart();
}

QWidget* commands(MainWindow& window) {
  openSample(window);
  press(window, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("step"));
  return &window;
}

QWidget* keys(MainWindow& window) {
  openSample(window);
  press(window, Qt::Key_Question);
  return QApplication::activeModalWidget();
}

QWidget* exportOfTheStep(MainWindow& window) {
  openSample(window);
  const TimeAxis axis = window.chart()->view().axis;
  auto* dialog = new ExportDialog(window.sharedProfile(), {axis.begin(), axis.end()},
                                  QStringLiteral("/home/me/paper"), &window);
  dialog->setExplanation(
      std::shared_ptr<const Explanation>(window.sharedProfile(), window.explanation()));
  dialog->show();
  QTest::keyClick(dialog->findChild<QComboBox*>(QStringLiteral("what")), Qt::Key_Down);
  QTest::qWait(400);  // until the preview is drawn
  return dialog;
}

constexpr QSize kChart{900, 480};  // of the window around it

}  // namespace

const std::vector<WindowPicture>& windowPictures() {
  static const std::vector<WindowPicture> pictures = {
      {"start", {800, 480}, true, true, started},
      {"sample", {1120, 560}, true, true, sample},
      {"selected-bubble", {1120, 560}, true, false, selectedBubble},
      {"export", {1120, 560}, true, false, exportOfTheStep},
      {"small-window", {1280, 720}, false, false, selectedBubble},
      {"large-window", {2560, 1440}, false, false, selectedBubble},
      {"dark", {1120, 560}, true, false, darkWindow},
      {"theme-paper-dark", kChart, false, true, chartIn("theme-paper", "brightness-dark")},
      {"theme-paddle", kChart, false, true, chartIn("theme-paddle", "brightness-light")},
      {"theme-paddle-dark", kChart, false, true, chartIn("theme-paddle", "brightness-dark")},
      {"theme-colour-blind", kChart, false, true,
       chartIn("theme-colour-blind", "brightness-light")},
      {"theme-colour-blind-dark", kChart, false, true,
       chartIn("theme-colour-blind", "brightness-dark")},
      {"findings", {900, 560}, false, true, findings},
      {"bubble-details", {900, 640}, false, true, detailsOfABubble},
      {"job-details", {900, 640}, false, true, detailsOfAJob},
      {"statistics", {1120, 640}, true, true, statistics},
      {"waiting", {1120, 700}, true, false, waiting},
      {"what-if", {1400, 800}, true, false, whatIfFaster},
      {"what-if-dark", {1120, 640}, false, false, inTheDark(otherPlan)},
      {"two-runs", {1120, 760}, true, false, twoRuns},
      {"two-runs-dark", {960, 600}, false, false, inTheDark(twoRuns)},
      {"three-charts", {1400, 900}, false, false, threeCharts},
      {"plan", {1120, 700}, true, false, withPlan},
      {"plan-dark", {960, 600}, false, false, inTheDark(withPlan)},
      {"search", {1120, 560}, true, true, found},
      {"critical-path", {1120, 700}, true, true, criticalPath},
      {"steps", {1120, 560}, true, true, steps},
      {"rows", {1120, 700}, true, true, rows},
      {"rows-by-stage", {1120, 700}, false, true, rowsByStage},
      {"commands", {960, 480}, false, true, commands},
      {"keys", {960, 480}, false, true, keys},
  };
  return pictures;
}

}  // namespace pipetrace
