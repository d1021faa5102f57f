#include "chart/row_layout.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr int kGap = 6;  // above the first and below the last row
constexpr int kMinLaneHeight = 3;
constexpr int kMinComputeHeight = 5;
constexpr int kScaleOne = 64;
constexpr int kLargestScale = 3 * kScaleOne;
constexpr int kLargestCompute = 3 * RowHeights{}.compute;

int heightOf(const ChartRow& row, const RowHeights& heights) {
  const int base = row.isCompute ? heights.compute : heights.lane;
  const int lanes = static_cast<int>(std::min<std::size_t>(row.lanes.size(), 10'000));
  if (lanes <= 1 || base == 0) return base;
  return std::max(base, lanes * std::max(heights.lane * 2 / 3, kMinLaneHeight));
}

RowHeights scaled(int scale, bool hasLanes) {
  const RowHeights normal;
  const auto of = [scale](int length, int smallest) {
    return std::max(length * scale / kScaleOne, smallest);
  };
  RowHeights heights{of(normal.compute, kMinComputeHeight), of(normal.lane, kMinLaneHeight),
                     std::min(of(normal.laneGap, 1), 3), std::min(of(normal.rankGap, 1), 16)};
  if (!hasLanes) {
    heights.lane = heights.laneGap = 0;
    heights.rankGap = std::min(heights.rankGap, 4);
  }
  return heights;
}

}  // namespace

RowLayout::RowLayout(const std::vector<ChartRow>& rows, const RowHeights& heights) {
  int y = kGap;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) y += rows[i].rank == rows[i - 1].rank ? heights.laneGap : heights.rankGap;
    places_.push_back({y, heightOf(rows[i], heights)});
    y = places_.back().bottom();
  }
  height_ = y + kGap;
}

std::size_t RowLayout::firstBelow(int y) const {
  const auto place = std::partition_point(places_.begin(), places_.end(),
                                          [y](const RowPlace& p) { return p.bottom() <= y; });
  return static_cast<std::size_t>(place - places_.begin());
}

std::optional<std::size_t> RowLayout::rowAt(int y) const {
  const std::size_t row = firstBelow(y);
  if (row == size() || places_[row].top > y) return std::nullopt;
  return row;
}

RowPlace RowLayout::subLane(const RowPlace& row, std::size_t lane, std::size_t count) {
  const auto edge = [&](std::size_t i) {
    return row.top + static_cast<int>(static_cast<std::int64_t>(i) * row.height /
                                      static_cast<std::int64_t>(count));
  };
  const int gap = count > 1 && row.height / static_cast<int>(count) > 4 ? 1 : 0;
  return {edge(lane), edge(lane + 1) - edge(lane) - gap};
}

int RowLayout::idleStrip(const ChartRow& row, int height) {
  constexpr int kLowest = 12;
  if (!row.isCompute || row.bubbles.empty() || row.lanes.size() != 1) return 0;
  return height < kLowest ? 0 : height / 4;
}

std::optional<RowHeights> fittingHeights(const std::vector<ChartRow>& rows, int available) {
  for (const bool hasLanes : {true, false}) {
    int fits = -1;
    int tooLarge = kLargestScale + 1;
    while (tooLarge - fits > 1) {
      const int scale = fits + (tooLarge - fits) / 2;
      (RowLayout(rows, scaled(scale, hasLanes)).height() <= available ? fits : tooLarge) = scale;
    }
    if (fits < 0) continue;
    RowHeights heights = scaled(fits, hasLanes);
    while (heights.compute < kLargestCompute) {
      ++heights.compute;  // pixels that rounding left over
      if (RowLayout(rows, heights).height() > available) {
        --heights.compute;
        break;
      }
    }
    if (!hasLanes || heights.compute >= kLegibleComputeHeight) return heights;
  }
  return std::nullopt;
}

}  // namespace pipetrace
