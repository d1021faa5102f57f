#include <QApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QMessageBox>
#include <QStatusBar>
#include <QVBoxLayout>

#include "viewer/chart/chart_commands.h"
#include "viewer/window/keys_help.h"
#include "viewer/window/loading_bar.h"
#include "viewer/window/main_window.h"

// The parts of the window.
namespace pipetrace {

void MainWindow::addPanes() {
  chart_ = new ChartWidget;

  message_ = new QLabel;
  message_->setAlignment(Qt::AlignCenter);
  message_->setWordWrap(true);
  message_->setTextFormat(Qt::PlainText);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* progress = new LoadingBar(loader_);
  connect(progress, &LoadingBar::cancelled, this, &MainWindow::cancelLoading);
  busy_ = progress;
  messagePage_ = new QWidget;
  auto* column = new QVBoxLayout(messagePage_);
  column->setContentsMargins(48, 48, 48, 48);
  column->addStretch();
  column->addWidget(message_);
  column->addSpacing(16);
  column->addWidget(progress, 0, Qt::AlignHCenter);
  column->addStretch();

  pages_ = new QStackedWidget;
  pages_->addWidget(messagePage_);
  pages_->addWidget(chart_);
  setCentralWidget(pages_);

  summary_ = new QLabel;
  selected_ = new QLabel;
  range_ = new QLabel;
  findings_ = new QLabel;
  findings_->hide();
  for (QLabel* label : {summary_, findings_, selected_, range_}) {
    label->setContentsMargins(8, 0, 8, 0);
  }
  statusBar()->addWidget(summary_);
  statusBar()->addWidget(findings_);
  statusBar()->addPermanentWidget(selected_);
  statusBar()->addPermanentWidget(range_);
}

void MainWindow::addPanels() {
  details_ = new DetailsPanel(*chart_);
  detailsDock_ = new QDockWidget(tr("Selection"));
  detailsDock_->setObjectName(QStringLiteral("selection"));
  detailsDock_->setWidget(details_);
  addDockWidget(Qt::RightDockWidgetArea, detailsDock_);
  detailsDock_->hide();  // until something is selected
  detailsDock_->toggleViewAction()->setEnabled(false);
  resizeDocks({detailsDock_}, {290}, Qt::Horizontal);
}

void MainWindow::addMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open …"), QKeySequence::Open, this, &MainWindow::chooseFile);
  file->addAction(tr("Open &folder …"), this, &MainWindow::chooseFolder);
  export_ = file->addAction(tr("&Export …"), QKeySequence(Qt::CTRL | Qt::Key_E), this,
                            &MainWindow::chooseExport);
  export_->setEnabled(false);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, qApp, &QApplication::closeAllWindows);

  QMenu* view = menuBar()->addMenu(tr("&View"));
  view->addActions(commandsOf(*chart_, CommandMenu::kView));
  view->addSeparator();
  view->addAction(detailsDock_->toggleViewAction());
  QMenu* go = menuBar()->addMenu(tr("&Go"));
  go->addActions(commandsOf(*chart_, CommandMenu::kGo));

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("Mouse and keys"), QKeySequence::HelpContents, this, &MainWindow::showKeys);
}

void MainWindow::showKeys() {
  QMessageBox* box = new QMessageBox(QMessageBox::NoIcon, tr("Mouse and keys"), keysHelp(*chart_),
                                     QMessageBox::Close, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

}  // namespace pipetrace
