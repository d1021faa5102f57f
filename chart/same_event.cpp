#include "chart/same_event.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

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

}  // namespace pipetrace
