#include <QScrollBar>
#include <algorithm>
#include <utility>

#include "chart/draw/draw_chart.h"
#include "chart/rows/row_edits.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/chart/row_filter.h"
#include "viewer/chart/row_labels.h"

// Which rows the chart shows.
namespace pipetrace {

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

void ChartWidget::rowsHaveChanged() {
  const ShownRows shown = shownRows(model_->rowTree(rows_.grouping), rows_);
  labelWidth_ = std::max(rowLabelWidth(fonts_.measure(), shown, RowLabels::kGutter), kLeastLabels);
  layOut();
  filter_->refresh();
  labels_->refresh();
}

void ChartWidget::layOutRows() {
  const ShownRows shown = shownRows(model_->rowTree(rows_.grouping), rows_);
  const int mostPinned = area_.height / 2;
  layout_ = RowLayout(model_->rows(), shown, RowHeights{}, mostPinned);
  if (layout_.height() < area_.height) {
    // A few rows get more room; many rows can be scrolled.
    const auto heights = fittingHeights(model_->rows(), shown, area_.height);
    if (heights && heights->lane > 0) {
      layout_ = RowLayout(model_->rows(), shown, *heights, area_.height);
    }
  }
  labels_->setGeometry(0, area_.y, labelWidth_, area_.height);
  constexpr int kHeight = 24;
  filter_->setGeometry(kMargin, area_.y - kTimeAxisHeight + (kTimeAxisHeight - kHeight) / 2,
                       labelWidth_ - 2 * kMargin, kHeight);
}

void ChartWidget::revealRow(std::size_t row) {
  if (layout_.isShown(row)) return;
  setRowState(withRevealed(rows_, model_->rowTree(rows_.grouping), row));
}

void ChartWidget::bringRowIntoView(const RowPlace& place) {
  if (place.top < layout_.pinnedHeight()) return;
  QScrollBar* bar = verticalScrollBar();
  const int lowest = place.bottom() + kMargin - area_.height;
  const int highest = place.top - kMargin - layout_.pinnedHeight();
  bar->setValue(std::min(std::max(bar->value(), lowest), highest));
}

}  // namespace pipetrace
