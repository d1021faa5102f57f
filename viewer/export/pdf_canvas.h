#pragma once

#include "viewer/paint/qt_canvas.h"

namespace pipetrace {

/// Draws with lines and areas only, where QtCanvas sets pixels: for files of vectors. The painter
/// must be active; painter and fonts must outlive the canvas.
class PdfCanvas final : public Canvas {
 public:
  PdfCanvas(QPainter& painter, FontCache& fonts) : painter_(painter), areas_(painter, fonts) {}

  void fill(PixelRect rect, Color color) override { areas_.fill(rect, color); }
  void hatch(PixelRect rect, const Hatching& hatching) override;
  void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) override;
  void text(PixelRect box, std::string_view text, const TextStyle& style) override {
    areas_.text(box, text, style);
  }
  int textWidth(std::string_view text, const TextStyle& style) override {
    return areas_.textWidth(text, style);
  }
  void line(std::span<const PixelPoint> points, const Stroke& stroke) override {
    areas_.line(points, stroke);
  }
  void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) override {
    areas_.curve(points, stroke);
  }
  void polygon(std::span<const PixelPoint> corners, Color color) override {
    areas_.polygon(corners, color);
  }
  void veil(PixelRect rect, Color color, double opacity) override {
    areas_.veil(rect, color, opacity);
  }
  void pushClip(PixelRect rect) override { areas_.pushClip(rect); }
  void popClip() override { areas_.popClip(); }

 private:
  QPainter& painter_;
  QtCanvas areas_;
};

}  // namespace pipetrace
