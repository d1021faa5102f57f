#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "chart/lane_index.h"
#include "chart/rows/shown_rows.h"

namespace pipetrace {

/// Heights of rows, in pixels.
struct RowHeights {
  int compute = 38;  ///< a compute row
  int lane = 18;     ///< any other row; 0 leaves them out
  int laneGap = 2;   ///< between rows of one rank
  int rankGap = 12;  ///< between ranks
  int under = 0;     ///< left free under each compute row, for what is drawn beside its jobs

  bool operator==(const RowHeights&) const = default;
};

/// The place of a row, in pixels from the top of the chart.
struct RowPlace {
  int top = 0;
  int height = 0;
  int bottom() const { return top + height; }
};

/// Stacks the rows that a chart shows. Lanes of one rank are close together; ranks are further
/// apart. A row is higher the more sub-lanes it has. Refers to the tree of the shown rows.
class RowLayout {
 public:
  RowLayout() = default;
  /// All rows, without headers.
  RowLayout(const std::vector<ChartRow>& rows, const RowHeights& heights);
  /// Pinned rows that are together higher than `mostPinned` are on top, but scroll with the others.
  RowLayout(const std::vector<ChartRow>& rows, ShownRows shown, const RowHeights& heights,
            int mostPinned = std::numeric_limits<int>::max());

  int height() const { return height_; }
  /// The tree that the shown rows are of; null where there is none.
  const RowTree* tree() const { return shown_.tree; }
  /// The rows from the top to the bottom, and their places.
  const std::vector<ShownRow>& shown() const { return shown_.rows; }
  const RowPlace& placeOf(std::size_t shown) const { return places_[shown]; }
  /// The shown row at height `y`; nothing in a gap.
  std::optional<std::size_t> shownAt(int y) const;
  /// The first shown row that ends below `y`; the number of shown rows if none.
  std::size_t firstBelow(int y) const;
  /// The shown rows from the first one on that stay on top, and the height that they take.
  std::size_t pinnedCount() const { return pinnedCount_; }
  int pinnedHeight() const { return pinnedHeight_; }

  /// The number of the chart's rows, shown or not.
  std::size_t size() const { return rowPlaces_.size(); }
  /// The place of one of the chart's rows. One that is not shown, or left out, is 0 high; it lies
  /// in the middle of the row above it that is there.
  const RowPlace& operator[](std::size_t row) const { return rowPlaces_[row]; }
  bool isShown(std::size_t row) const { return isShown_[row]; }
  /// The chart's row whose events are at height `y`; nothing in a gap or a header.
  std::optional<std::size_t> rowAt(int y) const;

  /// The part of a row that belongs to one of its `count` sub-lanes.
  static RowPlace subLane(const RowPlace& row, std::size_t lane, std::size_t count);

  /// The height of a strip at the top of a row that is `height` high. Jobs that are no work leave
  /// it to the bubbles behind them, as they count as idle time. It is 0 in rows without bubbles or
  /// with sub-lanes, and in low ones.
  static int idleStrip(const ChartRow& row, int height);

 private:
  void placeRows(std::size_t count);

  ShownRows shown_;
  std::vector<RowPlace> places_;     // of the shown rows
  std::vector<RowPlace> rowPlaces_;  // of the chart's rows
  std::vector<bool> isShown_;        // by the chart's rows
  std::size_t pinnedCount_ = 0;
  int pinnedHeight_ = 0;
  int height_ = 0;
};

/// The largest heights at which the shown rows are at most `available` pixels high, in the
/// proportions of the default heights, with `under` (RowHeights::under) as it is. The other lanes
/// are left out if compute rows would else be lower than kLegibleComputeHeight. Nothing if even the
/// compute rows do not fit.
std::optional<RowHeights> fittingHeights(const std::vector<ChartRow>& rows, const ShownRows& shown,
                                         int available, int under = 0);
/// The same for all rows.
std::optional<RowHeights> fittingHeights(const std::vector<ChartRow>& rows, int available);

inline constexpr int kLegibleComputeHeight = 16;

/// Heights with compute rows of that many pixels, at least 1, in the proportions of the default
/// heights. Where compute rows are lower than kLegibleComputeHeight, other lanes are left out.
RowHeights heightsOf(int compute);
/// The next lower or higher compute rows after `compute`, in steps that the eye sees; ends at 1 and
/// at three times the usual height.
int nextComputeHeight(int compute, bool isHigher);

/// The heights of rows in a window in which they have `available` pixels, as RowState::height asks
/// for them. Those of kUsualHeight grow where there is room (fittingHeights()), and become lower by
/// up to a quarter where all are in view then. Where more than 16
/// ranks are shown, of which less than half would have room even without their other lanes, they
/// are as low as is needed for all ranks, but not lower than their names. `under` is
/// RowHeights::under.
RowHeights windowHeights(const std::vector<ChartRow>& rows, const ShownRows& shown, int wanted,
                         int available, int under = 0);

}  // namespace pipetrace
