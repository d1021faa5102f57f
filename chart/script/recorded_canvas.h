#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chart/draw/canvas.h"

namespace pipetrace {

/// One thing that was drawn on a canvas, cut off at its clip.
struct DrawCommand {
  enum class Kind : std::uint8_t { kFill, kHatch, kText, kLine, kPolygon, kVeil };

  Kind kind = Kind::kFill;
  PixelRect rect;  ///< not of lines and polygons
  Color color;     ///< of hatching: its ground
  Color stroke;    ///< of hatching
  TextStyle style;
  std::string text;
  std::vector<PixelPoint> points;  ///< of lines and polygons
  double width = 1;                ///< of lines
  double opacity = 1;              ///< of veils and lines
  bool isDashed = false;
};

/// Keeps what is drawn, in its order. Two drawings that differ in their colours alone give as many
/// commands, which differ in their colours alone. Widths of texts are upper estimates. A text whose
/// middle is outside the clip is left out; others are not cut off. Not thread-safe.
class RecordedCanvas final : public Canvas {
 public:
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

  const std::vector<DrawCommand>& commands() const { return commands_; }

 private:
  PixelRect clip() const;
  DrawCommand* add(DrawCommand::Kind kind, PixelRect rect, Color color);

  std::vector<DrawCommand> commands_;
  std::vector<PixelRect> clips_;  // each within the one before
};

}  // namespace pipetrace
