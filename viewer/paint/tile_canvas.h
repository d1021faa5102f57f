#pragma once

#include <QImage>

#include "viewer/paint/qt_canvas.h"

namespace pipetrace {

/// Draws a part of a chart on an image, as a QtCanvas does. Where a pixel of the chart is one of
/// the image, it sets the pixels of jobs itself, which is several times faster.
class TileCanvas final : public Canvas {
 public:
  /// The pixel (0, 0) of `image`, which is opaque, is `origin` of the chart. `painter` paints on
  /// the image in the chart's pixels. All must outlive the canvas.
  TileCanvas(QImage& image, QPoint origin, QPainter& painter, FontCache& fonts);

  bool hasPixels() const override { return true; }
  void fill(PixelRect rect, Color color) override;
  void hatch(PixelRect rect, const Hatching& hatching) override { painted_.hatch(rect, hatching); }
  void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) override;
  void text(PixelRect box, std::string_view text, const TextStyle& style) override {
    painted_.text(box, text, style);
  }
  int textWidth(std::string_view text, const TextStyle& style) override {
    return painted_.textWidth(text, style);
  }
  void line(std::span<const PixelPoint> points, const Stroke& stroke) override {
    painted_.line(points, stroke);
  }
  void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) override {
    painted_.curve(points, stroke);
  }
  void polygon(std::span<const PixelPoint> corners, Color color) override {
    painted_.polygon(corners, color);
  }
  void veil(PixelRect rect, Color color, double opacity) override {
    painted_.veil(rect, color, opacity);
  }
  void pushClip(PixelRect rect) override;
  void popClip() override;

 private:
  QRgb* line(int y) { return lines_ + static_cast<std::ptrdiff_t>(y - origin_.y()) * stride_; }

  QtCanvas painted_;
  QRgb* lines_ = nullptr;
  std::ptrdiff_t stride_ = 0;  // pixels from line to line
  QPoint origin_;
  std::vector<QRect> clips_;  // in the chart's pixels
};

}  // namespace pipetrace
