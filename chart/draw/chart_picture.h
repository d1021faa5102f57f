#pragma once

#include <functional>
#include <optional>
#include <string>

#include "chart/chart_view.h"
#include "chart/draw/draw_chart.h"
#include "chart/row_layout.h"

namespace pipetrace {

struct PictureOptions {
  int width = 1600;                     ///< pixels, at least kMinPictureWidth
  std::optional<int> height;            ///< pixels; not given: as high as the rows need
  std::optional<Timeline::Span> range;  ///< the part of the run; not given: all of it
  RowState rows;                        ///< which rows, and their order
  std::string title;    ///< empty: schedule and ranks, as far as the timeline has them
  std::string caption;  ///< a smaller line under it; may be empty
  /// Draws over the rows, such as critical paths; empty: nothing.
  std::function<void(Canvas&, const ChartView&)> overRows = {};
  bool showsClasses = true;  ///< bubbles have tints and texts of their classes, or are plain idle
  int leastLabels = 0;  ///< pixels of the row labels; where pictures below each other share an axis
};

inline constexpr int kMinPictureWidth = 320;
inline constexpr int kMaxPictureSide = 20'000;

/// A complete chart: title, legend, axis, row labels and rows. If it would be very high, rows are
/// lower, and only compute lanes are drawn (the caption says so). Long titles and captions are
/// broken into lines if there is room. Refers to the model.
class ChartPicture final : public Drawing {
 public:
  /// Throws Error when the size is out of range, or too small for the rows.
  ChartPicture(const ChartModel& model, PictureOptions options);

  int width() const override { return options_.width; }
  int height() const override { return height_; }
  void draw(Canvas& canvas) const override;

 private:
  int headHeight() const;
  void breakLines(std::size_t most);
  std::string captionWithNote() const;
  int aroundRows() const;
  void leaveOutLanes();
  void chooseHeights();

  const ChartModel& model_;
  PictureOptions options_;
  ShownRows shown_;
  RowHeights heights_;
  RowLayout layout_;
  std::vector<std::string> title_;  // lines
  std::vector<std::string> caption_;
  std::size_t mostLines_ = 3;  // of title and caption each
  std::vector<LegendEntry> legend_;
  int height_ = 0;
};

/// The pixels that the row labels of the picture need.
int labelWidthOf(const ChartModel& model, const PictureOptions& options);

/// A title such as "1F1B, 4 ranks, 8 micro-batches", as far as the timeline has these.
std::string titleOf(const ChartModel& model);

}  // namespace pipetrace
