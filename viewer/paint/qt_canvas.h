#pragma once

#include <QFont>
#include <QFontMetrics>
#include <QPainter>
#include <QPainterPath>
#include <QPen>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chart/draw/canvas.h"
#include "chart/draw/text_width.h"

namespace pipetrace {

/// The fonts of a chart and the widths of texts in them, kept from frame to frame. For the GUI
/// thread only.
class FontCache {
 public:
  struct Entry {
    explicit Entry(const QFont& f) : font(f), metrics(f) {}
    QFont font;
    QFontMetrics metrics;
    std::unordered_map<std::string, int> widths;
  };

  /// The reference is valid as long as the cache.
  Entry& entry(const TextStyle& style);
  int width(std::string_view text, const TextStyle& style);
  /// Returns width() as a function. It is valid as long as the cache.
  TextMeasure measure() {
    return [this](std::string_view text, const TextStyle& style) { return width(text, style); };
  }

 private:
  std::map<std::pair<int, bool>, Entry> entries_;
};

/// The pen of a hatching's lines, in the chart's pixels.
QPen hatchPen(Color color, const HatchLines& lines);

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
