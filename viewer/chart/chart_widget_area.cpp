#include <algorithm>
#include <utility>

#include "trace/text/decimal_time.h"
#include "viewer/chart/area_drag.h"
#include "viewer/chart/chart_widget.h"

// The area of the chart, and the steps above the rows.
namespace pipetrace {

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
