#include "chart/script/recorded_canvas.h"

#include "chart/draw/clip_shapes.h"
#include "chart/draw/text_width.h"

namespace pipetrace {

PixelRect RecordedCanvas::clip() const {
  constexpr int kEverywhere = 1 << 28;
  if (clips_.empty()) return {-kEverywhere, -kEverywhere, 2 * kEverywhere, 2 * kEverywhere};
  return clips_.back();
}

/// Null: nothing of it is inside of the clip.
DrawCommand* RecordedCanvas::add(DrawCommand::Kind kind, PixelRect rect, Color color) {
  rect = intersection(rect, clip());
  if (rect.width <= 0 || rect.height <= 0) return nullptr;
  DrawCommand& command = commands_.emplace_back();
  command.kind = kind;
  command.rect = rect;
  command.color = color;
  return &command;
}

void RecordedCanvas::fill(PixelRect rect, Color color) {
  add(DrawCommand::Kind::kFill, rect, color);
}

void RecordedCanvas::hatch(PixelRect rect, const Hatching& hatching) {
  DrawCommand* const command = add(DrawCommand::Kind::kHatch, rect, hatching.ground);
  if (command != nullptr) command->stroke = hatching.stroke;
}

void RecordedCanvas::columns(int top, int height, ColumnEdge edge,
                             std::span<const Column> columns) {
  for (const Column& column : columns) {
    const int y = edge == ColumnEdge::kTop ? top : top + height - column.height;
    fill({column.x, y, 1, column.height}, column.color);
  }
}

void RecordedCanvas::text(PixelRect box, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  if (!clip().contains(box.x + box.width / 2, box.y + box.height / 2)) return;
  DrawCommand& command = commands_.emplace_back();
  command.kind = DrawCommand::Kind::kText;
  command.rect = box;
  command.color = style.color;
  command.style = style;
  command.text = text;
}

int RecordedCanvas::textWidth(std::string_view text, const TextStyle& style) {
  return estimatedTextWidth(text, style);
}

void RecordedCanvas::line(std::span<const PixelPoint> points, const Stroke& stroke) {
  for (PixelPoints& part : lineInside(points, clip())) {
    DrawCommand& command = commands_.emplace_back();
    command.kind = DrawCommand::Kind::kLine;
    command.color = stroke.color;
    command.points = std::move(part);
    command.width = stroke.width;
    command.opacity = stroke.opacity;
    command.isDashed = stroke.isDashed;
  }
}

void RecordedCanvas::curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) {
  line(pointsAlong(points), stroke);
}

void RecordedCanvas::polygon(std::span<const PixelPoint> corners, Color color) {
  PixelPoints inside = polygonInside(corners, clip());
  if (inside.empty()) return;
  DrawCommand& command = commands_.emplace_back();
  command.kind = DrawCommand::Kind::kPolygon;
  command.color = color;
  command.points = std::move(inside);
}

void RecordedCanvas::veil(PixelRect rect, Color color, double opacity) {
  DrawCommand* const command = add(DrawCommand::Kind::kVeil, rect, color);
  if (command != nullptr) command->opacity = opacity;
}

void RecordedCanvas::pushClip(PixelRect rect) { clips_.push_back(intersection(rect, clip())); }

void RecordedCanvas::popClip() { clips_.pop_back(); }

}  // namespace pipetrace
