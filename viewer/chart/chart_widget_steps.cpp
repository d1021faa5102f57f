#include <algorithm>

#include "chart/steps/notable_steps.h"
#include "viewer/chart/chart_widget.h"

// The ways from step to step.
namespace pipetrace {
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
  if (isFitted_) return showTime(steps[step].begin, steps[step].end);
  const auto current = stepInView();
  const Nanoseconds before = current ? axis_.begin() - steps[*current].begin : -(axis_.span() / 50);
  showSpan(steps[step].begin + before, steps[step].begin + before + axis_.span());
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
  if (isFitted_ || !isOfAStep) return showTime(step->begin, step->end);
  const Nanoseconds margin = std::min(axis_.span() / 50, (axis_.span() - duration) / 2);
  showSpan(step->begin - margin, step->begin - margin + axis_.span());
}

void ChartWidget::showMedianStep() {
  const auto step = model_ == nullptr ? std::nullopt : medianStep(model_->steps());
  if (step) showStep(step->step);
}

void ChartWidget::showSlowestStep() {
  const auto step = model_ == nullptr ? std::nullopt : slowestStep(model_->steps());
  if (step) showStep(step->step);
}

}  // namespace pipetrace
