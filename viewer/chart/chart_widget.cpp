#include "viewer/chart/chart_widget.h"

#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <utility>

#include "chart/draw/draw_chart.h"
#include "viewer/chart/area_drag.h"
#include "viewer/chart/area_overlay.h"
#include "viewer/chart/chart_commands.h"
#include "viewer/chart/overview_strip.h"
#include "viewer/chart/row_filter.h"
#include "viewer/chart/row_labels.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {
namespace {

constexpr int kScrollStep = 40;

}  // namespace

ChartWidget::ChartWidget(QWidget* parent)
    : QAbstractScrollArea(parent), history_(new ViewHistory(*this)) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(360, 200);
  viewport()->setMouseTracking(true);
  viewport()->grabGesture(Qt::PinchGesture);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  viewport()->setCursor(Qt::ArrowCursor);
  setAccessibleName(tr("Chart"));
  areaDrag_ = std::make_unique<AreaDrag>(*this);
  addOverlay(std::make_unique<AreaOverlay>(*this));
  strip_ = new OverviewStrip(*this);
  labels_ = new RowLabels(*this);
  filter_ = new RowFilter(*this);
  setTabOrder(filter_, labels_);
  addCommands(*this);
}

ChartWidget::~ChartWidget() = default;

void ChartWidget::setBubbleRatios(std::map<std::int32_t, double> ratios) {
  bubbleRatios_ = std::move(ratios);
  strip_->updateSteps();
}

/// Puts the strip above the viewport, if there are steps to choose from.
void ChartWidget::placeStrip() {
  const bool isShown = model_ != nullptr && model_->steps().size() > 1;
  setViewportMargins(0, isShown ? OverviewStrip::kHeight : 0, 0, 0);
  strip_->setGeometry(viewport()->x(), 0, viewport()->width(), OverviewStrip::kHeight);
  strip_->setVisible(isShown);
}

void ChartWidget::addOverlay(std::unique_ptr<ChartOverlay> overlay) {
  overlays_.push_back(std::move(overlay));
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
  filter_->setVisible(model_ != nullptr);
  tiles_.clear();
  if (model_ != nullptr) {
    axis_ = TimeAxis(model_->span().begin, model_->span().end, 1);
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
  legend_.height = legendHeight(fonts_.measure(), model_->legend(), legend_.width);
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
  drawLegend(canvas, model_->legend(), model_->colors(), legend_);
  drawTimeAxis(canvas, seen, {area_.x, legend_.bottom(), area_.width, kTimeAxisHeight});
  tiles_.paint(painter, seen, fonts_);
  if (layout_.shown().empty()) {
    const TextStyle style{13, false, model_->theme().faintInk, TextAlign::kCenter};
    canvas.text({area_.x, area_.y, area_.width, std::min(area_.height, 120)},
                tr("No row is left. Clear the filter, or show all rows.").toStdString(), style);
  }
  painter.setClipRect(area_.x, area_.y, area_.width, area_.height);
  for (const auto& overlay : overlays_) overlay->paint(painter, seen);
  drawSelection(painter);
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

}  // namespace pipetrace
