#pragma once

#include <QPainter>
#include <QPainterPath>
#include <utility>
#include <vector>

#include "chart/draw/canvas.h"
#include "viewer/paint/font_cache.h"

namespace pipetrace {

/// Draws with a QPainter. The painter must be active; painter and fonts must outlive the canvas.
class QtCanvas final : public Canvas {
 public:
  QtCanvas(QPainter& painter, FontCache& fonts);

  bool hasPixels() const override { return true; }
  void fill(PixelRect rect, Color color) override;
  void hatch(PixelRect rect, const Hatching& hatching) override;
  void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) override;
  void text(PixelRect box, std::string_view text, const TextStyle& style) override;
  int textWidth(std::string_view text, const TextStyle& style) override;
  void line(std::span<const PixelPoint> points, const Stroke& stroke) override;
  void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) override;
  void polygon(std::span<const PixelPoint> corners, Color color) override;
  void veil(PixelRect rect, Color color, double opacity) override;
  void pushClip(PixelRect rect) override;
  void popClip() override;

 private:
  void stroke(const QPainterPath& path, const Stroke& stroke);

  QPainter& painter_;
  FontCache& fonts_;
  std::vector<std::pair<Hatching, QBrush>> brushes_;  // those used so far
  const FontCache::Entry* font_ = nullptr;            // the font that the painter has
  Color pen_;
};

inline QColor toQColor(Color color) { return {color.red, color.green, color.blue}; }

}  // namespace pipetrace
