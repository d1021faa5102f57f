#include "viewer/testing/window_pictures.h"

#include <QDir>
#include <QFile>
#include <QTest>
#include <stdexcept>

#include "viewer/export/export_dialog.h"

namespace pipetrace {
namespace {

void openSample(MainWindow& window) {
  window.openSample();
  const bool isThere = QTest::qWaitFor([&] { return window.explanation() != nullptr; }, 60'000);
  if (!isThere) throw std::runtime_error("the sample did not open");
}

/// The first bubble of a class that is in view, on the screen.
QPoint bubbleIn(const MainWindow& window, BubbleClass cause) {
  const ChartView view = window.chart()->view();
  for (std::size_t i = 0; i < view.model.rows().size(); ++i) {
    for (const LaneIndex& lane : view.model.rows()[i].bubbles) {
      for (std::size_t b = 0; b < lane.size(); ++b) {
        const bool isSeen = lane[b].begin > view.axis.begin() && lane[b].end < view.axis.end();
        if (lane[b].bubbleClass != cause || !isSeen) continue;
        return {view.xOf(lane[b].begin + lane[b].duration() / 2),
                view.yOf(view.layout[i].top + view.layout[i].height / 2)};
      }
    }
  }
  throw std::runtime_error("no such bubble in view");
}

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
  QTest::mouseClick(window.chart()->viewport(), Qt::LeftButton, Qt::NoModifier,
                    bubbleIn(window, BubbleClass::kImbalance));
  return &window;
}

QWidget* exportOfTheStep(MainWindow& window) {
  openSample(window);
  const TimeAxis axis = window.chart()->view().axis;
  auto* dialog = new ExportDialog(window.sharedProfile(), {axis.begin(), axis.end()},
                                  QStringLiteral("/home/me/paper"), &window);
  dialog->show();
  QTest::keyClick(dialog->findChild<QComboBox*>(QStringLiteral("what")), Qt::Key_Down);
  QTest::qWait(400);  // until the preview is drawn
  return dialog;
}

}  // namespace

const std::vector<WindowPicture>& windowPictures() {
  static const std::vector<WindowPicture> pictures = {
      {"start", {800, 480}, true, true, started},
      {"sample", {1120, 560}, true, true, sample},
      {"selected-bubble", {1120, 560}, true, false, selectedBubble},
      {"export", {1120, 560}, true, false, exportOfTheStep},
      {"small-window", {1280, 720}, false, false, selectedBubble},
      {"large-window", {2560, 1440}, false, false, selectedBubble},
  };
  return pictures;
}

}  // namespace pipetrace
