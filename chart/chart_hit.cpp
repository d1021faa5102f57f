#include "chart/chart_hit.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "chart/lane_piece.h"

namespace pipetrace {
namespace {

constexpr std::size_t kLongestSearch = 100'000;

std::optional<ChartHit> hitIn(const LaneIndex& lane, const ChartView& view, int x) {
  const TimeAxis& axis = view.axis;
  const Nanoseconds begin = axis.timeAt(x);
  const Nanoseconds end = std::max(axis.timeAt(x + 1), begin + 1);
  const std::size_t first = lane.firstEndingAfter(begin - 1);
  ChartHit hit;
  for (std::size_t i = first; i < lane.size() && lane[i].begin < end; ++i) {
    const Event& event = lane[i];
    const bool isCell = event.duration() >= axis.durationOf(kMinCellWidth);
    // A cell covers whole pixels; it is drawn over other events in its first pixel.
    if (isCell && axis.xOf(event.begin) <= x && x < axis.xOf(event.end)) {
      return ChartHit{0, &event, 1, {}, 0};
    }
    if (isCell || (event.end <= begin && event.duration() > 0)) continue;
    ++hit.count;
    if (hit.event == nullptr || event.duration() > hit.event->duration()) hit.event = &event;
    if (hit.count == kLongestSearch) break;
  }
  if (hit.event == nullptr) return std::nullopt;
  hit.count = std::max(hit.count, lane.firstBeginningAt(end, first) - first);
  hit.load = lane.load(begin, end);
  hit.span = end - begin;
  return hit;
}

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

std::optional<ChartHit> hitAt(const ChartView& view, int x, int y) {
  if (!view.area.contains(x, y)) return std::nullopt;
  const int layoutY = view.layoutYAt(y);
  const std::optional<std::size_t> row = view.layout.rowAt(layoutY);
  if (!row) return std::nullopt;
  const ChartRow& lanes = view.model.rows()[*row];
  std::optional<ChartHit> hit;
  for (std::size_t i = 0; i < lanes.lanes.size() && !hit; ++i) {
    const RowPlace place = RowLayout::subLane(view.layout[*row], i, lanes.lanes.size());
    if (layoutY >= place.top && layoutY < place.bottom()) {
      hit = hitIn(lanes.lanes[i], view, x - view.area.x);
    }
  }
  const RowPlace& place = view.layout[*row];
  const bool isInStrip = layoutY < place.top + RowLayout::idleStrip(lanes, place.height);
  const bool isBehind = hit && isInStrip && !isCompute(hit->event->kind);
  std::optional<ChartHit> bubble;
  for (std::size_t i = 0; i < lanes.bubbles.size() && (!hit || isBehind) && !bubble; ++i) {
    bubble = hitIn(lanes.bubbles[i], view, x - view.area.x);
  }
  if (bubble) hit = bubble;
  if (hit) hit->row = *row;
  return hit;
}

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
