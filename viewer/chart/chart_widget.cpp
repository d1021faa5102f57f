#include "viewer/chart/chart_widget.h"

#include <QAccessible>
#include <QApplication>
#include <QGestureEvent>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "chart/chart_hit.h"
#include "chart/draw/draw_chart.h"
#include "chart/links/event_box.h"
#include "chart/rows/row_edits.h"
#include "chart/steps/legible_steps.h"
#include "chart/steps/step_span.h"
#include "trace/text/decimal_time.h"
#include "viewer/chart/area_drag.h"
#include "viewer/chart/chart_accessible.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/chart/culprit.h"
#include "viewer/chart/overview_strip.h"
#include "viewer/chart/row_labels.h"
#include "viewer/paint/qt_canvas.h"
#include "viewer/words/job_fields.h"
#include "viewer/words/row_words.h"

namespace pipetrace {
namespace {

constexpr int kScrollStep = 40;
constexpr int kRatio = 1'000'000;

}  // namespace

ChartWidget::ChartWidget(QWidget* parent, ChartRole role)
    : QAbstractScrollArea(parent), role_(role), history_(new ViewHistory(*this)) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(160, 100);
  viewport()->setMouseTracking(true);
  viewport()->grabGesture(Qt::PinchGesture);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  viewport()->setCursor(Qt::ArrowCursor);
  setAccessibleName(tr("Chart"));
  areaDrag_ = std::make_unique<AreaDrag>(*this);
  overlays_.push_back(std::make_unique<AreaLengthOverlay>(*this));  // the last one
  addOverlay(std::make_unique<AreaOverlay>(*this));
  strip_ = new OverviewStrip(*this);
  labels_ = new RowLabels(*this);
  filter_ = new RowFilter(*this);
  setTabOrder(filter_, labels_);
  if (role_ == ChartRole::kMain) {
    addCommands(*this);
  } else {
    setFocusPolicy(Qt::ClickFocus);
    ownLegend_.emplace();
    setDragPans(true);
  }
}

ChartWidget::~ChartWidget() = default;

void ChartWidget::setBubbleRatios(std::map<std::int32_t, double> ratios) {
  bubbleRatios_ = std::move(ratios);
  strip_->updateSteps();
}

/// Puts the strip above the viewport, if there are steps to choose from.
void ChartWidget::placeStrip() {
  const bool isShown = role_ == ChartRole::kMain && model_ != nullptr && model_->steps().size() > 1;
  setViewportMargins(0, isShown ? OverviewStrip::kHeight : 0, 0, 0);
  strip_->setGeometry(viewport()->x(), 0, viewport()->width(), OverviewStrip::kHeight);
  strip_->setVisible(isShown);
}

void ChartWidget::addOverlay(std::unique_ptr<ChartOverlay> overlay) {
  overlays_.insert(overlays_.end() - 1, std::move(overlay));
  viewport()->update();
}

void ChartWidget::setModel(const ChartModel* model) {
  clearArea();
  model_ = model;
  bubbleRatios_.clear();
  selection_.reset();
  culprit_.reset();
  bubble_.reset();
  pressedAt_.reset();
  isDragging_ = false;
  isFitted_ = true;
  layout_ = {};  // it refers to the model
  rows_ = std::exchange(rowsOfNextModel_, {});
  labels_->setVisible(model_ != nullptr);
  filter_->setVisible(role_ == ChartRole::kMain && model_ != nullptr);
  tiles_.clear();
  if (model_ != nullptr) {
    reach_ = model_->span();
    axis_ = TimeAxis(reach_.begin, reach_.end, 1);
  }
  verticalScrollBar()->setValue(0);
  emit modelChanged();
  placeStrip();
  if (model_ != nullptr) {
    rowsHaveChanged();
  } else {
    layOut();
  }
  viewHasChanged();
  emit selectionChanged();
}

void ChartWidget::redraw() {
  tiles_.clear();
  viewport()->update();
}

void ChartWidget::modelHasChanged() {
  tiles_.clear();
  layOut();
  emit modelExtended();
  if (marked_) emit areaChanged();
  viewHasChanged();
}

ChartView ChartWidget::view() const {
  return {*model_, layout_, axis_, area_, verticalScrollBar()->value()};
}

void ChartWidget::layOut() {
  if (model_ == nullptr) {
    verticalScrollBar()->setRange(0, 0);
    return;
  }
  const int width = viewport()->width();
  const int height = viewport()->height();
  legend_ = {kMargin, kMargin, width - 2 * kMargin, 0};
  if (legend().empty()) {
    legend_.y = 0;
  } else {
    legend_.height = legendHeight(fonts_.measure(), legend(), legend_.width);
  }
  const int top = legend_.bottom() + kTimeAxisHeight;
  area_ = {labelWidth_, top, std::max(width - labelWidth_ - kMargin, 1), std::max(height - top, 1)};
  axis_.setWidth(area_.width);
  if (isFitted_) axis_.fit();
  layOutRows();
  verticalScrollBar()->setPageStep(area_.height);
  verticalScrollBar()->setSingleStep(kScrollStep);
  verticalScrollBar()->setRange(0, std::max(layout_.height() - area_.height, 0));
}

void ChartWidget::viewHasChanged() {
  hideTooltip();
  viewport()->update();
  labels_->update();
  emit viewChanged();
}

void ChartWidget::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  placeStrip();
  layOut();
  viewHasChanged();
}

void ChartWidget::scrollContentsBy(int /*dx*/, int /*dy*/) { viewHasChanged(); }

void ChartWidget::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  painter.setClipRect(event->rect());
  if (model_ == nullptr) return painter.fillRect(event->rect(), palette().base());
  painter.fillRect(event->rect(), toQColor(model_->theme().paper));
  QtCanvas canvas(painter, fonts_);
  const ChartView seen = view();
  drawLegend(canvas, legend(), model_->colors(), legend_);
  drawTimeAxis(canvas, seen, {area_.x, legend_.bottom(), area_.width, kTimeAxisHeight});
  tiles_.paint(painter, seen, fonts_);
  if (layout_.shown().empty()) {
    const TextStyle style{13, false, model_->theme().faintInk, TextAlign::kCenter};
    canvas.text({area_.x, area_.y, area_.width, std::min(area_.height, 120)},
                tr("No row is left. Clear the filter, or show all rows.").toStdString(), style);
  }
  painter.setClipRect(area_.x, area_.y, area_.width, area_.height);
  drawSelection(painter);  // notes of overlays lie over it
  painter.setClipRect(area_.x, area_.y, area_.width, area_.height);
  for (const auto& overlay : overlays_) overlay->paint(painter, seen);
}

void ChartWidget::drawSelection(QPainter& painter) const {
  if (!selection_) return;
  painter.setBrush(Qt::NoBrush);
  const QColor ink = toQColor(model_->theme().ink);
  outline(painter, *selection_, QPen(ink, 2));
  if (culprit_) outline(painter, *culprit_, QPen(ink, 2, Qt::DotLine));
}

void ChartWidget::outline(QPainter& painter, const ChartHit& hit, const QPen& pen) const {
  if (!layout_.isShown(hit.row)) return;
  const ChartView seen = view();
  const RowPlace place = layout_[hit.row];
  const bool isPinned = place.top < layout_.pinnedHeight();
  const PixelRect clip = isPinned ? area_ : seen.scrolledArea();
  painter.setClipRect(clip.x, clip.y, clip.width, clip.height);
  const int left = std::clamp(seen.xOf(hit.event->begin), area_.x - 4, area_.right() + 4);
  const int right = std::clamp(seen.xOf(hit.event->end), area_.x - 4, area_.right() + 4);
  painter.setPen(pen);
  painter.drawRect(left, seen.yOf(place.top), std::max(right - left, 2), place.height);
}

// Where the chart looks, and what is selected.

void ChartWidget::widenTime(std::optional<Timeline::Span> also) {
  if (model_ == nullptr) return;
  const Timeline::Span own = model_->span();
  const Timeline::Span all =
      also ? Timeline::Span{std::min(own.begin, also->begin), std::max(own.end, also->end)} : own;
  if (all.begin == reach_.begin && all.end == reach_.end) return;
  reach_ = all;
  const TimeAxis seen = axis_;
  axis_ = TimeAxis(all.begin, all.end, seen.width());
  if (!isFitted_) axis_.show(seen.begin(), seen.end());
  viewHasChanged();
}

const std::vector<LegendEntry>& ChartWidget::legend() const {
  return ownLegend_ ? *ownLegend_ : model_->legend();
}

void ChartWidget::setLegend(std::optional<std::vector<LegendEntry>> legend) {
  ownLegend_ = std::move(legend);
  layOut();
  viewHasChanged();
}

void ChartWidget::fit() {
  if (model_ == nullptr) return;
  isFitted_ = true;
  axis_.fit();
  viewHasChanged();
}

void ChartWidget::showTime(Nanoseconds begin, Nanoseconds end) {
  isFitted_ = false;
  const Nanoseconds margin = (end - begin) / 50;
  axis_.show(begin - margin, end + margin);
  viewHasChanged();
}

void ChartWidget::showSpan(Nanoseconds begin, Nanoseconds end) {
  if (model_ == nullptr) return;
  isFitted_ = false;
  axis_.show(begin, end);
  viewHasChanged();
}

void ChartWidget::showSteps(const StepChoice& steps) {
  if (model_ == nullptr || model_->steps().empty()) return;
  if (isWholeRun(*model_, steps)) return fit();
  const Timeline::Span time = timeOf(*model_, steps);
  showTime(time.begin, time.end);
}

void ChartWidget::select(const std::optional<ChartHit>& hit,
                         const std::optional<ChartHit>& bubble) {
  hideTooltip();
  selection_ = hit;
  findCulprit();
  bubble_ = bubble;
  viewport()->update();
  setAccessibleDescription(selectionWords(*this));
  QAccessibleEvent described(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&described);
  emit selectionChanged();
}

void ChartWidget::findCulprit() {
  culprit_.reset();
  if (!selection_ || selection_->event->kind != JobKind::kBubble) return;
  if (culprits_) culprit_ = culprits_(*selection_);
  if (!culprit_) culprit_ = culpritOf(*model_, *selection_->event);
}

void ChartWidget::findCulpritsBy(CulpritFinder finder) {
  culprits_ = std::move(finder);
  findCulprit();
}

void ChartWidget::clearSelection() {
  if (!selection_ && !marked_) emit nothingToClear();
  clearArea();
  select(std::nullopt);
}

void ChartWidget::showCulprit() {
  if (!culprit_) {
    emit culpritMissing(selection_ && selection_->event->kind == JobKind::kBubble);
    return;
  }
  const ChartHit bubble = *selection_;
  const ChartHit culprit = *culprit_;
  select(culprit, bubble);
  bringIntoView(culprit);
}

void ChartWidget::showBubble() {
  if (!bubble_) return;
  const ChartHit bubble = *bubble_;
  select(bubble);
  bringIntoView(bubble);
}

void ChartWidget::goTo(const ChartHit& hit) {
  select(hit);
  bringIntoView(hit);
}

/// Brings an event into view. Moves the view, and zooms only for an event that is longer than it.
void ChartWidget::bringIntoView(const ChartHit& hit) {
  const Event& event = *hit.event;
  if (event.duration() > axis_.span()) {
    showTime(event.begin, event.end);
  } else if (event.begin < axis_.begin() || event.end > axis_.end()) {
    isFitted_ = false;
    const Nanoseconds begin = event.begin - (axis_.span() - event.duration()) / 2;
    axis_.show(begin, begin + axis_.span());
  }
  revealRow(hit.row);
  bringRowIntoView(layout_[hit.row]);
  viewHasChanged();
}

// Going to places, and back to where the chart was.

void ChartWidget::showRow(std::size_t row) {
  if (model_ == nullptr || row >= layout_.size()) return;
  revealRow(row);
  const RowPlace place = layout_[row];
  if (place.top < layout_.pinnedHeight()) return;
  verticalScrollBar()->setValue(place.top - (area_.height - place.height) / 2);
  viewHasChanged();
}

void ChartWidget::showInstant(Nanoseconds time) {
  if (model_ == nullptr) return;
  isFitted_ = false;
  const Nanoseconds begin = time - axis_.span() / 2;
  axis_.show(begin, begin + axis_.span());
  viewHasChanged();
}

void ChartWidget::zoomToSelection() {
  if (!selection_) return;
  const Event& event = *selection_->event;
  const Nanoseconds margin = std::max<Nanoseconds>(event.duration() / 4, TimeAxis::kMinSpan);
  showTime(event.begin - margin, event.end + margin);
  bringIntoView(*selection_);
}

void ChartWidget::goToShorterBubble() { goToBubble(LengthOrder::kShorter); }
void ChartWidget::goToLongerBubble() { goToBubble(LengthOrder::kLonger); }

void ChartWidget::goToBubble(LengthOrder order) {
  if (model_ == nullptr) return;
  const Event* const from = selection_ ? selection_->event : nullptr;
  if (const auto bubble = bubbleByLength(*model_, marked_, from, order)) goTo(*bubble);
}

void ChartWidget::zoomBy(double steps) { zoomAt(zoomCenter(), steps); }

void ChartWidget::panBy(double widths) {
  panRest_ -= widths * axis_.width();
  const int pixels = static_cast<int>(panRest_);
  panRest_ -= pixels;
  pan(pixels);
}

ViewState ChartWidget::viewState() const {
  return {.begin = axis_.begin(),
          .end = axis_.end(),
          .isFitted = isFitted_,
          .scrollY = verticalScrollBar()->value(),
          .selection = selection_,
          .area = marked_,
          .rows = rows_};
}

void ChartWidget::restore(const ViewState& state) {
  if (model_ == nullptr) return;
  isFitted_ = state.isFitted;
  axis_.show(state.begin, state.end);
  if (isFitted_) axis_.fit();
  setRowState(state.rows);
  verticalScrollBar()->setValue(state.scrollY);
  if (!state.hasSelectionOf(viewState())) select(state.selection);
  setArea(state.area);
  viewHasChanged();
}

// Which rows the chart shows.

void ChartWidget::setRowState(RowState state) {
  if (model_ == nullptr || state == rows_) return;
  rows_ = std::move(state);
  rowsHaveChanged();
  viewHasChanged();
  emit rowsChanged();
}

void ChartWidget::foldAllRows(bool isFolded) {
  if (model_ == nullptr) return;
  setRowState(withAllFolded(rows_, model_->rowTree(rows_.grouping), isFolded));
}

void ChartWidget::setRowHeight(int height) {
  if (model_ == nullptr || rows_.height == height || layout_.shown().empty()) return;
  const auto middleOf = [this](std::size_t shown) {
    const RowPlace& place = layout_.placeOf(shown);
    return place.top + place.height / 2;
  };
  const ChartView seen = view();
  std::size_t kept = layout_.firstBelow(seen.layoutYAt(area_.y + area_.height / 2));
  if (selection_ && layout_.isShown(selection_->row)) {
    const RowPlace& place = layout_[selection_->row];
    const int y = seen.yOf(place.top);
    if (y >= area_.y && y < area_.bottom()) kept = layout_.firstBelow(place.top);
  }
  kept = std::min(kept, layout_.shown().size() - 1);
  const int y = middleOf(kept) - verticalScrollBar()->value();
  RowState state = rows_;
  state.height = height;
  setRowState(std::move(state));
  verticalScrollBar()->setValue(middleOf(kept) - y);
}

void ChartWidget::stepRowHeight(bool isHigher) {
  setRowHeight(nextComputeHeight(computeHeight_, isHigher));
}

int ChartWidget::neededLabelWidth() const {
  if (model_ == nullptr) return 0;
  const ShownRows shown = shownRows(model_->rowTree(rows_.grouping), rows_);
  return rowLabelWidth(fonts_.measure(), shown, RowLabels::kGutter);
}

void ChartWidget::setLeastLabelWidth(int pixels) {
  pixels = std::max(pixels, kLeastLabels);
  if (std::exchange(leastLabelWidth_, pixels) == pixels || model_ == nullptr) return;
  rowsHaveChanged();
  viewHasChanged();
}

void ChartWidget::rowsHaveChanged() {
  labelWidth_ = std::max(neededLabelWidth(), leastLabelWidth_);
  layOut();
  filter_->refresh();
  labels_->refresh();
}

void ChartWidget::layOutRows() {
  const ShownRows shown = shownRows(model_->rowTree(rows_.grouping), rows_);
  const RowHeights heights =
      windowHeights(model_->rows(), shown, rows_.height, area_.height, underRows_);
  computeHeight_ = heights.compute;
  layout_ = RowLayout(model_->rows(), shown, heights, area_.height);
  if (layout_.height() > area_.height) {
    layout_ = RowLayout(model_->rows(), shown, heights, area_.height / 2);
  }
  labels_->setGeometry(0, area_.y, labelWidth_, area_.height);
  constexpr int kHeight = 24;
  filter_->setGeometry(kMargin, area_.y - kTimeAxisHeight + (kTimeAxisHeight - kHeight) / 2,
                       labelWidth_ - 2 * kMargin, kHeight);
}

void ChartWidget::setUnderRows(int pixels) {
  if (std::exchange(underRows_, pixels) == pixels || model_ == nullptr) return;
  layOut();
  labels_->refresh();
  viewHasChanged();
}

void ChartWidget::revealRow(std::size_t row) {
  if (layout_.isShown(row)) return;
  setRowState(withRevealed(rows_, model_->rowTree(rows_.grouping), row));
  if (!layout_.isShown(row)) setRowHeight(RowHeights{}.compute);  // low rows leave other lanes out
}

void ChartWidget::bringRowIntoView(const RowPlace& place) {
  if (place.top < layout_.pinnedHeight()) return;
  QScrollBar* bar = verticalScrollBar();
  const int lowest = place.bottom() + kMargin - area_.height;
  const int highest = place.top - kMargin - layout_.pinnedHeight();
  bar->setValue(std::min(std::max(bar->value(), lowest), highest));
}

// The way along a lane, from job to job.

namespace {

/// The position of an event in a lane; nothing if it is not in there.
std::optional<std::size_t> positionOf(const LaneIndex& lane, const Event& event) {
  if (!holds(lane, &event)) return std::nullopt;
  for (std::size_t i = lane.firstBeginningAt(event.begin);
       i < lane.size() && lane[i].begin == event.begin; ++i) {
    if (&lane[i] == &event) return i;
  }
  return std::nullopt;
}

/// The first row of jobs that is wholly in view.
std::optional<std::size_t> firstRowInView(const ChartView& view) {
  for (std::size_t row = 0; row < view.layout.size(); ++row) {
    const RowPlace& place = view.layout[row];
    const bool isJobs = view.model.rows()[row].isCompute && place.height > 0;
    if (isJobs && view.yOf(place.top) >= view.area.y) return row;
  }
  return std::nullopt;
}

}  // namespace

void ChartWidget::goToNextInLane() { goAlongLane(true); }
void ChartWidget::goToPreviousInLane() { goAlongLane(false); }

void ChartWidget::goAlongLane(bool isForward) {
  if (model_ == nullptr) return;
  const auto go = [&](std::size_t row, const Event& event) {
    goTo({.row = row, .event = &event, .count = 1, .load = {}, .span = 0});
  };
  if (!selection_) {
    const std::optional<std::size_t> row = firstRowInView(view());
    if (!row) return;
    for (const LaneIndex& lane : model_->rows()[*row].lanes) {
      const std::size_t first = lane.firstBeginningAt(axis_.begin());
      if (first < lane.size()) return go(*row, lane[first]);
    }
    return;
  }
  const std::size_t row = selection_->row;
  for (const auto* lanes : {&model_->rows()[row].lanes, &model_->rows()[row].bubbles}) {
    for (const LaneIndex& lane : *lanes) {
      const auto at = positionOf(lane, *selection_->event);
      if (!at) continue;
      if (isForward && *at + 1 < lane.size()) go(row, lane[*at + 1]);
      if (!isForward && *at > 0) go(row, lane[*at - 1]);
      return;
    }
  }
}

// The ways from step to step.

namespace {

Nanoseconds durationOf(const StepSpan& step) { return step.end - step.begin; }

}  // namespace

/// The step at the left of the view: the last one that begins before a tenth of it. There is none
/// before the first step.
std::optional<std::size_t> ChartWidget::stepInView() const {
  const auto& steps = model_->steps();
  const Nanoseconds from = axis_.begin() + axis_.span() / 10;
  const auto after = std::partition_point(steps.begin(), steps.end(),
                                          [from](const StepSpan& s) { return s.begin <= from; });
  if (after == steps.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - steps.begin()) - 1;
}

/// Shows a step at the zoom of the view, where the step of the view was.
void ChartWidget::showAligned(std::size_t step) {
  const auto& steps = model_->steps();
  if (isFitted_) {
    showTime(steps[step].begin, steps[step].end);
  } else {
    const auto current = stepInView();
    const Nanoseconds before =
        current ? axis_.begin() - steps[*current].begin : -(axis_.span() / 50);
    showSpan(steps[step].begin + before, steps[step].begin + before + axis_.span());
  }
  emit stepShown(step);
}

void ChartWidget::showNextStep() {
  if (model_ == nullptr || model_->steps().empty()) return;
  const auto current = isFitted_ ? std::nullopt : stepInView();
  showAligned(current ? std::min(*current + 1, model_->steps().size() - 1) : 0);
}

void ChartWidget::showPreviousStep() {
  if (model_ == nullptr || model_->steps().empty()) return;
  if (isFitted_) return showAligned(model_->steps().size() - 1);
  const std::size_t current = stepInView().value_or(0);
  showAligned(current == 0 ? 0 : current - 1);
}

void ChartWidget::showStep(int number) {
  if (model_ == nullptr) return;
  const auto& steps = model_->steps();
  const auto step = std::find_if(steps.begin(), steps.end(),
                                 [number](const StepSpan& s) { return s.step == number; });
  if (step == steps.end()) return;
  // A view of about a step keeps its zoom, so that steps can be compared.
  const Nanoseconds duration = durationOf(*step);
  const bool isOfAStep = duration <= axis_.span() && axis_.span() / 2 <= duration;
  if (isFitted_ || !isOfAStep) {
    showTime(step->begin, step->end);
  } else {
    const Nanoseconds margin = std::min(axis_.span() / 50, (axis_.span() - duration) / 2);
    showSpan(step->begin - margin, step->begin - margin + axis_.span());
  }
  emit stepShown(static_cast<std::size_t>(step - steps.begin()));
}

void ChartWidget::showMedianStep() {
  const auto step = model_ == nullptr ? std::nullopt : medianStep(model_->steps());
  if (step) showStep(step->step);
}

void ChartWidget::showSlowestStep() {
  const auto step = model_ == nullptr ? std::nullopt : slowestStep(model_->steps());
  if (step) showStep(step->step);
}

// Another model of the same run.

void ChartWidget::replaceModel(const ChartModel* model) {
  if (model_ == nullptr || model == nullptr) return setModel(model);
  const ChartModel& old = *model_;
  const TimeAxis seen = axis_;
  const bool wasFitted = isFitted_;
  const bool showedTheEnd = !wasFitted && seen.end() >= old.span().end;
  const int scroll = verticalScrollBar()->value();
  const auto moved = [&](const std::optional<ChartHit>& hit) {
    return hit ? sameEvent(*hit, old, *model) : std::nullopt;
  };
  const auto selection = moved(selection_);
  const auto bubble = moved(bubble_);
  // Without a signal: the area only moves to the other model.
  const std::optional<ChartArea> area = std::exchange(marked_, std::nullopt);
  auto ratios = bubbleRatios_;
  const RowGrouping grouping = rows_.grouping;
  rowsOfNextModel_ = withSameFolds(rows_, old.rowTree(grouping), model->rowTree(grouping));
  setModel(model);
  setBubbleRatios(std::move(ratios));
  if (area) {
    setArea(ChartArea{area->time, sameRows(area->rows, old, *model)});
  }
  if (!wasFitted) {
    const Nanoseconds later = showedTheEnd ? model->span().end - old.span().end : 0;
    isFitted_ = false;
    axis_.show(seen.begin() + later, seen.end() + later);
  }
  verticalScrollBar()->setValue(scroll);
  if (selection) select(selection, bubble);
  viewHasChanged();
  history_->followModel(old);
}

// The answers of the chart to the mouse.

void ChartWidget::zoomAt(int viewportX, double steps) {
  if (model_ == nullptr || steps == 0) return;
  isFitted_ = false;
  steps = std::clamp(steps, -20.0, 20.0);
  axis_.zoom(viewportX - area_.x,
             static_cast<int>(std::lround(std::pow(kZoomStep, -steps) * kRatio)), kRatio);
  axis_.alignToPixels();
  viewHasChanged();
}

void ChartWidget::pan(int pixels) {
  if (model_ == nullptr || pixels == 0) return;
  isFitted_ = false;
  axis_.alignToPixels();  // so that tiles can be used again
  axis_.pan(pixels);
  viewHasChanged();
}

int ChartWidget::zoomCenter() const {
  const QPoint cursor = viewport()->mapFromGlobal(QCursor::pos());
  if (viewport()->underMouse() && area_.contains(cursor.x(), cursor.y())) return cursor.x();
  return area_.x + area_.width / 2;
}

void ChartWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || model_ == nullptr) return;
  pressedAt_ = draggedFrom_ = event->position().toPoint();
  isDragging_ = false;
  const bool isShift = (event->modifiers() & Qt::ShiftModifier) != 0;
  const bool isEdge = areaDrag_->edgeAt(*pressedAt_) != AreaEdge::kNone;
  // Over the labels there is no time to select.
  isPanning_ = pressedAt_->x() < area_.x || (isShift != dragPans_ && !isEdge);
  QToolTip::hideText();
}

void ChartWidget::mouseMoveEvent(QMouseEvent* event) {
  const QPoint position = event->position().toPoint();
  if (pressedAt_ && (event->buttons() & Qt::LeftButton) != 0) {
    drag(position);
  } else {
    viewport()->setCursor(AreaDrag::cursorOf(areaDrag_->edgeAt(position)));
    showTooltipAt(position, event->globalPosition().toPoint());
  }
}

void ChartWidget::drag(QPoint position) {
  const int distance = (position - *pressedAt_).manhattanLength();
  if (!isDragging_ && distance < QApplication::startDragDistance()) return;
  if (!isDragging_ && !isPanning_) areaDrag_->start(*pressedAt_);
  isDragging_ = true;
  if (!isPanning_) return areaDrag_->moveTo(position);
  viewport()->setCursor(Qt::ClosedHandCursor);
  const QPoint moved = position - draggedFrom_;
  draggedFrom_ = position;
  scrollBy(moved);
}

void ChartWidget::scrollBy(QPoint pixels) {
  verticalScrollBar()->setValue(verticalScrollBar()->value() - pixels.y());
  pan(pixels.x());
}

void ChartWidget::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressedAt_) return;
  const QPoint position = event->position().toPoint();
  if (!isDragging_ && model_ != nullptr) click(position);
  endAreaDrag();
  pressedAt_.reset();
  isDragging_ = false;
  viewport()->setCursor(Qt::ArrowCursor);
}

void ChartWidget::click(QPoint position) {
  if (const StepSpan* const step = rulerStepAt(position)) return selectStep(*step);
  const auto hit = hitAt(view(), position.x(), position.y());
  if (!hit) clearArea();
  select(hit);
}

void ChartWidget::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || model_ == nullptr) return;
  // The selection of the first click counts: its pane may have moved the chart since.
  const QPoint position = event->position().toPoint();
  if (const StepSpan* const step = rulerStepAt(position)) return showStep(step->step);
  if (!selection_) select(hitAt(view(), position.x(), position.y()));
  zoomToSelection();
}

bool ChartWidget::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    showTooltipAt(help->pos(), help->globalPos());
    return true;
  }
  if (zoomByGesture(event)) return true;
  if (event->type() == QEvent::Leave) QToolTip::hideText();
  return QAbstractScrollArea::viewportEvent(event);
}

/// A key moves the chart under the pointer, and what was there is elsewhere.
void ChartWidget::hideTooltip() {
  if (QToolTip::isVisible() && viewport()->underMouse()) QToolTip::hideText();
}

void ChartWidget::showTooltipAt(QPoint position, QPoint globalPosition) {
  if (model_ == nullptr) return;
  QString text;
  if (const auto hit = hitAt(view(), position.x(), position.y())) {
    const bool isOne = hit->count == 1;
    text = tooltipText(*model_, *hit, isOne && fields_ ? fields_(*hit) : std::vector<JobField>());
  } else if (const StepSpan* const step = rulerStepAt(position)) {
    text = stepText(*step);
  } else if (area_.contains(position.x(), position.y())) {
    const auto shown = layout_.shownAt(view().layoutYAt(position.y()));
    if (shown) text = rowTip(view(), layout_.shown()[*shown], position.x());
  }
  QToolTip::showText(globalPosition, text, viewport());
}

// The answers of the chart to wheels, trackpads and pinches.

namespace {

constexpr int kWheelNotch = 120;          // eighths of a degree
constexpr double kPixelsOfZoomStep = 60;  // of two fingers on a trackpad

}  // namespace

void ChartWidget::wheelEvent(QWheelEvent* event) {
  event->accept();
  const int x = static_cast<int>(event->position().x());
  const bool isShifted = (event->modifiers() & Qt::ShiftModifier) != 0;
  const bool isZoom = (event->modifiers() & Qt::ControlModifier) != 0;
  if (!event->pixelDelta().isNull()) {
    // A trackpad: the chart follows the fingers in both directions.
    QPoint moved = event->pixelDelta();
    if (isZoom) return zoomAt(x, moved.y() / kPixelsOfZoomStep);
    if (isShifted && moved.x() == 0) moved = {moved.y(), 0};
    verticalScrollBar()->setValue(verticalScrollBar()->value() - moved.y());
    return pan(moved.x());
  }
  const QPoint delta = event->angleDelta();
  if (delta.y() == 0 || isShifted) {
    const int notches = delta.y() == 0 ? delta.x() : delta.y();
    return pan(notches * axis_.width() / (10 * kWheelNotch));
  }
  if (x >= area_.x) return zoomAt(x, static_cast<double>(delta.y()) / kWheelNotch);
  if (isZoom) {
    heightRest_ += delta.y();
    for (; heightRest_ >= kWheelNotch; heightRest_ -= kWheelNotch) stepRowHeight(true);
    for (; heightRest_ <= -kWheelNotch; heightRest_ += kWheelNotch) stepRowHeight(false);
    return;
  }
  // Over the labels the wheel scrolls the rows.
  wheelRest_ += delta.y() * verticalScrollBar()->singleStep() * QApplication::wheelScrollLines();
  verticalScrollBar()->setValue(verticalScrollBar()->value() - wheelRest_ / kWheelNotch);
  wheelRest_ %= kWheelNotch;
}

bool ChartWidget::zoomByGesture(QEvent* event) {
  double factor = 1;
  QPointF center;
  if (event->type() == QEvent::NativeGesture) {
    const auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() != Qt::ZoomNativeGesture) return false;
    factor = 1 + gesture->value();
    center = gesture->position();
  } else if (event->type() == QEvent::Gesture) {
    auto* gestures = static_cast<QGestureEvent*>(event);
    const auto* pinch = static_cast<QPinchGesture*>(gestures->gesture(Qt::PinchGesture));
    if (pinch == nullptr) return false;
    gestures->accept();
    factor = pinch->scaleFactor();
    center = viewport()->mapFromGlobal(pinch->hotSpot());
  } else {
    return false;
  }
  if (factor > 0) zoomAt(static_cast<int>(center.x()), std::log(factor) / std::log(kZoomStep));
  return true;
}

// The area of the chart, and the steps above the rows.

void ChartWidget::setArea(std::optional<ChartArea> area) {
  if (model_ == nullptr) area.reset();
  if (marked_ == area) return;
  marked_ = std::move(area);
  viewport()->update();
  emit areaChanged();
}

bool ChartWidget::isDraggingArea() const { return areaDrag_->isActive(); }

void ChartWidget::endAreaDrag() {
  if (!areaDrag_->isActive()) return;
  areaDrag_->stop();
  emit areaChanged();
}

void ChartWidget::clearArea() {
  areaDrag_->stop();
  setArea(std::nullopt);
}

void ChartWidget::selectAreaOfJob() {
  if (!selection_) return;
  const Event& event = *selection_->event;
  setArea(ChartArea{{event.begin, std::max(event.end, event.begin + 1)}, {selection_->row}});
}

std::optional<int> ChartWidget::selectedStep() const {
  if (model_ == nullptr) return std::nullopt;
  const std::vector<StepSpan>& steps = model_->steps();
  const auto only = [&](const auto& holds) -> std::optional<int> {
    const auto first = std::find_if(steps.begin(), steps.end(), holds);
    if (first == steps.end() || std::find_if(first + 1, steps.end(), holds) != steps.end()) {
      return std::nullopt;
    }
    return first->step;
  };
  if (marked_) {
    const auto step = only([&](const StepSpan& each) {
      return each.begin < marked_->time.end && marked_->time.begin < each.end;
    });
    if (step) return step;
  }
  if (selection_) {
    const auto step =
        only([&](const StepSpan& each) { return each.step == selection_->event->step; });
    if (step) return step;
  }
  return only(
      [&](const StepSpan& each) { return each.begin >= axis_.begin() && each.end <= axis_.end(); });
}

void ChartWidget::selectAreaOfStep() {
  if (model_ == nullptr || model_->steps().empty()) return;
  const std::vector<StepSpan>& steps = model_->steps();
  auto step = steps.end();
  if (selection_) {
    step = std::find_if(steps.begin(), steps.end(),
                        [&](const StepSpan& each) { return each.step == selection_->event->step; });
  }
  if (step == steps.end()) {
    step = std::find_if(steps.begin(), steps.end(), [&](const StepSpan& each) {
      return each.begin >= axis_.begin() && each.end <= axis_.end();
    });
  }
  if (step == steps.end()) {
    step = steps.begin() + static_cast<std::ptrdiff_t>(stepInView().value_or(0));
  }
  selectStep(*step);
}

void ChartWidget::fitSelection() {
  if (model_ == nullptr) return;
  const TimeAxis before = axis_;
  if (marked_) {
    showTime(marked_->time.begin, marked_->time.end);
  } else {
    zoomToSelection();
  }
  if (before.begin() == axis_.begin() && before.end() == axis_.end()) fit();
}

const StepSpan* ChartWidget::rulerStepAt(QPoint position) const {
  if (model_ == nullptr || model_->steps().empty()) return nullptr;
  const bool isInRuler = position.x() >= area_.x && position.x() < area_.right() &&
                         position.y() >= legend_.bottom() && position.y() < area_.y;
  if (!isInRuler) return nullptr;
  const auto& steps = model_->steps();
  const Nanoseconds time = axis_.timeAt(position.x() - area_.x);
  const auto after = std::partition_point(steps.begin(), steps.end(),
                                          [time](const StepSpan& s) { return s.begin <= time; });
  return after == steps.begin() ? nullptr : &*(after - 1);
}

void ChartWidget::selectStep(const StepSpan& step) {
  ChartArea area{{step.begin, std::max(step.end, step.begin + 1)}, {}};
  for (std::size_t row = 0; row < layout_.size(); ++row) {
    if (layout_[row].bottom() > 0) area.rows.push_back(row);
  }
  setArea(std::move(area));
}

QString ChartWidget::stepText(const StepSpan& step) const {
  const Nanoseconds median = model_->medianStep();
  const Nanoseconds duration = step.end - step.begin;
  QString text = tr("step %1, %2")
                     .arg(QString::fromStdString(numberText(step)),
                          QString::fromStdString(formatDuration(duration)));
  const bool isCounted = step.phase == model_->countedPhase();
  if (model_->steps().size() > 2 && median > 0 && isCounted) {
    const double more = 100.0 * (static_cast<double>(duration) / static_cast<double>(median) - 1);
    text += more >= 0 ? tr(", %1 % longer than the median").arg(more, 0, 'f', 1)
                      : tr(", %1 % shorter than the median").arg(-more, 0, 'f', 1);
  }
  const auto ratio = bubbleRatios_.find(step.step);
  if (ratio != bubbleRatios_.end()) {
    text += tr(", bubble ratio %1 %").arg(100 * ratio->second, 0, 'f', 1);
  }
  return text;
}

}  // namespace pipetrace
