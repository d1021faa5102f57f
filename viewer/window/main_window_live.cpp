#include <QStatusBar>
#include <utility>

#include "trace/error.h"
#include "viewer/window/main_window.h"

// A run that goes on.
namespace pipetrace {

void MainWindow::connectWatcher() {
  connect(&watcher_, &RunWatcher::grew, this, &MainWindow::showGrown);
  connect(&watcher_, &RunWatcher::ended, this, &MainWindow::showEndOfRun);
  connect(&watcher_, &RunWatcher::explained, this, &MainWindow::showExplanation);
  connect(&watcher_, &RunWatcher::waitsFor, this, [this](const QString& what) {
    if (what.isEmpty()) return statusBar()->clearMessage();
    const QString text = tr("The run waits for %1").arg(what);
    if (profile_) return statusBar()->showMessage(text);
    showMessage(tr("Following %1 …\n\n%2").arg(opening_, text), true);
  });
}

void MainWindow::follow(const QStringList& inputs) {
  RunRequest request;
  for (const QString& input : inputs) request.inputs.push_back(input.toStdString());
  request.reading.program = "pipe-view";
  opening_ = QString::fromStdString(profileName(request.inputs));
  openingInputs_ = absolutePaths(inputs);
  showMessage(
      tr("Following %1 …\n\nThe chart appears once every rank has finished a step.").arg(opening_),
      true);
  try {
    watcher_.start(request);
    loader_.stop();
    isLive_ = true;
    hasGrown_ = false;
  } catch (const Error& error) {
    showFailure(QString::fromUtf8(error.what()));
  }
}

void MainWindow::showGrown() {
  auto profile = watcher_.take();
  if (!profile) return;
  if (!hasGrown_) {
    hasGrown_ = true;
    return showProfile(std::move(profile));
  }
  forgetExplanation();
  useTheme(*profile);
  chart_->replaceModel(&profile->model());
  watcher_.giveBack(std::exchange(profile_, std::move(profile)));
  describeProfile();
}

void MainWindow::showEndOfRun(const QString& error) {
  isLive_ = false;
  showGrown();
  if (!explanation_ && error.isEmpty()) findingsPanel_->showWaiting();
  if (!explanation_ && !error.isEmpty()) findingsPanel_->showFailure();
  if (!error.isEmpty()) return showFailure(error);
  statusBar()->showMessage(tr("The run has ended"), 10'000);
}

}  // namespace pipetrace
