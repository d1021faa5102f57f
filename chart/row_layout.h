#pragma once

#include <optional>
#include <vector>

#include "chart/chart_row.h"
#include "chart/row_heights.h"

namespace pipetrace {

/// The place of a row, in pixels from the top of the chart.
struct RowPlace {
  int top = 0;
  int height = 0;
  int bottom() const { return top + height; }
};

/// Stacks rows. Lanes of one rank are close together; ranks are further apart. A row is higher the
/// more sub-lanes it has.
class RowLayout {
 public:
  RowLayout() = default;
  RowLayout(const std::vector<ChartRow>& rows, const RowHeights& heights);

  int height() const { return height_; }
  std::size_t size() const { return places_.size(); }
  const RowPlace& operator[](std::size_t row) const { return places_[row]; }
  /// The row at height `y`; nothing in a gap.
  std::optional<std::size_t> rowAt(int y) const;
  /// The first row that ends below `y`; size() if none.
  std::size_t firstBelow(int y) const;

  /// The part of a row that belongs to one of its `count` sub-lanes.
  static RowPlace subLane(const RowPlace& row, std::size_t lane, std::size_t count);

  /// The height of a strip at the top of a row that is `height` high. Jobs that are no work leave
  /// it to the bubbles behind them, as they count as idle time. It is 0 in rows without bubbles or
  /// with sub-lanes, and in low ones.
  static int idleStrip(const ChartRow& row, int height);

 private:
  std::vector<RowPlace> places_;
  int height_ = 0;
};

/// The largest heights at which `rows` are at most `available` pixels high, in the proportions of
/// the default heights. The other lanes are left out if compute rows would else be lower than
/// kLegibleComputeHeight. Nothing if even the compute rows do not fit.
std::optional<RowHeights> fittingHeights(const std::vector<ChartRow>& rows, int available);

inline constexpr int kLegibleComputeHeight = 16;

}  // namespace pipetrace
