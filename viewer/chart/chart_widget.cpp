#include "viewer/chart/chart_widget.h"

#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <utility>

#include "chart/draw/draw_chart.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/chart/qt_canvas.h"

namespace pipetrace {
namespace {

constexpr int kMargin = ChartWidget::kMargin;
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
  setAccessibleName(tr("Chart"));
  addCommands(*this);
}

void ChartWidget::addOverlay(std::unique_ptr<ChartOverlay> overlay) {
  overlays_.push_back(std::move(overlay));
  viewport()->update();
}

void ChartWidget::setModel(const ChartModel* model) {
  model_ = model;
  selection_.reset();
  culprit_.reset();
  bubble_.reset();
  pressedAt_.reset();
  isDragging_ = false;
  isFitted_ = true;
  tiles_.clear();
  if (model_ != nullptr) {
    labelWidth_ = rowLabelWidth(fonts_.measure(), *model_);
    axis_ = TimeAxis(model_->span().begin, model_->span().end, 1);
  }
  verticalScrollBar()->setValue(0);
  layOut();
  viewHasChanged();
  emit selectionChanged();
}

void ChartWidget::modelHasChanged() {
  tiles_.clear();
  layOut();
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
  if (!isFitted_) axis_.alignToPixels();
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
  tiles_.paint(painter, seen, fonts_);
  drawRowLabels(canvas, seen, {0, area_.y, labelWidth_, area_.height});
  painter.setClipRect(area_.x, area_.y, area_.width, area_.height);
  for (const auto& overlay : overlays_) overlay->paint(painter, seen);
  drawSelection(painter);
}

void ChartWidget::drawSelection(QPainter& painter) const {
  if (!selection_) return;
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

}  // namespace pipetrace
