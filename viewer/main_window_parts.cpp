#include <QApplication>
#include <QDockWidget>
#include <QHeaderView>
#include <QMenuBar>
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>
#include <QStatusBar>
#include <QVBoxLayout>

#include "viewer/main_window.h"

// The parts of the window.
namespace pipetrace {

void MainWindow::addPanes() {
  chart_ = new ChartWidget;

  message_ = new QLabel;
  message_->setAlignment(Qt::AlignCenter);
  message_->setWordWrap(true);
  message_->setTextFormat(Qt::PlainText);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* progress = new QProgressBar;
  progress->setRange(0, 0);  // busy, without a known end
  progress->setTextVisible(false);
  progress->setFixedWidth(240);
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

  details_ = new QTreeWidget;
  details_->setHeaderHidden(true);
  details_->setColumnCount(2);
  details_->setRootIsDecorated(false);
  details_->setAlternatingRowColors(true);
  details_->setFocusPolicy(Qt::ClickFocus);
  details_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  detailsDock_ = new QDockWidget(tr("Selection"));
  detailsDock_->setObjectName(QStringLiteral("selection"));
  goToCulprit_ = new QPushButton(tr("Go to the culprit (C)"));
  goBack_ = new QPushButton(tr("Back to the bubble (Backspace)"));
  auto* pane = new QWidget;
  auto* paneColumn = new QVBoxLayout(pane);
  paneColumn->setContentsMargins(0, 0, 0, 0);
  paneColumn->addWidget(details_);
  for (QPushButton* button : {goToCulprit_, goBack_}) {
    button->setFocusPolicy(Qt::NoFocus);  // the chart keeps the keys
    paneColumn->addWidget(button);
  }
  connect(goToCulprit_, &QPushButton::clicked, chart_, &ChartWidget::showCulprit);
  connect(goBack_, &QPushButton::clicked, chart_, &ChartWidget::showBubble);
  detailsDock_->setWidget(pane);
  addDockWidget(Qt::RightDockWidgetArea, detailsDock_);
  detailsDock_->hide();  // until something is selected
  detailsDock_->toggleViewAction()->setEnabled(false);
  resizeDocks({detailsDock_}, {290}, Qt::Horizontal);

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

void MainWindow::addMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open …"), QKeySequence::Open, this, &MainWindow::chooseFile);
  file->addAction(tr("Open &folder …"), this, &MainWindow::chooseFolder);
  export_ = file->addAction(tr("&Export …"), QKeySequence(Qt::CTRL | Qt::Key_E), this,
                            &MainWindow::chooseExport);
  export_->setEnabled(false);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, qApp, &QApplication::closeAllWindows);

  // The chart answers to the plain keys by itself; here they are only shown.
  QMenu* view = menuBar()->addMenu(tr("&View"));
  view->addAction(tr("Zoom in\tW"), chart_, &ChartWidget::zoomIn);
  view->addAction(tr("Zoom out\tS"), chart_, &ChartWidget::zoomOut);
  view->addAction(tr("Whole run\tF"), chart_, &ChartWidget::fit);
  view->addSeparator();
  view->addAction(tr("Next step\t]"), chart_, &ChartWidget::showNextStep);
  view->addAction(tr("Previous step\t["), chart_, &ChartWidget::showPreviousStep);
  view->addSeparator();
  view->addAction(tr("Culprit of the bubble\tC"), chart_, &ChartWidget::showCulprit);
  view->addAction(tr("Back to the bubble\tBackspace"), chart_, &ChartWidget::showBubble);
  view->addSeparator();
  view->addAction(detailsDock_->toggleViewAction());

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("Mouse and keys"), QKeySequence::HelpContents, this, &MainWindow::showKeys);
}

void MainWindow::showKeys() {
  QMessageBox* box = new QMessageBox(
      QMessageBox::NoIcon, tr("Mouse and keys"),
      tr("<table cellpadding=3>"
         "<tr><td>Wheel</td><td>zoom at the cursor; over the labels: scroll the rows</td></tr>"
         "<tr><td>Shift + wheel</td><td>move in time</td></tr>"
         "<tr><td>Drag</td><td>move in time, and over the rows</td></tr>"
         "<tr><td>Click</td><td>select a job or a bubble</td></tr>"
         "<tr><td>Double click, C</td><td>from a bubble to its culprit</td></tr>"
         "<tr><td>Backspace</td><td>back to the bubble</td></tr>"
         "<tr><td>W S, + −</td><td>zoom in and out</td></tr>"
         "<tr><td>A D, ← →</td><td>move in time</td></tr>"
         "<tr><td>↑ ↓, Page keys</td><td>scroll the rows</td></tr>"
         "<tr><td>[ ]</td><td>previous and next step</td></tr>"
         "<tr><td>F, Home</td><td>the whole run</td></tr>"
         "<tr><td>Esc</td><td>select nothing</td></tr>"
         "</table>"),
      QMessageBox::Close, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

}  // namespace pipetrace
