#include <optional>

#include "chart/links/event_box.h"
#include "viewer/chart/chart_widget.h"

// The way along a lane, from job to job.
namespace pipetrace {
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

}  // namespace pipetrace
