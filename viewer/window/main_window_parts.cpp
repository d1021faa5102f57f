#include <QApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QStatusBar>
#include <QVBoxLayout>

#include "viewer/chart/chart_commands.h"
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

  summary_ = new ElidedLabel;
  selected_ = new QLabel;
  range_ = new QLabel;
  findings_ = new QLabel;
  findings_->hide();
  for (QLabel* label : {static_cast<QLabel*>(summary_), findings_, selected_, range_}) {
    label->setContentsMargins(8, 0, 8, 0);
  }
  statusBar()->addWidget(summary_, 1);
  statusBar()->addWidget(findings_);
  statusBar()->addPermanentWidget(selected_);
  statusBar()->addPermanentWidget(range_);
}

void MainWindow::addPanels() {
  causes_ = new Causes(*chart_);
  causes_->setParent(this);
  findingsPanel_ = new FindingsPanel(*causes_);
  findingsDock_ = new QDockWidget(tr("Findings"));
  findingsDock_->setObjectName(QStringLiteral("findings"));
  findingsDock_->setWidget(findingsPanel_);
  addDockWidget(Qt::BottomDockWidgetArea, findingsDock_);
  findingsDock_->hide();  // until there is a profile

  details_ = new DetailsPanel(*chart_, *causes_);
  detailsDock_ = new QDockWidget(tr("Selection"));
  detailsDock_->setObjectName(QStringLiteral("selection"));
  detailsDock_->setWidget(details_);
  addDockWidget(Qt::RightDockWidgetArea, detailsDock_);
  detailsDock_->hide();  // until something is selected
  detailsDock_->toggleViewAction()->setEnabled(false);
  resizeDocks({detailsDock_}, {290}, Qt::Horizontal);

  statisticsDock_ = new QDockWidget(tr("Statistics of the area"));
  statisticsDock_->setObjectName(QStringLiteral("statistics"));
  statisticsDock_->setWidget(new StatisticsPanel(*chart_));
  tabifyDockWidget(findingsDock_, statisticsDock_);
  statisticsDock_->hide();  // until there is an area
  statisticsDock_->toggleViewAction()->setEnabled(false);
  resizeDocks({statisticsDock_}, {220}, Qt::Vertical);
}

void MainWindow::addMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open …"), QKeySequence::Open, this, &MainWindow::chooseFile);
  file->addAction(tr("Open &folder …"), this, &MainWindow::chooseFolder);
  file->addMenu(recentMenu_);
  file->addAction(tr("Open a &sample"), this, &MainWindow::openSample);
  file->addSeparator();
  export_ = file->addAction(tr("&Export …"), QKeySequence(Qt::CTRL | Qt::Key_E), this,
                            &MainWindow::chooseExport);
  export_->setEnabled(false);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, qApp, &QApplication::closeAllWindows);

  QMenu* edit = menuBar()->addMenu(tr("&Edit"));
  copyPicture_ =
      edit->addAction(tr("Copy as &picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), this,
                      &MainWindow::copyPicture);
  copyPicture_->setEnabled(false);

  edit->addActions(commandsOf(*chart_, CommandMenu::kEdit));
  addSearchCommands(edit);
  QMenu* view = menuBar()->addMenu(tr("&View"));
  view->addActions(commandsOf(*chart_, CommandMenu::kView));
  view->addMenu(tr("&Rows"))->addActions(commandsOf(*chart_, CommandMenu::kRows));
  view->addSeparator();
  addDragSwitch(view);
  view->addSeparator();
  view->addAction(detailsDock_->toggleViewAction());
  view->addAction(statisticsDock_->toggleViewAction());
  view->addAction(findingsDock_->toggleViewAction());
  themes_.addTo(*view->addMenu(tr("&Theme")));
  QMenu* go = menuBar()->addMenu(tr("&Go"));
  go->addActions(commandsOf(*chart_, CommandMenu::kGo));
  addPlaceCommands(go);

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  addHelpCommands(help);
}

}  // namespace pipetrace
