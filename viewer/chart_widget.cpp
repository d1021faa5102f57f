#include "viewer/chart_widget.h"

#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include "chart/draw/draw_chart.h"
#include "viewer/culprit.h"
#include "viewer/legible_steps.h"
#include "viewer/qt_canvas.h"

namespace pipetrace {
namespace {

constexpr int kMargin = 8;
constexpr int kScrollStep = 40;

}  // namespace

ChartWidget::ChartWidget(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(360, 200);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  viewport()->setCursor(Qt::ArrowCursor);
}

void ChartWidget::setModel(const ChartModel* model) {
  model_ = model;
  selection_.reset();
  culprit_.reset();
  bubble_.reset();
  pressedAt_.reset();
  isDragging_ = false;
  isFitted_ = true;
  if (model_ != nullptr) {
    labelWidth_ = rowLabelWidth(fonts_.measure(), *model_);
    axis_ = TimeAxis(model_->span().begin, model_->span().end, 1);
  }
  verticalScrollBar()->setValue(0);
  layOut();
  viewHasChanged();
  emit selectionChanged();
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
  legend_.height = legendHeight(fonts_.measure(), model_->legend(), legend_.width);
  const int top = legend_.bottom() + kTimeAxisHeight;
  area_ = {labelWidth_, top, std::max(width - labelWidth_ - kMargin, 1), std::max(height - top, 1)};
  axis_.setWidth(area_.width);
  if (isFitted_) axis_.fit();
  layout_ = RowLayout(model_->rows(), RowHeights{});
  if (layout_.height() < area_.height) {
    // A few rows get more room; many rows can be scrolled.
    const auto heights = fittingHeights(model_->rows(), area_.height);
    if (heights && heights->lane > 0) layout_ = RowLayout(model_->rows(), *heights);
  }
  verticalScrollBar()->setPageStep(area_.height);
  verticalScrollBar()->setSingleStep(kScrollStep);
  verticalScrollBar()->setRange(0, std::max(layout_.height() - area_.height, 0));
}

void ChartWidget::viewHasChanged() {
  viewport()->update();
  emit viewChanged();
}

void ChartWidget::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layOut();
  viewHasChanged();
}

void ChartWidget::scrollContentsBy(int /*dx*/, int /*dy*/) { viewHasChanged(); }

void ChartWidget::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  painter.setClipRect(event->rect());
  painter.fillRect(event->rect(), toQColor(palette::kPaper));
  if (model_ == nullptr) return;
  QtCanvas canvas(painter, fonts_);
  const ChartView seen = view();
  drawLegend(canvas, model_->legend(), legend_);
  drawTimeAxis(canvas, seen, {area_.x, legend_.bottom(), area_.width, kTimeAxisHeight});
  drawRows(canvas, seen);
  drawRowLabels(canvas, seen, {0, area_.y, labelWidth_, area_.height});
  drawSelection(painter);
}

void ChartWidget::drawSelection(QPainter& painter) const {
  if (!selection_) return;
  painter.setClipRect(area_.x, area_.y, area_.width, area_.height);
  painter.setBrush(Qt::NoBrush);
  outline(painter, *selection_, QPen(toQColor(palette::kInk), 2));
  if (culprit_) outline(painter, *culprit_, QPen(toQColor(palette::kInk), 2, Qt::DotLine));
}

void ChartWidget::outline(QPainter& painter, const ChartHit& hit, const QPen& pen) const {
  const ChartView seen = view();
  const RowPlace place = layout_[hit.row];
  const int left = std::clamp(seen.xOf(hit.event->begin), area_.x - 4, area_.right() + 4);
  const int right = std::clamp(seen.xOf(hit.event->end), area_.x - 4, area_.right() + 4);
  painter.setPen(pen);
  painter.drawRect(left, seen.yOf(place.top), std::max(right - left, 2), place.height);
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

void ChartWidget::showSteps(const StepChoice& steps) {
  if (model_ == nullptr || model_->steps().empty()) return;
  if (isWholeRun(*model_, steps)) return fit();
  const Timeline::Span time = timeOf(*model_, steps);
  showTime(time.begin, time.end);
}

void ChartWidget::showNextStep() {
  if (model_ == nullptr || model_->steps().empty()) return;
  const auto& steps = model_->steps();
  if (isFitted_) return showTime(steps.front().begin, steps.front().end);
  // The step that this function showed last begins a margin after the view does.
  const Nanoseconds from = axis_.begin() + axis_.span() / 10;
  const auto next = std::find_if(steps.begin(), steps.end(),
                                 [from](const StepSpan& s) { return s.begin > from; });
  const StepSpan& step = next == steps.end() ? steps.back() : *next;
  showTime(step.begin, step.end);
}

void ChartWidget::showPreviousStep() {
  if (model_ == nullptr || model_->steps().empty()) return;
  const auto& steps = model_->steps();
  if (isFitted_) return showTime(steps.back().begin, steps.back().end);
  const Nanoseconds before = axis_.begin();
  const auto last = std::find_if(steps.rbegin(), steps.rend(),
                                 [before](const StepSpan& s) { return s.begin < before; });
  const StepSpan& step = last == steps.rend() ? steps.front() : *last;
  showTime(step.begin, step.end);
}

void ChartWidget::select(const std::optional<ChartHit>& hit,
                         const std::optional<ChartHit>& bubble) {
  selection_ = hit;
  culprit_ = hit ? culpritOf(*model_, *hit->event) : std::nullopt;
  bubble_ = bubble;
  viewport()->update();
  emit selectionChanged();
}

void ChartWidget::clearSelection() { select(std::nullopt); }

void ChartWidget::showCulprit() {
  if (!culprit_) return;
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
  const RowPlace place = layout_[hit.row];
  QScrollBar* bar = verticalScrollBar();
  const int lowest = place.bottom() + kMargin - area_.height;
  bar->setValue(std::min(std::max(bar->value(), lowest), place.top - kMargin));
  viewHasChanged();
}

}  // namespace pipetrace
