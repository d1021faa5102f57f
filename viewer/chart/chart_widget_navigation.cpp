#include <QScrollBar>
#include <algorithm>

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
