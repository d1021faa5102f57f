#include "viewer/chart/view_history.h"

#include <QEvent>
#include <utility>

#include "chart/chart_hit.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {
namespace {

constexpr qint64 kBurst = 600;  // ms between changes of one burst
constexpr std::size_t kMostEntries = 1000;

}  // namespace

ViewHistory::ViewHistory(ChartWidget& chart) : QObject(&chart), chart_(chart) {
  // One command may change time, rows and selection; they are looked at when it is done.
  record_.setSingleShot(true);
  record_.setInterval(0);
  connect(&record_, &QTimer::timeout, this, &ViewHistory::record);
  connect(&chart, &ChartWidget::viewChanged, &record_, qOverload<>(&QTimer::start));
  connect(&chart, &ChartWidget::selectionChanged, &record_, qOverload<>(&QTimer::start));
  connect(&chart, &ChartWidget::rowsChanged, &record_, qOverload<>(&QTimer::start));
  connect(&chart, &ChartWidget::areaChanged, &record_, qOverload<>(&QTimer::start));
  chart.viewport()->installEventFilter(this);
}

QString ViewHistory::textOf(const std::vector<Entry>& entries) {
  if (entries.empty()) return {};
  switch (entries.back().change) {
    case Change::kZoom: return tr("zoom");
    case Change::kMove: return tr("move");
    case Change::kSelection: return tr("selection");
    case Change::kRows: return tr("change of rows");
  }
  return {};
}

QString ViewHistory::undoText() const { return textOf(undo_); }
QString ViewHistory::redoText() const { return textOf(redo_); }

bool ViewHistory::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseButtonRelease) {
    if (record_.isActive()) record();
    isPressed_ = event->type() == QEvent::MouseButtonPress;
    isSamePress_ = false;
  }
  return QObject::eventFilter(watched, event);
}

bool ViewHistory::joinsLast(Change change) const {
  if (undo_.empty() || !redo_.empty() || !sinceLast_.isValid()) return false;
  if (isPressed_ && isSamePress_) return true;
  return isOfTime(change) && undo_.back().change == change && !isPressed_ &&
         sinceLast_.elapsed() < kBurst;
}

void ViewHistory::followModel(const ChartModel& old) {
  if (model_ == &old) {
    for (std::vector<Entry>* entries : {&undo_, &redo_}) {
      for (Entry& entry : *entries) {
        std::optional<ChartHit>& selection = entry.state.selection;
        if (selection) selection = sameEvent(*selection, old, *chart_.model());
        std::optional<ChartArea>& area = entry.state.area;
        if (area) area->rows = sameRows(area->rows, old, *chart_.model());
      }
    }
    model_ = chart_.model();
  }
  record_.stop();
  if (model_ != chart_.model()) return record();
  current_ = chart_.viewState();
}

void ViewHistory::record() {
  record_.stop();
  const bool isResized = std::exchange(size_, chart_.viewport()->size()) != size_;
  if (chart_.model() != model_) {
    model_ = chart_.model();
    undo_.clear();
    redo_.clear();
    current_ = chart_.viewState();
    emit changed();
    return;
  }
  if (model_ == nullptr) return;
  const ViewState state = chart_.viewState();
  if (state == current_) return;
  const bool hasSameTime = state.hasTimeOf(current_);
  if (isResized && hasSameTime && state.hasSelectionOf(current_)) {
    current_ = state;  // rows were moved by the window's size
    return;
  }
  const bool hasSameSpan = state.end - state.begin == current_.end - current_.begin;
  const bool isSelection = hasSameTime && state.scrollY == current_.scrollY;
  const Change change = state.rows != current_.rows  ? Change::kRows
                        : isSelection                ? Change::kSelection
                        : hasSameTime || hasSameSpan ? Change::kMove
                                                     : Change::kZoom;
  if (!joinsLast(change)) {
    undo_.push_back({current_, change});
    if (undo_.size() > kMostEntries) undo_.erase(undo_.begin());
  }
  redo_.clear();
  current_ = state;
  isSamePress_ = isPressed_;
  sinceLast_.start();
  emit changed();
}

void ViewHistory::show(const ViewState& state) {
  chart_.restore(state);
  record_.stop();
  current_ = chart_.viewState();
  sinceLast_.invalidate();
  emit changed();
}

/// The last entry of `from` takes the present state to `to`.
void ViewHistory::moveLast(std::vector<Entry>& from, std::vector<Entry>& to) {
  Entry entry = std::move(from.back());
  from.pop_back();
  std::swap(entry.state, current_);
  to.push_back(std::move(entry));
}

void ViewHistory::undo() {
  record();
  if (undo_.empty()) return;
  moveLast(undo_, redo_);
  show(ViewState(current_));
}

void ViewHistory::redo() {
  record();
  if (redo_.empty()) return;
  moveLast(redo_, undo_);
  show(ViewState(current_));
}

void ViewHistory::undoView() {
  record();
  std::size_t last = undo_.size();
  while (last > 0 && !isOfTime(undo_[last - 1].change)) --last;
  if (last == 0) return;
  const bool isTop = last == undo_.size();
  const ViewState before = current_;
  while (undo_.size() >= last) moveLast(undo_, redo_);
  ViewState state = current_;
  if (!isTop) {
    state.selection = before.selection;
    state.area = before.area;
    state.rows = before.rows;
  }
  show(state);
}

}  // namespace pipetrace
