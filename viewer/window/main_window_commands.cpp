#include <QMenuBar>

#include "viewer/commands/picker_lists.h"
#include "viewer/window/keys_help.h"
#include "viewer/window/main_window.h"

// Search, and the lists of commands, rows and places.
namespace pipetrace {

void MainWindow::addSearch() {
  search_ = new ChartSearch(*chart_);
  searchBar_ = new SearchBar(*search_);
  addToolBar(Qt::TopToolBarArea, searchBar_);
  connect(searchBar_, &SearchBar::closed, chart_, qOverload<>(&QWidget::setFocus));
  connect(chart_, &ChartWidget::nothingToClear, searchBar_, &SearchBar::close);
  picker_ = new Picker(this);
}

void MainWindow::addSearchCommands(QMenu* edit) {
  edit->addSeparator();
  QAction* find = edit->addAction(tr("&Find …"), searchBar_, &SearchBar::open);
  find->setShortcuts({QKeySequence(Qt::Key_Slash), QKeySequence::Find});
  edit->addAction(tr("Next match"), QKeySequence(Qt::Key_F3), search_, &ChartSearch::next);
  edit->addAction(tr("Previous match"), QKeySequence(Qt::SHIFT | Qt::Key_F3), search_,
                  &ChartSearch::previous);
}

void MainWindow::addDragSwitch(QMenu* view) {
  const QString key = QStringLiteral("dragMovesChart");
  QAction* action = view->addAction(tr("Drag moves the chart, Shift + drag selects an area"));
  action->setCheckable(true);
  QSettings* const settings = memory_.settings();
  connect(action, &QAction::toggled, this, [this, settings, key](bool isOn) {
    chart_->setDragPans(isOn);
    if (settings != nullptr) settings->setValue(key, isOn);
  });
  action->setChecked(settings != nullptr && settings->value(key).toBool());
}

void MainWindow::addPlaceCommands(QMenu* go) {
  go->addSeparator();
  go->addAction(tr("Go to &row …"), QKeySequence(Qt::CTRL | Qt::Key_P), this, [this] {
    picker_->open(tr("Go to a row: rank, stage or lane"), rowEntries(*chart_));
  });
  go->addAction(tr("Go to &time or step …"), QKeySequence(Qt::CTRL | Qt::Key_G), this, [this] {
    picker_->open(tr("Go to: 12.5 ms, +3 ms, step 7"), stepEntries(*chart_),
                  [this](const QString& typed) { return placeEntries(*chart_, typed); });
  });
}

void MainWindow::addHelpCommands(QMenu* help) {
  help->addAction(tr("&Commands …"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), this, [this] {
    picker_->open(tr("Run a command"), commandEntries(*menuBar(), *chart_));
  });
  QAction* keys = help->addAction(tr("Mouse and keys"), this, &MainWindow::showKeys);
  keys->setShortcuts({QKeySequence(Qt::Key_Question), QKeySequence::HelpContents});
}

void MainWindow::showKeys() { makeKeysHelp(commandGroups(*menuBar()), this)->open(); }

void MainWindow::find(const QString& query) { searchBar_->find(query); }

}  // namespace pipetrace
