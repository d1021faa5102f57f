#pragma once

#include <memory>

#include "chart/chart_view.h"
#include "chart/draw/canvas.h"

namespace pipetrace {

/// Where pixels are seen, a job that is shorter than its pixel and alone has a pale mark of the
/// row's height above its share. This is the share of the row's ground in it, of 256.
inline constexpr int kLoneMarkGround = 128;

inline constexpr int kTimeAxisHeight = 42;
inline constexpr int kLegendLineHeight = 20;

/// Draws the rows in view with their jobs and bubbles, over the grid of the time axis, in
/// view.area.
void drawRows(Canvas& canvas, const ChartView& view);

/// Draws the pixels [from, to) of one of the model's rows, whose lanes are shown, exactly as
/// drawRows() does, and nothing outside of them. The row need not be in view.
void drawRow(Canvas& canvas, const ChartView& view, std::size_t row, int from, int to);

/// Writes the names of jobs again, on other grounds than their colours.
class CellLabels {
 public:
  /// Both must outlive it.
  CellLabels(Canvas& canvas, const ChartView& view);
  ~CellLabels();
  CellLabels(const CellLabels&) = delete;
  CellLabels& operator=(const CellLabels&) = delete;

  /// Fills `cell`, which is the part of the job that is in view, with `ground`, and writes on it
  /// what drawRows() writes on the job.
  void draw(const Event& job, const PixelRect& cell, Color ground);

 private:
  struct Painter;
  std::unique_ptr<Painter> painter_;
};

/// Draws steps and times in `box`, which is above or below view.area and kTimeAxisHeight high.
/// Times count from the model's first event.
void drawTimeAxis(Canvas& canvas, const ChartView& view, PixelRect box);

/// Draws the names of the rows in `box`, which is left of view.area and as high. Long names end in
/// an ellipsis. `gutter`: pixels that are left free before each name.
void drawRowLabels(Canvas& canvas, const ChartView& view, PixelRect box, int gutter = 0);

/// The width that drawRowLabels() needs, within sensible limits. It counts rows that are folded or
/// hidden, so that it stays; lanes without pipeline work only if they are shown. The rows must be
/// of a tree.
int rowLabelWidth(const TextMeasure& measure, const ShownRows& shown, int gutter = 0);

/// Where the name of a row at that depth of the tree begins, from the left of the labels.
int rowLabelX(int depth, int gutter);

/// Draws the legend from the upper left corner of `box` on, in as many lines as its width requires.
void drawLegend(Canvas& canvas, const std::vector<LegendEntry>& legend, const JobColors& colors,
                PixelRect box);

/// The height of the legend when it is `width` wide.
int legendHeight(const TextMeasure& measure, const std::vector<LegendEntry>& legend, int width);

/// Something to draw on a canvas of its size.
class Drawing {
 public:
  Drawing() = default;
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;
  virtual ~Drawing() = default;

  virtual int width() const = 0;   ///< pixels
  virtual int height() const = 0;  ///< pixels
  virtual void draw(Canvas& canvas) const = 0;
};

}  // namespace pipetrace
