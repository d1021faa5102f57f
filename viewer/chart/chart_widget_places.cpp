#include <QScrollBar>
#include <algorithm>

#include "viewer/chart/chart_widget.h"

// Going to places, and back to where the chart was.
namespace pipetrace {

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

}  // namespace pipetrace
