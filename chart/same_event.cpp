#include "chart/same_event.h"

namespace pipetrace {
namespace {

bool isSame(const Event& a, const Event& b) {
  return a.begin == b.begin && a.end == b.end && a.kind == b.kind && a.job == b.job &&
         a.microBatch == b.microBatch;
}

const Event* findIn(const std::vector<LaneIndex>& lanes, const Event& event) {
  for (const LaneIndex& lane : lanes) {
    for (std::size_t i = lane.firstBeginningAt(event.begin);
         i < lane.size() && lane[i].begin == event.begin; ++i) {
      if (isSame(lane[i], event)) return &lane[i];
    }
  }
  return nullptr;
}

}  // namespace

std::optional<ChartHit> sameEvent(const ChartHit& hit, const ChartModel& from,
                                  const ChartModel& in) {
  const ChartRow& old = from.rows()[hit.row];
  for (std::size_t i = 0; i < in.rows().size(); ++i) {
    const ChartRow& row = in.rows()[i];
    if (row.rank != old.rank || row.lane != old.lane) continue;
    const bool isBubble = hit.event->kind == JobKind::kBubble;
    const Event* const found = findIn(isBubble ? row.bubbles : row.lanes, *hit.event);
    if (found == nullptr) return std::nullopt;
    return ChartHit{.row = i, .event = found, .count = 1, .load = {}, .span = 0};
  }
  return std::nullopt;
}

}  // namespace pipetrace
