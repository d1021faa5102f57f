#include "chart/search/bubble_by_length.h"

#include <algorithm>
#include <tuple>

namespace pipetrace {
namespace {

/// Where a bubble stands among others: the longest is the least.
struct Rank {
  Nanoseconds negatedLength = 0;
  Nanoseconds begin = 0;
  std::size_t row = 0;

  auto operator<=>(const Rank&) const = default;
};

Rank rankOf(std::size_t row, Nanoseconds begin, Nanoseconds end) {
  return {begin - end, begin, row};
}

/// The row that has the bubble; nothing if none has.
std::optional<std::size_t> rowOf(const ChartModel& model, const Event& bubble) {
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    for (const LaneIndex& lane : model.rows()[row].bubbles) {
      const std::size_t first = lane.firstBeginningAt(bubble.begin);
      for (std::size_t i = first; i < lane.size() && lane.beginOf(i) == bubble.begin; ++i) {
        if (&lane[i] == &bubble) return row;
      }
    }
  }
  return std::nullopt;
}

/// Calls visit(row, lane, i) for all bubbles that are at least partly in the area.
template <typename Visit>
void visitBubbles(const ChartModel& model, const std::optional<ChartArea>& area,
                  const Visit& visit) {
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    if (area && !std::binary_search(area->rows.begin(), area->rows.end(), row)) continue;
    for (const LaneIndex& lane : model.rows()[row].bubbles) {
      for (std::size_t i = 0; i < lane.size(); ++i) {
        const bool isOutside =
            area && (lane.beginOf(i) >= area->time.end || lane.endOf(i) <= area->time.begin);
        if (!isOutside) visit(row, lane, i);
      }
    }
  }
}

}  // namespace

std::optional<ChartHit> bubbleByLength(const ChartModel& model,
                                       const std::optional<ChartArea>& area, const Event* from,
                                       LengthOrder order) {
  const bool isShorter = order == LengthOrder::kShorter;
  std::optional<Rank> last;
  if (from != nullptr) {
    if (const auto row = rowOf(model, *from)) last = rankOf(*row, from->begin, from->end);
  }
  bool hasOthers = false;
  visitBubbles(model, area, [&](std::size_t, const LaneIndex& lane, std::size_t i) {
    hasOthers = hasOthers || !isOfSchedule(lane[i].bubbleClass);
  });
  std::optional<Rank> best;
  std::optional<ChartHit> found;
  visitBubbles(model, area, [&](std::size_t row, const LaneIndex& lane, std::size_t i) {
    const Rank rank = rankOf(row, lane.beginOf(i), lane.endOf(i));
    const bool isAfter = !last || (isShorter ? rank > *last : rank < *last);
    const bool isBetter = !best || (isShorter ? rank < *best : rank > *best);
    if (!isAfter || !isBetter || (hasOthers && isOfSchedule(lane[i].bubbleClass))) return;
    best = rank;
    found = ChartHit{.row = row, .event = &lane[i], .count = 1, .load = {}, .span = 0};
  });
  return found;
}

}  // namespace pipetrace
