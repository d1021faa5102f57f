#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QScrollBar>
#include <QStatusBar>

#include "trace/error.h"
#include "viewer/chart/row_filter.h"
#include "viewer/export/export_dialog.h"
#include "viewer/start/sample_run.h"
#include "viewer/window/main_window.h"

// The window opens inputs, writes pictures, and remembers.
namespace pipetrace {

void MainWindow::addStart() {
  start_ = new StartPage(recent_);
  pages_->addWidget(start_);
  connect(start_, &StartPage::fileWanted, this, &MainWindow::chooseFile);
  connect(start_, &StartPage::folderWanted, this, &MainWindow::chooseFolder);
  connect(start_, &StartPage::sampleWanted, this, &MainWindow::openSample);
  connect(start_, &StartPage::opened, this, &MainWindow::open);
  recentMenu_ = new QMenu(tr("Open &recent"), this);
  connect(recentMenu_, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
  connect(&recent_, &RecentFiles::changed, this, &MainWindow::fillRecentMenu);
  fillRecentMenu();
}

void MainWindow::showStart(const QString& problem) {
  start_->showProblem(problem);
  pages_->setCurrentWidget(start_);
}

void MainWindow::fillRecentMenu() {
  recentMenu_->clear();
  for (const QStringList& inputs : recent_.entries()) {
    const bool isThere = factsOf(inputs).isThere;
    const QString folder = QDir::toNativeSeparators(QFileInfo(inputs.front()).path());
    QString text = shortNameOf(inputs) + "   " + folder;
    if (!isThere) text += tr("   (no longer there)");
    QAction* action = recentMenu_->addAction(text.replace('&', QStringLiteral("&&")), this,
                                             [this, inputs] { open(inputs); });
    action->setEnabled(isThere);
  }
  recentMenu_->addSeparator();
  recentMenu_->addAction(tr("&Clear the list"), &recent_, &RecentFiles::clear)
      ->setEnabled(!recent_.entries().isEmpty());
}

void MainWindow::chooseFile() {
  open(QFileDialog::getOpenFileNames(this, tr("Open profiles or job logs")));
}

void MainWindow::chooseFolder() {
  const QString folder = QFileDialog::getExistingDirectory(this, tr("Open a folder of job logs"));
  if (!folder.isEmpty()) open({folder});
}

void MainWindow::openSample() {
  try {
    if (!sample_) {
      sample_ = std::make_unique<QTemporaryDir>();
      writeSampleLogs(sample_->filePath(QStringLiteral("sample run")).toStdString());
    }
    open({sample_->filePath(QStringLiteral("sample run"))});
  } catch (const Error& error) {
    sample_.reset();
    showStart(QString::fromUtf8(error.what()));
  }
}

void MainWindow::chooseExport() {
  if (!profile_) return;
  QString folder = memory_.exportFolder();
  if (folder.isEmpty() || !QFileInfo(folder).isDir()) folder = QDir::currentPath();
  const TimeAxis axis = chart_->view().axis;
  ExportDialog dialog(profile_, {axis.begin(), axis.end()}, folder, this);
  dialog.setRows(chart_->rowState());
  dialog.setExplanation(explanation_);
  if (dialog.exec() != QDialog::Accepted) return;
  const QString path = QString::fromStdString(dialog.options().path);
  memory_.saveExportFolder(QFileInfo(path).absolutePath());
  statusBar()->showMessage(tr("Exported to %1").arg(path), 5000);
}

void MainWindow::copyPicture() {
  if (!profile_) return;
  QWidget* const field = chart_->rowFilter();
  const bool hadFocus = field->hasFocus();
  field->hide();  // it is no part of a picture
  QApplication::clipboard()->setPixmap(chart_->viewport()->grab());
  field->show();
  if (hadFocus) field->setFocus();
  statusBar()->showMessage(tr("Copied the chart as a picture"), 5000);
}

void MainWindow::rememberSeen() {
  if (!profile_ || shownInputs_.isEmpty()) return;
  const TimeAxis axis = chart_->view().axis;
  const Nanoseconds origin = profile_->model().span().begin;
  memory_.saveSeen(shownInputs_, {axis.begin() - origin, axis.end() - origin, chart_->isFitted(),
                                  chart_->verticalScrollBar()->value()});
}

void MainWindow::showAsRemembered() {
  shownInputs_ = openingInputs_;
  const bool isSample = sample_ && openingInputs_.front().startsWith(sample_->path());
  if (isSample) {
    shownInputs_.clear();  // it has another place each time
    return;
  }
  recent_.add(openingInputs_);
  const auto seen = memory_.seenOf(shownInputs_);
  if (!seen) return;
  const Nanoseconds origin = profile_->model().span().begin;
  if (seen->isWhole) {
    chart_->fit();
  } else {
    chart_->showSpan(origin + seen->begin, origin + seen->end);
  }
  chart_->verticalScrollBar()->setValue(seen->scroll);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  rememberSeen();
  memory_.savePlace(*this);
  if (profile_) memory_.saveDocks(*this);  // without one, panels are hidden
  QMainWindow::closeEvent(event);
}

}  // namespace pipetrace
