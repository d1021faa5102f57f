#include "viewer/window/main_window.h"

#include <QDockWidget>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileInfo>
#include <QMessageBox>
#include <QMimeData>
#include <QStatusBar>
#include <algorithm>
#include <utility>

#include "analysis/present/diagnostic_lines.h"
#include "analysis/present/doubt_sentences.h"
#include "chart/draw/chart_picture.h"
#include "chart/steps/legible_steps.h"
#include "chart/time_ticks.h"
#include "trace/text/count_text.h"
#include "trace/text/decimal_time.h"
#include "viewer/run/bubble_ratios.h"

namespace pipetrace {
namespace {

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

void MainWindow::showFailure(const QString& message) {
  // The profile that was open stays.
  if (profile_) {
    pages_->setCurrentWidget(chart_);
    QMessageBox* box =
        new QMessageBox(QMessageBox::Warning, tr("pipe-view"), message, QMessageBox::Ok, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
    return;
  }
  showStart(tr("%1 could not be opened.\n\n%2").arg(opening_, message));
}

void MainWindow::showProfile(std::shared_ptr<const LoadedProfile> profile) {
  rememberSeen();
  const bool isFirst = profile_ == nullptr;
  forgetExplanation();
  if (profile_ == nullptr) findingsDock_->show();
  useTheme(*profile);
  chart_->setModel(&profile->model());
  profile_ = std::move(profile);  // the old one's model is no longer shown
  pages_->setCurrentWidget(chart_);
  if (!profile_->model().steps().empty()) {
    chart_->showSteps(legibleSteps(profile_->model(), chart_->viewport()->width()));
  }
  if (isFirst) {
    resizeDocks({findingsDock_}, {150}, Qt::Vertical);  // has no effect before it is shown
    memory_.restoreDocks(*this);
    detailsDock_->hide();  // nothing is selected
    statisticsDock_->hide();
  }
  showAsRemembered();
  chart_->setFocus();
  copyPicture_->setEnabled(true);
  export_->setEnabled(true);
  detailsDock_->toggleViewAction()->setEnabled(true);
  statisticsDock_->toggleViewAction()->setEnabled(true);
  describeProfile();
}

/// Says what the profile is, in the title and in the status bar.
void MainWindow::describeProfile() {
  chart_->setBubbleRatios(bubbleRatiosOf(profile_->summary()));
  setWindowTitle(QFileInfo(opening_).fileName().isEmpty() ? opening_
                                                          : QFileInfo(opening_).fileName());
  setWindowFilePath(opening_);

  showSummary();
  QStringList lines;
  for (const std::string& line : diagnosticLines(profile_->diagnostics())) {
    lines.push_back(QString::fromStdString(line));
  }
  findings_->setVisible(!lines.isEmpty());
  findings_->setText(countedText(static_cast<std::size_t>(lines.size()), tr("note")) +
                     tr(" on the input"));
  findings_->setToolTip("<pre>" + lines.join('\n').toHtmlEscaped() + "</pre>");
}

void MainWindow::showSummary() {
  const ChartModel& model = profile_->model();
  QString text = QString::fromStdString(titleOf(model)) + "   " +
                 countedText(model.steps().size(), tr("step")) + ", " +
                 countedText(model.jobCount(), tr("job")) + ", " +
                 countedText(model.transferCount(), tr("transfer"));
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
    pages_->setCurrentWidget(chart_);
    chart_->setFocus();
    statusBar()->showMessage(tr("Opening %1 was cancelled").arg(opening_), 5000);
  } else {
    showStart(tr("Opening %1 was cancelled.").arg(opening_));
  }
}

void MainWindow::showExplanation(std::shared_ptr<const Explanation> explanation) {
  explanation_ = std::move(explanation);
  causes_->show(explanation_, profile_);
  findingsPanel_->showFindings();
}

void MainWindow::forgetExplanation() {
  explanation_.reset();
  causes_->clear();
  findingsPanel_->showWaiting(isLive_ && watcher_.isRunning());
}

void MainWindow::updateTheme() {
  if (!profile_) return;
  useTheme(*profile_);
  chart_->redraw();
}

void MainWindow::useTheme(const LoadedProfile& profile) const {
  if (!(profile.model().theme() == themes_.theme())) profile.setTheme(themes_.theme());
}

void MainWindow::updateRange() {
  if (chart_->model() == nullptr) return;
  const ChartView view = chart_->view();
  const Nanoseconds origin = chart_->model()->span().begin;
  // Times are cut to a thousandth of the view. Its margins are outside the run.
  const Nanoseconds from = std::max<Nanoseconds>(view.axis.begin() - origin, 0);
  const Nanoseconds to = std::min(view.axis.end(), chart_->model()->span().end) - origin;
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
  if (hasArea != hasArea_) statisticsDock_->setVisible(hasArea);
  if (hasArea && !hasArea_) {
    statisticsDock_->raise();      // it shares its place with the findings
    constexpr int kLegible = 210;  // of the table and its histogram, in pixels
    const bool isFirst = !std::exchange(hasShownStatistics_, true);
    if (isFirst && findingsDock_->height() < kLegible) {
      resizeDocks({statisticsDock_}, {kLegible}, Qt::Vertical);
    }
  }
  hasArea_ = hasArea;
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
  open(filesOf(event->mimeData()));
}

}  // namespace pipetrace
