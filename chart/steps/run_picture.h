#pragma once

#include <string>
#include <vector>

#include "chart/chart_model.h"
#include "chart/draw/chart_picture.h"
#include "chart/draw/draw_chart.h"
#include "chart/steps/step_grid.h"

namespace pipetrace {

/// A picture of a whole run of many steps: a column for each step, or for several in a row, and a
/// line for each rank. A cell shows what the rank's time went to: work by kind from below, bubbles
/// by class from above, each as high as its share. Over them stand how long the steps took, the
/// bubble ratio of each column, and the shares of all ranks together. At the right stands the
/// bubble ratio of each rank. Refers to the model.
class RunPicture final : public Drawing {
 public:
  /// Steps narrower than this in a chart of the whole run are shown as columns.
  static constexpr int kLegibleStep = 40;

  /// Whether a chart of the whole run, `width` pixels wide, would have steps that are too narrow.
  static bool isBetterFor(const ChartModel& model, int width);

  /// Ranks that options.rows do not show have no line, but count among all ranks. Ignores
  /// options.range. Throws Error when the size is out of range, or too small for the ranks.
  RunPicture(const ChartModel& model, PictureOptions options);

  int width() const override { return options_.width; }
  int height() const override { return height_; }
  void draw(Canvas& canvas) const override;

  const StepGrid& grid() const { return grid_; }
  /// The ranks that have a line, from the top, as indices of grid().ranks.
  const std::vector<std::size_t>& lines() const { return lines_; }
  /// The place of a cell, of a column and a line.
  PixelRect cellOf(std::size_t column, std::size_t line) const;

 private:
  const Theme& theme() const { return model_.theme(); }
  int headHeight() const;
  void chooseRowHeight();
  int left(std::size_t column) const;
  PixelRect columnRect(std::size_t column, int top, int height) const;
  void drawHead(Canvas& canvas) const;
  void drawSteps(Canvas& canvas, int top) const;
  void drawDurations(Canvas& canvas, PixelRect strip) const;
  void drawRatios(Canvas& canvas, int top) const;
  void drawShares(Canvas& canvas, const StepShares& shares, PixelRect cell) const;
  void drawRanks(Canvas& canvas) const;
  void drawRatioOf(Canvas& canvas, const StepShares& shares, int top, int height) const;

  const ChartModel& model_;
  PictureOptions options_;
  std::vector<std::string> caption_;  // lines
  std::vector<LegendEntry> legend_;
  StepGrid grid_;
  std::vector<std::size_t> lines_;
  int labelWidth_ = 0;
  int rowHeight_ = 0;
  int rowGap_ = 0;
  int height_ = 0;
};

}  // namespace pipetrace
