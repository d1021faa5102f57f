#include <algorithm>
#include <utility>

#include "chart/steps/legible_steps.h"
#include "viewer/chart/chart_widget.h"
#include "viewer/chart/culprit.h"

// Where the chart looks, and what is selected.
namespace pipetrace {

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
  selection_ = hit;
  findCulprit();
  bubble_ = bubble;
  viewport()->update();
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

}  // namespace pipetrace
