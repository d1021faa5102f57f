#include "chart/row_layout.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

constexpr int kRowGap = 6;  // above the first and below the last row
constexpr int kMinLaneHeight = 3;
constexpr int kMinComputeHeight = 5;
constexpr int kScaleOne = 64;
constexpr int kLargestScale = 3 * kScaleOne;
constexpr int kLargestCompute = 3 * RowHeights{}.compute;

constexpr int kLanesAtFullHeight = 15;
constexpr int kLowestHeader = 14;

/// Sub-lanes get lower where there are many, so that their row stays in sight of its neighbours.
int heightOf(const ChartRow& row, const RowHeights& heights) {
  const int base = row.isCompute ? heights.compute : heights.lane;
  const int lanes = static_cast<int>(std::min<std::size_t>(row.lanes.size(), 1'000'000));
  if (lanes <= 1 || base == 0) return base;
  const int full = std::max(heights.lane * 2 / 3, kMinLaneHeight);
  const int fair = kLanesAtFullHeight * full / lanes;
  return std::max(base, lanes * std::clamp(fair, lanes > 300 ? 1 : 2, full));
}

int heightOf(const ShownRow& shown, const std::vector<ChartRow>& rows, const RowHeights& heights) {
  if (holdsRanks(shown.kind) && !shown.showsLanes()) {
    const int lowest = std::min(heights.compute, kLowestHeader);
    return std::max(shown.isLoad ? heights.compute * 2 / 3 : heights.lane, lowest);
  }
  if (shown.kind == RowKind::kCounter) return heights.lane * 5 / 3;
  if (shown.row == RowNode::kNone || shown.isLoad) return heights.lane;
  return heightOf(rows[shown.row], heights);
}

/// The gap between a row and the one above it.
int gapBetween(const ShownRow& above, const ShownRow& row, const RowHeights& heights) {
  if (row.kind >= RowKind::kLane) return heights.laneGap;
  if (holdsRanks(above.kind) && above.depth < row.depth) return heights.laneGap;
  if (holdsRanks(above.kind) && holdsRanks(row.kind)) return (heights.rankGap + 1) / 2;
  return heights.rankGap;
}

RowHeights scaled(int scale, bool hasLanes, int under = 0) {
  const RowHeights normal;
  const auto of = [scale](int length, int smallest) {
    return std::max(length * scale / kScaleOne, smallest);
  };
  RowHeights heights{of(normal.compute, kMinComputeHeight), of(normal.lane, kMinLaneHeight),
                     std::min(of(normal.laneGap, 1), 3), std::min(of(normal.rankGap, 1), 16),
                     under};
  if (!hasLanes) {
    heights.lane = heights.laneGap = 0;
    heights.rankGap = std::min(heights.rankGap, 4);
  }
  return heights;
}

}  // namespace

RowLayout::RowLayout(const std::vector<ChartRow>& rows, const RowHeights& heights)
    : RowLayout(rows, plainRows(rows), heights) {}

RowLayout::RowLayout(const std::vector<ChartRow>& rows, ShownRows shown, const RowHeights& heights,
                     int mostPinned)
    : shown_(std::move(shown)) {
  int y = kRowGap;
  places_.reserve(shown_.rows.size());
  for (std::size_t i = 0; i < shown_.rows.size(); ++i) {
    if (i == shown_.pinned && i > 0) {
      y += kRowGap;
      pinnedCount_ = i;
      pinnedHeight_ = y;
      y += kRowGap;
    } else if (i > 0) {
      y += gapBetween(shown_.rows[i - 1], shown_.rows[i], heights);
    }
    places_.push_back({y, heightOf(shown_.rows[i], rows, heights)});
    y = places_.back().bottom();
    if (shown_.rows[i].showsLanes() && rows[shown_.rows[i].row].isCompute) y += heights.under;
  }
  height_ = y + kRowGap;
  if (shown_.pinned > 0 && shown_.pinned == shown_.rows.size()) {
    pinnedCount_ = shown_.pinned;
    pinnedHeight_ = height_;
  }
  if (pinnedHeight_ > mostPinned) pinnedCount_ = pinnedHeight_ = 0;
  placeRows(rows.size());
}

void RowLayout::placeRows(std::size_t count) {
  rowPlaces_.resize(count);
  isShown_.resize(count);
  for (std::size_t row = 0; row < count; ++row) {
    const std::size_t as = shown_.shownAs[row];
    if (as == RowNode::kNone) continue;
    isShown_[row] = shown_.rows[as].row == row && !shown_.rows[as].isLoad && places_[as].height > 0;
    std::size_t above = as;
    while (above > 0 && places_[above].height == 0) --above;
    const RowPlace& place = places_[above];
    rowPlaces_[row] = isShown_[row] ? place : RowPlace{place.top + place.height / 2, 0};
  }
}

std::size_t RowLayout::firstBelow(int y) const {
  const auto place = std::partition_point(places_.begin(), places_.end(),
                                          [y](const RowPlace& p) { return p.bottom() <= y; });
  return static_cast<std::size_t>(place - places_.begin());
}

std::optional<std::size_t> RowLayout::shownAt(int y) const {
  const std::size_t shown = firstBelow(y);
  if (shown == places_.size() || places_[shown].top > y) return std::nullopt;
  return shown;
}

std::optional<std::size_t> RowLayout::rowAt(int y) const {
  const std::optional<std::size_t> at = shownAt(y);
  if (!at || shown_.rows[*at].row == RowNode::kNone || shown_.rows[*at].isLoad) {
    return std::nullopt;
  }
  return shown_.rows[*at].row;
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
  return fittingHeights(rows, plainRows(rows), available);
}

std::optional<RowHeights> fittingHeights(const std::vector<ChartRow>& rows, const ShownRows& shown,
                                         int available, int under) {
  for (const bool hasLanes : {true, false}) {
    int fits = -1;
    int tooLarge = kLargestScale + 1;
    while (tooLarge - fits > 1) {
      const int scale = fits + (tooLarge - fits) / 2;
      (RowLayout(rows, shown, scaled(scale, hasLanes, under)).height() <= available ? fits
                                                                                    : tooLarge) =
          scale;
    }
    if (fits < 0) continue;
    RowHeights heights = scaled(fits, hasLanes, under);
    while (heights.compute < kLargestCompute) {
      ++heights.compute;  // pixels that rounding left over
      if (RowLayout(rows, shown, heights).height() > available) {
        --heights.compute;
        break;
      }
    }
    if (!hasLanes || heights.compute >= kLegibleComputeHeight) return heights;
  }
  return std::nullopt;
}

namespace {

// A seventh to a third between them: less is hard to see where rows are some pixels high.
constexpr int kComputeHeights[] = {1, 2, 3, 4, 6, 8, 11, 16, 22, 30, 38, 54, 76, kLargestCompute};
constexpr int kManyShownRanks = 16;
constexpr int kNamedRow = 12;  // pixels of a row and its gap, so that it has a name

/// Heights of compute rows alone.
RowHeights lowHeights(int compute) {
  const int gap = compute >= 8 ? 2 : (compute >= 3 ? 1 : 0);
  return {compute, 0, 0, std::min(gap, compute)};
}

}  // namespace

RowHeights heightsOf(int compute) {
  compute = std::clamp(compute, 1, kLargestCompute);
  if (compute < kLegibleComputeHeight) return lowHeights(compute);
  RowHeights heights = scaled(compute * kScaleOne / RowHeights{}.compute, true);
  heights.compute = compute;
  return heights;
}

int nextComputeHeight(int compute, bool isHigher) {
  if (isHigher) {
    const auto* const next =
        std::upper_bound(std::begin(kComputeHeights), std::end(kComputeHeights), compute);
    return next == std::end(kComputeHeights) ? kLargestCompute : *next;
  }
  const auto* const next =
      std::lower_bound(std::begin(kComputeHeights), std::end(kComputeHeights), compute);
  return next == std::begin(kComputeHeights) ? *next : *(next - 1);
}

namespace {

RowHeights withUnder(RowHeights heights, int under) {
  heights.under = under;
  return heights;
}

/// Of which all rows are `available` pixels high together, or that are 1 pixel high.
RowHeights allInView(const std::vector<ChartRow>& rows, const ShownRows& shown, int available,
                     int under) {
  if (const auto heights = fittingHeights(rows, shown, available, under)) return *heights;
  int compute = kMinComputeHeight;
  const auto low = [&] { return withUnder(lowHeights(compute), under); };
  while (compute > 1 && RowLayout(rows, shown, low()).height() > available) --compute;
  return low();
}

}  // namespace

RowHeights windowHeights(const std::vector<ChartRow>& rows, const ShownRows& shown, int wanted,
                         int available, int under) {
  if (wanted > 0) return withUnder(heightsOf(wanted), under);
  if (wanted == RowState::kAllInView) return allInView(rows, shown, available, under);
  const RowHeights usual{.under = under};
  const auto ranks =
      static_cast<int>(std::count_if(shown.rows.begin(), shown.rows.end(), [](const ShownRow& row) {
        return row.kind == RowKind::kRank;
      }));
  if (ranks > kManyShownRanks && ranks / 2 > available / (usual.compute + usual.rankGap)) {
    const RowHeights fitting = allInView(rows, shown, available, under);
    const RowHeights named = withUnder(lowHeights(kNamedRow - 2), under);
    return fitting.compute > named.compute ? fitting : named;
  }
  // A few rows get more room, or become a little lower so that the last one is whole; many rows can
  // be scrolled.
  const auto fitting = fittingHeights(rows, shown, available, under);
  const bool isLegible = fitting && fitting->lane > 0 && 4 * fitting->compute >= 3 * usual.compute;
  return isLegible ? *fitting : usual;
}

}  // namespace pipetrace
