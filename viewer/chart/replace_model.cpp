#include <QScrollBar>
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "chart/same_event.h"
#include "viewer/chart/chart_widget.h"

// Another model of the same run.
namespace pipetrace {
namespace {

/// The rows of the other model that show the same lanes.
std::vector<std::size_t> sameRows(const std::vector<std::size_t>& rows, const ChartModel& from,
                                  const ChartModel& in) {
  std::map<std::pair<int, std::string_view>, std::size_t> rowOf;
  for (std::size_t row = 0; row < in.rows().size(); ++row) {
    rowOf[{in.rows()[row].rank, in.rows()[row].lane}] = row;
  }
  std::vector<std::size_t> same;
  for (const std::size_t row : rows) {
    const auto found = rowOf.find({from.rows()[row].rank, from.rows()[row].lane});
    if (found != rowOf.end()) same.push_back(found->second);
  }
  std::sort(same.begin(), same.end());
  return same;
}

}  // namespace

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
  // Without a signal: the area only moves to the other model.
  const std::optional<ChartArea> area = std::exchange(marked_, std::nullopt);
  auto ratios = bubbleRatios_;
  setModel(model);
  setBubbleRatios(std::move(ratios));
  if (area) {
    setArea(ChartArea{area->time, sameRows(area->rows, old, *model)});
  }
  if (!wasFitted) {
    const Nanoseconds later = showedTheEnd ? model->span().end - old.span().end : 0;
    isFitted_ = false;
    axis_.show(seen.begin() + later, seen.end() + later);
  }
  verticalScrollBar()->setValue(scroll);
  if (selection) select(selection, bubble);
  viewHasChanged();
  history_->followModel(old);
}

}  // namespace pipetrace
