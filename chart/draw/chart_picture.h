#pragma once

#include <optional>
#include <string>

#include "chart/chart_model.h"
#include "chart/draw/canvas.h"
#include "chart/row_layout.h"

namespace pipetrace {

struct PictureOptions {
  int width = 1600;                     ///< pixels, at least kMinPictureWidth
  std::optional<int> height;            ///< pixels; not given: as high as the rows ask for
  std::optional<Timeline::Span> range;  ///< what of the run; not given: all of it
  std::string title;                    ///< empty: schedule and ranks, as far as the timeline says
  std::string caption;                  ///< a smaller line under it; may be empty
};

inline constexpr int kMinPictureWidth = 320;
inline constexpr int kMaxPictureSide = 20'000;

/// A chart that stands by itself: title, legend, axis, row labels and rows. Where that would make
/// it very high, rows are lower, and lanes other than the compute lanes are left out (the caption
/// says so). Title and caption are broken into lines where they are too long, if there is room for
/// that. Refers to the model.
class ChartPicture {
 public:
  /// Throws Error when the size is out of range, or too small for the rows.
  ChartPicture(const ChartModel& model, PictureOptions options);

  int width() const { return options_.width; }
  int height() const { return height_; }
  void draw(Canvas& canvas) const;

 private:
  int headHeight() const;
  void breakLines(std::size_t most);
  std::string captionWithNote() const;
  int aroundRows() const;
  void leaveOutLanes();
  void chooseHeights();

  const ChartModel& model_;
  PictureOptions options_;
  RowHeights heights_;
  RowLayout layout_;
  std::vector<std::string> title_;  // lines
  std::vector<std::string> caption_;
  std::size_t mostLines_ = 3;  // of each of them
  std::vector<LegendEntry> legend_;
  int height_ = 0;
};

/// "1F1B, 4 ranks, 8 micro-batches", as far as the timeline says.
std::string titleOf(const ChartModel& model);

}  // namespace pipetrace
