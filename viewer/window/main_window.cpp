#include "viewer/window/main_window.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QScrollBar>
#include <QStatusBar>
#include <QTabBar>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "analysis/present/doubt_sentences.h"
#include "analysis/run_summary.h"
#include "chart/draw/chart_picture.h"
#include "chart/steps/legible_steps.h"
#include "chart/time_ticks.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"
#include "viewer/causes/rank_order.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/chart/row_labels.h"
#include "viewer/commands/picker.h"
#include "viewer/compare/compare_panel.h"
#include "viewer/export/export_dialog.h"
#include "viewer/plan/plan_panel.h"
#include "viewer/search/only_matches.h"
#include "viewer/start/sample_run.h"
#include "viewer/window/keys_help.h"
#include "viewer/window/loading_bar.h"
#include "viewer/window/panel_focus.h"

namespace pipetrace {
namespace {

/// The bubble ratio of each step over all pipelines, by the number of the step.
std::map<std::int32_t, double> bubbleRatiosOf(const RunSummary& summary) {
  struct Times {
    double busy = 0;
    double idle = 0;
  };
  std::map<std::int32_t, Times> steps;
  for (const StepSummary& step : summary.steps) {
    Times& times = steps[step.step];
    for (const RankStep& rank : step.ranks) {
      times.busy += static_cast<double>(rank.busy);
      times.idle += static_cast<double>(rank.idle);
    }
  }
  std::map<std::int32_t, double> ratios;
  for (const auto& [step, times] : steps) {
    if (times.busy + times.idle > 0) ratios[step] = times.idle / (times.busy + times.idle);
  }
  return ratios;
}

QStringList filesOf(const QMimeData* data) {
  QStringList files;
  for (const QUrl& url : data->urls()) {
    if (url.isLocalFile()) files.push_back(url.toLocalFile());
  }
  return files;
}

/// The name of their profile, with the folder.
QString pathNameOf(const QStringList& inputs) {
  std::vector<std::string> paths;
  for (const QString& input : inputs) paths.push_back(input.toStdString());
  return QString::fromStdString(profileName(paths));
}

QString countedText(std::size_t count, const QString& what) {
  return QString::fromStdString(countText(count, what.toStdString()));
}

/// "288 transfers, 70 operators".
QString otherEventsText(const ChartModel& model) {
  QString text = countedText(model.transferCount(), QStringLiteral("transfer"));
  if (model.operatorCount() > 0) {
    text += ", " + countedText(model.operatorCount(), QStringLiteral("operator"));
  }
  return text;
}

constexpr int kLegible = 210;  // height of a table below the chart, in pixels

QString duration(Nanoseconds time) { return QString::fromStdString(formatDuration(time)); }

}  // namespace

MainWindow::MainWindow(AlignBy align, WindowMemory memory)
    : memory_(std::move(memory)), recent_(memory_.settings()), align_(align) {
  setWindowTitle(QStringLiteral("pipe-view"));
  resize(1400, 800);
  setAcceptDrops(true);
  addPanes();
  addStart();
  addPanels();
  addWhatIf();
  addComparison();
  addPlan();
  addSearch();
  addMenus();
  connect(&loader_, &ProfileLoader::loaded, this, &MainWindow::showProfile);
  connect(&loader_, &ProfileLoader::classifying, chart_, &ChartWidget::modelWillChange);
  connect(&loader_, &ProfileLoader::classified, this, &MainWindow::showBubbles);
  connect(&loader_, &ProfileLoader::explained, this, &MainWindow::showExplanation);
  connect(&loader_, &ProfileLoader::failed, this, &MainWindow::showFailure);
  connect(&themes_, &ThemeChoice::changed, this, &MainWindow::updateTheme);
  connectWatcher();
  connect(chart_, &ChartWidget::viewChanged, this, &MainWindow::updateRange);
  connect(chart_, &ChartWidget::selectionChanged, this, &MainWindow::updateSelection);
  showStart({});
  connect(chart_, &ChartWidget::areaChanged, this, &MainWindow::updateArea);
  connect(chart_, &ChartWidget::culpritMissing, this, [this](bool isOfBubble) {
    statusBar()->showMessage(isOfBubble ? tr("No job is to blame for this bubble")
                                        : tr("Select a bubble first; B goes to the longest"),
                             5000);
  });
  updateSelection();
  memory_.restorePlace(*this);
}

MainWindow::~MainWindow() {
  // Its charts and panels go after it, and what they tell then has nobody to go to.
  for (QObject* child : findChildren<QObject*>()) child->disconnect(this);
  pane_->setFirst(nullptr);
  chart_->setModel(nullptr);  // before the profile goes: threads may read it
}

QString MainWindow::message() const {
  if (pages_->currentWidget() == start_) return start_->problem();
  return pages_->currentWidget() == messagePage_ ? message_->text() : QString();
}

void MainWindow::open(const QStringList& inputs) {
  if (inputs.isEmpty()) return;
  opening_ = pathNameOf(inputs);
  openingInputs_ = absolutePaths(inputs);
  showMessage(tr("Opening %1 …").arg(opening_), true);
  watcher_.stop();
  loader_.load(inputs, align_);
}

void MainWindow::showMessage(const QString& text, bool isBusy) {
  message_->setText(text);
  busy_->setVisible(isBusy);
  pages_->setCurrentWidget(messagePage_);
}

void MainWindow::showWarning(const QString& message) {
  QMessageBox* box =
      new QMessageBox(QMessageBox::Warning, tr("pipe-view"), message, QMessageBox::Ok, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

void MainWindow::showFailure(const QString& message) {
  // The profile that was open stays.
  if (profile_) {
    pages_->setCurrentWidget(charts_);
    return showWarning(message);
  }
  pane_->comparison().close();  // it waits for the run that could not be opened
  showStart(tr("%1 could not be opened.\n\n%2").arg(opening_, message));
}

void MainWindow::showProfile(std::shared_ptr<const LoadedProfile> profile) {
  rememberSeen();
  const bool isFirst = profile_ == nullptr;
  forgetExplanation();
  if (profile_ == nullptr) findingsDock_->show();
  useTheme(*profile);
  pane_->setFirst(nullptr);
  chart_->setModel(&profile->model());
  profile_ = std::move(profile);  // the old one's model is no longer shown
  pages_->setCurrentWidget(charts_);
  if (!profile_->model().steps().empty()) {
    chart_->showSteps(legibleSteps(profile_->model(), chart_->viewport()->width()));
  }
  if (isFirst) {
    resizeDocks({findingsDock_}, {150}, Qt::Vertical);  // has no effect before it is shown
    memory_.restoreDocks(*this);
    detailsDock_->hide();  // nothing is selected
    statisticsDock_->hide();
    waitingDock_->hide();  // until it is known who waits
    ranksDock_->show();
    trustDock_->show();
    findingsDock_->raise();
    // Whatever was seen the last time.
    planDock_->setVisible(showPlan_->isChecked());
    showComparison();
  }
  showAsRemembered();
  marksPanel_->marks().open(marksFile(openingInputs_), profile_->model().span().begin);
  marksDock_->setVisible(!marksPanel_->marks().list().empty());
  chart_->setFocus();
  copyPicture_->setEnabled(true);
  export_->setEnabled(true);
  detailsDock_->toggleViewAction()->setEnabled(true);
  statisticsDock_->toggleViewAction()->setEnabled(true);
  waitingDock_->toggleViewAction()->setEnabled(true);
  whatIfDock_->toggleViewAction()->setEnabled(true);
  ranksDock_->toggleViewAction()->setEnabled(true);
  trustDock_->toggleViewAction()->setEnabled(true);
  marksDock_->toggleViewAction()->setEnabled(true);
  describeProfile();
  if (!isLive_) pane_->setFirst(profile_);
}

/// Says what the profile is, in the title and in the status bar.
void MainWindow::describeProfile() {
  chart_->setBubbleRatios(bubbleRatiosOf(profile_->summary()));
  setWindowTitle(QFileInfo(opening_).fileName().isEmpty() ? opening_
                                                          : QFileInfo(opening_).fileName());
  setWindowFilePath(opening_);

  showSummary();
}

void MainWindow::showSummary() {
  const ChartModel& model = profile_->model();
  QString text = QString::fromStdString(titleOf(model)) + "   " +
                 countedText(model.steps().size(), tr("step")) + ", " +
                 countedText(model.jobCount(), tr("job")) + ", " + otherEventsText(model);
  if (!profile_->summary().steps.empty()) {
    text +=
        tr("   bubble ratio of the run %1 %").arg(profile_->summary().bubbleRatio * 100, 0, 'f', 1);
  } else if (!profile_->isClassified()) {
    text += tr("   finding the causes of idle time …");
  }
  // Doubts come first, with what to do.
  const std::vector<Doubt>& doubts = profile_->doubts();
  QStringList lines;
  for (const Doubt& doubt : doubts) lines.push_back(QString::fromStdString(doubtLine(doubt)));
  if (doubts.size() == 1) text = lines.front() + "   " + text;
  if (doubts.size() > 1) {
    text = countedText(doubts.size(), tr("doubt")) + tr(" about this run, the first: ") +
           QString::fromStdString(doubtText(doubts.front())) + "   " + text;
  }
  trustPanel_->show(doubts, profile_->diagnostics());
  trust_->setVisible(!trustPanel_->summary().isEmpty());
  trust_->setIcon(trustPanel_->icon());
  trust_->setText(trustPanel_->isGrave() ? tr("Trust: %1").arg(trustPanel_->summary())
                                         : trustPanel_->summary());
  summary_->setText(text);
  summary_->setToolTip(lines.isEmpty() ? QString()
                                       : "<pre>" + lines.join('\n').toHtmlEscaped() + "</pre>");
}

/// The profile on the screen has got its bubbles.
void MainWindow::showBubbles() {
  chart_->modelHasChanged();
  chart_->setBubbleRatios(bubbleRatiosOf(profile_->summary()));
  showSummary();
}

/// Gives up the profile that is being read, or the run that has no step yet. The profile that was
/// open before stays.
void MainWindow::cancelLoading() {
  const bool waitsForRun = watcher_.isRunning() && !hasGrown_;
  if (!loader_.isBusy() && !waitsForRun) return;
  loader_.cancel();
  if (waitsForRun) watcher_.stop();
  if (profile_) {
    pages_->setCurrentWidget(charts_);
    chart_->setFocus();
    statusBar()->showMessage(tr("Opening %1 was cancelled").arg(opening_), 5000);
  } else {
    showStart(tr("Opening %1 was cancelled.").arg(opening_));
  }
}

void MainWindow::showExplanation(std::shared_ptr<const Explanation> explanation) {
  explanation_ = std::move(explanation);
  causes_->show(explanation_, profile_);
  search_->setOwnTimes(causes_->places() == nullptr ? nullptr : ownTimesOf(*causes_->places()));
  findingsPanel_->showFindings();
  pane_->setFirst(profile_);
  pane_->comparison().setReadyA();
  ghost_->setRun(profile_);
  if (!explanation_ || !profile_) return;
  const QString changes = memory_.whatIfOf(shownInputs_);
  whatIf_->open({profile_, openingInputs_, align_}, changes);
  if (!changes.isEmpty()) whatIfDock_->show();
}

void MainWindow::forgetExplanation() {
  explanation_.reset();
  whatIf_->close();
  search_->setOwnTimes(nullptr);
  causes_->clear();
  findingsPanel_->showWaiting(isLive_ && watcher_.isRunning());
}

void MainWindow::updateTheme() {
  if (!profile_) return;
  useTheme(*profile_);
  chart_->redraw();
  pane_->setTheme(themes_.theme());
  waitingPanel_->updateTheme();
  whatIf_->updateTheme();
  ranksPanel_->updateTheme();
}

void MainWindow::useTheme(const LoadedProfile& profile) const {
  if (!(profile.model().theme() == themes_.theme())) profile.setTheme(themes_.theme());
}

void MainWindow::updateRange() {
  if (chart_->model() == nullptr) return;
  const ChartView view = chart_->view();
  const Nanoseconds origin = chart_->model()->span().begin;
  // Times are cut to a thousandth of the view.
  const Nanoseconds from = view.axis.begin() - origin;
  const Nanoseconds to = view.axis.end() - origin;
  const auto text = [&](Nanoseconds time) {
    return QString::fromStdString(timeLabel(time, to, view.axis.span() / 1000));
  };
  range_->setText(tr("view %1 to %2 (%3)").arg(text(from), text(to), duration(to - from)));
}

void MainWindow::updateSelection() {
  const bool hasSelection = chart_->selection().has_value();
  // The dock comes and goes with the selection. A user who closed it sees it again at the next one.
  if (hasSelection != hasSelection_) detailsDock_->setVisible(hasSelection);
  hasSelection_ = hasSelection;
  selected_->setText(hasSelection ? tr("selected: %1").arg(details_->summary()) : QString());
}

void MainWindow::updateArea() {
  // The dock would move the rows away from the pointer that drags.
  if (chart_->isDraggingArea()) return;
  const bool hasArea = chart_->area().has_value();
  // The table shares its place with the findings. It gets the height that it had the last time, and
  // the findings get theirs back.
  if (hasArea && !hasArea_) {
    const int before = findingsDock_->height();
    statisticsDock_->show();
    statisticsDock_->raise();
    heightBeforeArea_ = before;
    if (statisticsHeight_ == 0) statisticsHeight_ = std::max(before, kLegible);
    if (statisticsHeight_ != before) {
      resizeDocks({statisticsDock_}, {statisticsHeight_}, Qt::Vertical);
    }
  } else if (hasArea_ && !hasArea) {
    if (statisticsDock_->isVisible() && statisticsDock_->height() > 0) {
      statisticsHeight_ = statisticsDock_->height();
    }
    statisticsDock_->hide();
    findingsDock_->raise();
    resizeDocks({findingsDock_}, {heightBeforeArea_ + tabsHeight()}, Qt::Vertical);
  }
  hasArea_ = hasArea;
}

/// The height of the tabs below the panels, which a dock's place holds, too.
int MainWindow::tabsHeight() const {
  for (const QTabBar* tabs : findChildren<QTabBar*>(Qt::FindDirectChildrenOnly)) {
    if (tabs->isVisible()) return tabs->height();
  }
  return 0;
}

/// The map has a tab beside the findings for runs in which ranks wait inside jobs.
void MainWindow::updateWaiting() {
  const bool isTop = !findingsDock_->visibleRegion().isEmpty();
  waitingDock_->setVisible(waitingPanel_->isThere());
  if (waitingPanel_->isThere() && isTop) findingsDock_->raise();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (filesOf(event->mimeData()).isEmpty()) return;
  event->acceptProposedAction();
  start_->showDropTarget(true);
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent* /*event*/) { start_->showDropTarget(false); }

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  start_->showDropTarget(false);
  const bool isSecond = (event->modifiers() & Qt::ControlModifier) != 0 && profile_ != nullptr;
  const QStringList files = filesOf(event->mimeData());
  isSecond ? compareWith(files) : open(files);
}

// Search, and the lists of commands, rows and places.

void MainWindow::addSearch() {
  search_ = new ChartSearch(*chart_);
  new OnlyMatches(*chart_, *search_);  // a child of the chart
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

// The window opens inputs, writes pictures, and remembers.

void MainWindow::addStart() {
  start_ = new StartPage(recent_);
  pages_->addWidget(start_);
  start_->setMinimumSize(1, 1);  // it may be cut off: the chart may be smaller
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

void MainWindow::chooseSecond() {
  compareWith(QFileDialog::getOpenFileNames(this, tr("Compare with profiles or job logs")));
}

void MainWindow::chooseSecondFolder() {
  const QString folder =
      QFileDialog::getExistingDirectory(this, tr("Compare with the job logs in a folder"));
  if (!folder.isEmpty()) compareWith({folder});
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
  dialog.setMarks(marksPanel_->marks().list());
  dialog.setSelected(chart_->area(), chart_->selectedStep());
  dialog.restore(exportChoices_.isEmpty() ? memory_.exportChoices() : exportChoices_);
  if (pane_->second() != nullptr) {
    const ComparedRuns* const result = pane_->comparison().result();
    dialog.setSecond(
        {.profile = pane_->comparison().sharedB(),
         .answer = result == nullptr ? std::string() : result->sentences.front().toStdString(),
         .later = pane_->offset()});
  }
  if (dialog.exec() != QDialog::Accepted) return;
  exportChoices_ = dialog.choices();
  memory_.saveExportChoices(exportChoices_);
  const QString path = QString::fromStdString(dialog.options().path);
  memory_.saveExportFolder(QFileInfo(path).absolutePath());
  statusBar()->showMessage(tr("Exported to %1").arg(path), 5000);
}

void MainWindow::copyPicture() {
  if (!profile_) return;
  QWidget* const field = chart_->rowFilter();
  const bool hadFocus = field->hasFocus();
  field->hide();  // it is no part of a picture
  QApplication::clipboard()->setPixmap(charts_->isAlone() ? chart_->viewport()->grab()
                                                          : charts_->grab());
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
  if (whatIf_->isOpen()) memory_.saveWhatIf(shownInputs_, whatIf_->text());
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

// A run that goes on.

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

// The parts of the window.

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
  messagePage_->setMinimumSize(1, 1);
  charts_ = new ChartStack(*chart_);
  pages_->addWidget(charts_);
  setCentralWidget(pages_);

  summary_ = new ElidedLabel;
  selected_ = new ElidedLabel;
  range_ = new ElidedLabel;
  trust_ = new QToolButton;
  trust_->setObjectName(QStringLiteral("trust-button"));
  trust_->setAutoRaise(true);
  trust_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  trust_->setToolTip(tr("Doubts about the run, and notes on its input"));
  trust_->hide();
  connect(trust_, &QToolButton::clicked, this, &MainWindow::showTrust);
  for (QLabel* label : {static_cast<QLabel*>(summary_), selected_, range_}) {
    label->setContentsMargins(8, 0, 8, 0);
  }
  statusBar()->addWidget(trust_);
  statusBar()->addWidget(summary_, 1);
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
  statisticsDock_->setWidget(new StatisticsPanel(*chart_, *causes_));
  tabifyDockWidget(findingsDock_, statisticsDock_);
  statisticsDock_->hide();  // until there is an area
  statisticsDock_->toggleViewAction()->setEnabled(false);
  resizeDocks({statisticsDock_}, {220}, Qt::Vertical);

  waitingPanel_ = new WaitingPanel(*chart_, *causes_);
  waitingDock_ = new QDockWidget(tr("Waiting inside jobs"));
  waitingDock_->setObjectName(QStringLiteral("waiting"));
  waitingDock_->setWidget(waitingPanel_);
  tabifyDockWidget(statisticsDock_, waitingDock_);
  waitingDock_->hide();  // until it is known who waits
  waitingDock_->toggleViewAction()->setEnabled(false);
  connect(waitingPanel_, &WaitingPanel::isThereChanged, this, &MainWindow::updateWaiting);
  growWhenSeen(*waitingDock_);
  addRankOrders(*chart_, *causes_);
  ranksPanel_ = new RanksPanel(*chart_, *causes_);
  ranksDock_ = addTab(tr("Ranks"), "ranks", ranksPanel_);
  growWhenSeen(*ranksDock_);
  trustPanel_ = new TrustPanel;
  trustDock_ = addTab(tr("Trust"), "trust", trustPanel_);
  marksPanel_ = new MarksPanel(*chart_);
  marksDock_ = addTab(tr("Notes"), "notes", marksPanel_);
  connect(marksPanel_, &MarksPanel::wanted, marksDock_, [this] {
    marksDock_->show();
    marksDock_->raise();
  });
  connect(&marksPanel_->marks(), &Marks::failed, this,
          [this](const QString& problem) { statusBar()->showMessage(problem, 10'000); });
  for (QDockWidget* dock : {findingsDock_, detailsDock_, statisticsDock_, waitingDock_}) {
    addDockRules(*dock);
  }
}

/// The first time that a table is seen it gets the height to be read.
void MainWindow::growWhenSeen(QDockWidget& dock) {
  connect(&dock, &QDockWidget::visibilityChanged, this, [this, &dock](bool isSeen) {
    if (!isSeen) return;
    // A tab that is behind another one is seen for a moment, too.
    QTimer::singleShot(0, &dock, [this, &dock] {
      if (dock.visibleRegion().isEmpty() || !grown_.insert(&dock).second) return;
      if (dock.height() < kLegible) resizeDocks({&dock}, {kLegible}, Qt::Vertical);
    });
  });
}

/// What all panels have: Esc, and a small window that cuts them off rather than grows.
void MainWindow::addDockRules(QDockWidget& dock) {
  addEscape(dock);
  dock.widget()->setMinimumSize(80, 40);
}

/// Esc in a panel does what it does in the chart, and goes there.
void MainWindow::addEscape(QDockWidget& dock) {
  auto* escape = new QAction(&dock);
  escape->setShortcut(Qt::Key_Escape);
  escape->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  connect(escape, &QAction::triggered, chart_, [this] {
    chart_->clearSelection();
    chart_->setFocus();
  });
  dock.addAction(escape);
}

void MainWindow::showTrust() {
  trustDock_->show();
  trustDock_->raise();
  trustPanel_->setFocus();
}

/// A dock beside the findings, which is hidden until there is something in it.
QDockWidget* MainWindow::addTab(const QString& title, const char* name, QWidget* panel) {
  auto* dock = new QDockWidget(title);
  dock->setObjectName(QString::fromLatin1(name));
  dock->setWidget(panel);
  tabifyDockWidget(waitingDock_, dock);
  addDockRules(*dock);
  dock->hide();
  dock->toggleViewAction()->setEnabled(false);
  return dock;
}

void MainWindow::addWhatIf() {
  whatIf_ = new WhatIfPanel(*charts_);
  whatIfDock_ = new QDockWidget(tr("What if"));
  whatIfDock_->setObjectName(QStringLiteral("what-if"));
  whatIfDock_->setWidget(whatIf_);
  setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);  // it is long
  addDockWidget(Qt::LeftDockWidgetArea, whatIfDock_);
  resizeDocks({whatIfDock_}, {340}, Qt::Horizontal);
  whatIfDock_->hide();  // until it is asked for
  QAction* const shown = whatIfDock_->toggleViewAction();
  shown->setShortcut(QKeySequence(Qt::ALT | Qt::Key_W));
  shown->setEnabled(false);
  connect(shown, &QAction::toggled, whatIf_, &WhatIfPanel::setUsed);
  connect(findingsPanel_, &FindingsPanel::changeWanted, this, [this](const WhatIfChanges& change) {
    whatIfDock_->show();
    whatIf_->setChanges(change);
  });
  connect(whatIf_, &WhatIfPanel::told, this,
          [this](const QString& what) { statusBar()->showMessage(what, 5000); });
}

/// The second run: its commands, and the panel with the differences.
void MainWindow::addComparison() {
  pane_ = new ComparePane(*charts_);
  compareDock_ = addTab(tr("Comparison"), "comparison", new ComparePanel(*pane_));
  const auto add = [this](QList<QAction*>& to, const char* name, const QString& text,
                          const QKeySequence& key, auto* receiver, auto what) {
    auto* action = new QAction(text, this);
    action->setObjectName(QString::fromLatin1(name));
    action->setShortcut(key);
    connect(action, &QAction::triggered, receiver, what);
    to.push_back(action);
  };
  add(comparing_, "compare-with", tr("&Compare with …"), Qt::CTRL | Qt::Key_D, this,
      &MainWindow::chooseSecond);
  add(comparing_, "compare-with-folder", tr("Compare with a fol&der …"), {}, this,
      &MainWindow::chooseSecondFolder);
  add(comparing_, "close-second", tr("Close the second &run"), {}, &pane_->comparison(),
      &RunComparison::close);
  add(differences_, "next-difference", tr("Longest difference of a job; again: the next one"),
      Qt::Key_X, pane_, &ComparePane::goToNextDifference);
  add(differences_, "previous-difference", tr("The longer difference before"),
      Qt::SHIFT | Qt::Key_X, pane_, &ComparePane::goToPreviousDifference);
  connect(pane_, &ComparePane::changed, this, &MainWindow::updateComparison);
  connect(&pane_->comparison(), &RunComparison::failed, this, [this](const QString& message) {
    showWarning(tr("The second run could not be opened.\n\n%1").arg(message));
  });
  updateComparison();
}

/// The plan under the rows, and the panel with what is not as planned.
void MainWindow::addPlan() {
  ghost_ = new PlanGhost(*chart_);
  ghost_->setParent(this);
  planDock_ = addTab(tr("Plan"), "plan", new PlanPanel(*ghost_));
  planDock_->toggleViewAction()->setEnabled(true);  // it says how to get a plan
  showPlan_ = new QAction(tr("&Plan under the rows"), this);
  showPlan_->setObjectName(QStringLiteral("show-plan"));
  showPlan_->setShortcut(Qt::Key_G);
  showPlan_->setCheckable(true);
  connect(showPlan_, &QAction::toggled, this, [this](bool isShown) {
    ghost_->setShown(isShown);
    planDock_->setVisible(isShown && profile_ != nullptr);
    if (isShown) planDock_->raise();
  });
}

void MainWindow::updateComparison() {
  const bool isThere = pane_->comparison().stage() != RunComparison::Stage::kNone;
  const bool isFirstThere = pane_->comparison().a() != nullptr;
  comparing_[0]->setEnabled(isFirstThere);
  comparing_[1]->setEnabled(isFirstThere);
  comparing_[2]->setEnabled(isThere);
  for (QAction* const action : differences_) {
    action->setEnabled(pane_->comparison().twins() != nullptr);
  }
  if (isThere == compareDock_->toggleViewAction()->isEnabled()) return;
  compareDock_->toggleViewAction()->setEnabled(isThere);
  showComparison();
}

/// The dock of a second run is there while there is one.
void MainWindow::showComparison() {
  const bool isThere = pane_->comparison().stage() != RunComparison::Stage::kNone;
  compareDock_->setVisible(isThere);
  if (isThere) compareDock_->raise();
}

void MainWindow::compareWith(const QStringList& inputs) {
  if (inputs.isEmpty()) return;
  if (isLive_) {
    statusBar()->showMessage(tr("A run that goes on can be compared once it has ended"), 5000);
    return;
  }
  pane_->comparison().open(inputs, align_);
}

void MainWindow::addMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open …"), QKeySequence::Open, this, &MainWindow::chooseFile);
  file->addAction(tr("Open &folder …"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O), this,
                  &MainWindow::chooseFolder);
  file->addMenu(recentMenu_);
  file->addActions(comparing_);
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
  addRowCommandsTo(*view->addMenu(tr("&Rows")), *chart_);
  view->addAction(showPlan_);
  view->addSeparator();
  addDragSwitch(view);
  view->addSeparator();
  view->addAction(detailsDock_->toggleViewAction());
  view->addAction(statisticsDock_->toggleViewAction());
  view->addAction(findingsDock_->toggleViewAction());
  view->addAction(waitingDock_->toggleViewAction());
  view->addAction(whatIfDock_->toggleViewAction());
  view->addAction(ranksDock_->toggleViewAction());
  view->addAction(trustDock_->toggleViewAction());
  view->addAction(marksDock_->toggleViewAction());
  view->addAction(compareDock_->toggleViewAction());
  view->addAction(planDock_->toggleViewAction());
  view->addSeparator();
  view->addAction(tr("&Next panel"), QKeySequence(Qt::Key_F6), this,
                  [this] { focusPanel(*this, *chart_, 1); });
  view->addAction(tr("Previous panel"), QKeySequence(Qt::SHIFT | Qt::Key_F6), this,
                  [this] { focusPanel(*this, *chart_, -1); });
  view->addSeparator();
  themes_.addTo(*view->addMenu(tr("&Theme")));
  QMenu* go = menuBar()->addMenu(tr("&Go"));
  go->addActions(commandsOf(*chart_, CommandMenu::kGo));
  go->addActions(differences_);
  addPlaceCommands(go);

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  addHelpCommands(help);
}

}  // namespace pipetrace
