#include <QScrollBar>

#include "chart/same_event.h"
#include "viewer/chart/chart_widget.h"

// Another model of the same run.
namespace pipetrace {

void ChartWidget::replaceModel(const ChartModel* model) {
  if (model_ == nullptr || model == nullptr) return setModel(model);
  const ChartModel& old = *model_;
  const TimeAxis seen = axis_;
  const bool wasFitted = isFitted_;
  const bool showedTheEnd = !wasFitted && seen.end() >= old.span().end;
  const int scroll = verticalScrollBar()->value();
  const auto moved = [&](const std::optional<ChartHit>& hit) {
    return hit ? sameEvent(*hit, old, *model) : std::nullopt;
  };
  const auto selection = moved(selection_);
  const auto bubble = moved(bubble_);
  setModel(model);
  if (!wasFitted) {
    const Nanoseconds later = showedTheEnd ? model->span().end - old.span().end : 0;
    isFitted_ = false;
    axis_.show(seen.begin() + later, seen.end() + later);
  }
  verticalScrollBar()->setValue(scroll);
  if (selection) select(selection, bubble);
  viewHasChanged();
}

}  // namespace pipetrace
