#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chart/colors/theme.h"
#include "chart/draw/text_width.h"
#include "chart/pixel_rect.h"

namespace pipetrace {

/// A coloured bar one pixel wide.
struct Column {
  int x = 0;
  int height = 0;
  Color color;
};

/// The edge of the row on which columns stand.
enum class ColumnEdge : std::uint8_t { kTop, kBottom };

/// A point of a canvas, which need not be a whole pixel.
struct PixelPoint {
  double x = 0;
  double y = 0;
};

/// How a line is drawn.
struct Stroke {
  Color color;
  double width = 1;    ///< pixels
  double opacity = 1;  ///< 0 .. 1
  bool isDashed = false;
};

/// A surface to draw a chart on: a window, an image, an SVG file. Pixels count from the upper left
/// corner. Not thread-safe.
class Canvas {
 public:
  Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  virtual ~Canvas() = default;

  /// Whether its pixels are seen as such: a window, an image. There the pixel columns at the edges
  /// of jobs are as high as their shares. Elsewhere jobs have sharp edges at whole pixels, and a
  /// pixel between each other.
  virtual bool hasPixels() const { return false; }

  virtual void fill(PixelRect rect, Color color) = 0;
  /// Draws the lines of a hatching on its ground.
  virtual void hatch(PixelRect rect, const Hatching& hatching) = 0;
  /// Draws columns, x ascending, each at most `height` high, inside the row [top, top + height).
  virtual void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) = 0;
  /// Draws one line of text, centred vertically in `box`, not cut off at its sides.
  virtual void text(PixelRect box, std::string_view text, const TextStyle& style) = 0;
  virtual int textWidth(std::string_view text, const TextStyle& style) = 0;
  /// Returns textWidth() as a function. It is valid as long as the canvas.
  TextMeasure measure() {
    return [this](std::string_view text, const TextStyle& style) { return textWidth(text, style); };
  }

  /// Draws the lines from point to point. These and the next two are smooth at their edges, unlike
  /// all else.
  virtual void line(std::span<const PixelPoint> points, const Stroke& stroke) = 0;
  /// Draws a cubic curve from the first point to the last; the two between pull it.
  virtual void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) = 0;
  virtual void polygon(std::span<const PixelPoint> corners, Color color) = 0;
  /// Lays a colour over what is there. `opacity`: 0 .. 1.
  virtual void veil(PixelRect rect, Color color, double opacity) = 0;

  /// Nothing outside `rect` is drawn until the matching popClip().
  virtual void pushClip(PixelRect rect) = 0;
  virtual void popClip() = 0;
};

/// `text`, or the longest part of its beginning that fits into `width` with an ellipsis after it;
/// empty if nothing fits.
std::string elided(const TextMeasure& measure, std::string_view text, const TextStyle& style,
                   int width);

/// Breaks `text` at spaces into at most `most` lines no wider than `width`; the last one is elided.
std::vector<std::string> wrapped(const TextMeasure& measure, std::string_view text,
                                 const TextStyle& style, int width, std::size_t most);

}  // namespace pipetrace
