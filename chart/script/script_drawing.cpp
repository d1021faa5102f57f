#include "chart/script/script_drawing.h"

#include <cmath>
#include <cstdio>

#include "chart/draw/clip_shapes.h"
#include "chart/draw/hatch_lines.h"
#include "chart/draw/text_width.h"
#include "trace/error.h"
#include "trace/text/utf8.h"

namespace pipetrace {

namespace {

std::uint32_t numberOf(Color color) {
  return (std::uint32_t{color.red} << 16U) | (std::uint32_t{color.green} << 8U) | color.blue;
}

void appendEscape(std::string& out, char32_t c) {
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
  out += escape;
}

/// The keys of a map from key to number, in the order of their numbers.
template <typename Map>
std::vector<const typename Map::key_type*> byNumber(const Map& map) {
  std::vector<const typename Map::key_type*> keys(map.size());
  for (const auto& [key, number] : map) keys[static_cast<std::size_t>(number)] = &key;
  return keys;
}

template <typename Map, typename Key>
int numberIn(Map& map, const Key& key) {
  return map.try_emplace(typename Map::key_type(key), static_cast<int>(map.size())).first->second;
}

bool sameBox(const PixelRect& a, const PixelRect& b) {
  return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

}  // namespace

void appendScriptString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = takeCharacter(text);
    const std::string_view bytes = before.substr(0, before.size() - text.size());
    if (c == kReplacementCharacter) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += bytes;
    } else if (c < 0x20 || c == 0x7F || c == '<' || c == '>' || c == '&' || c == 0x2028 ||
               c == 0x2029) {
      appendEscape(out, c);
    } else {
      out += bytes;
    }
  }
  out += '"';
}

/// Appends the commands of one drawing.
class ScriptDrawing::Writer {
 public:
  explicit Writer(ScriptDrawing& tables) : tables_(tables) {}

  /// `count`: how many of the commands from there on were taken.
  std::size_t add(std::size_t i, const std::vector<DrawCommand>& light,
                  const std::vector<DrawCommand>& dark) {
    const DrawCommand& command = light[i];
    const int color = tables_.colorNumber(command.color, dark[i].color);
    switch (command.kind) {
      case DrawCommand::Kind::kFill: return addFill(i, light, dark, color);
      case DrawCommand::Kind::kHatch:
        begin(3, command.rect);
        out_.add({color, tables_.colorNumber(command.stroke, dark[i].stroke),
                  static_cast<int>(command.pattern)});
        break;
      case DrawCommand::Kind::kText:
        begin(4, command.rect);
        addText(command, dark[i]);
        break;
      case DrawCommand::Kind::kLine:
        out_.add({5, color, tenths(command.width), command.isDashed ? 1 : 0});
        addPoints(command);
        break;
      case DrawCommand::Kind::kPolygon:
        out_.add({6, color});
        addPoints(command);
        break;
      case DrawCommand::Kind::kVeil:
        begin(7, command.rect);
        out_.add({color, static_cast<int>(std::lround(command.opacity * 100))});
        break;
    }
    return 1;
  }

  std::string finish() const { return out_.json(); }

  static int tenths(double value) { return static_cast<int>(std::lround(value * 10)); }

 private:
  void begin(int kind, const PixelRect& rect) {
    if (rect.y != y_ || rect.height != height_) {
      out_.add({0, rect.y, rect.height});
      y_ = rect.y;
      height_ = rect.height;
    }
    out_.add({kind, rect.x - x_, rect.width});
    x_ = rect.x;
  }

  void addText(const DrawCommand& light, const DrawCommand& dark) {
    out_.add({tables_.textNumber(light.text), tables_.styleNumber(light, dark)});
  }

  void addPoints(const DrawCommand& command) {
    out_.add(std::ssize(command.points));
    for (const PixelPoint& point : command.points) out_.add({tenths(point.x), tenths(point.y)});
  }

  /// Equal neighbours become one rectangle, and a text in a rectangle goes with it.
  std::size_t addFill(std::size_t i, const std::vector<DrawCommand>& light,
                      const std::vector<DrawCommand>& dark, int color) {
    PixelRect rect = light[i].rect;
    std::size_t count = 1;
    for (; i + count < light.size(); ++count) {
      const DrawCommand& next = light[i + count];
      const bool goesOn = next.kind == DrawCommand::Kind::kFill && next.rect.y == rect.y &&
                          next.rect.height == rect.height && next.rect.x == rect.right() &&
                          tables_.colorNumber(next.color, dark[i + count].color) == color;
      if (!goesOn) break;
      rect.width += next.rect.width;
    }
    const bool hasText =
        count == 1 && i + 1 < light.size() && light[i + 1].kind == DrawCommand::Kind::kText &&
        light[i + 1].style.align == TextAlign::kCenter && sameBox(light[i + 1].rect, rect);
    begin(hasText ? 2 : 1, rect);
    out_.add({color});
    if (!hasText) return count;
    addText(light[i + 1], dark[i + 1]);
    return 2;
  }

  ScriptDrawing& tables_;
  NumberList out_;
  int x_ = 0;
  int y_ = 0;
  int height_ = -1;
};

int ScriptDrawing::textNumber(std::string_view text) {
  const auto found = texts_.find(text);
  return found != texts_.end() ? found->second : numberIn(texts_, text);
}

int ScriptDrawing::colorNumber(Color light, Color dark) {
  return numberIn(colors_, std::array<std::uint32_t, 2>{numberOf(light), numberOf(dark)});
}

int ScriptDrawing::styleNumber(const DrawCommand& light, const DrawCommand& dark) {
  return numberIn(styles_, std::array<int, 4>{light.style.size, light.style.bold ? 1 : 0,
                                              static_cast<int>(light.style.align),
                                              colorNumber(light.color, dark.color)});
}

std::string ScriptDrawing::commands(const std::vector<DrawCommand>& light,
                                    const std::vector<DrawCommand>& dark) {
  if (light.size() != dark.size()) {
    throw Error("the light and the dark form of a drawing differ in more than their colours");
  }
  Writer writer(*this);
  for (std::size_t i = 0; i < light.size();) {
    if (light[i].kind != dark[i].kind || light[i].text != dark[i].text ||
        !sameBox(light[i].rect, dark[i].rect)) {
      throw Error("the light and the dark form of a drawing differ in more than their colours");
    }
    i += writer.add(i, light, dark);
  }
  return writer.finish();
}

/// The patterns, in the order of BubblePattern.
std::string ScriptDrawing::hatchings() {
  std::string out = "\"hatchings\":[";
  for (int i = 0; i < kBubblePatternCount; ++i) {
    NumberList all;
    for (const HatchLines& lines : linesOf(static_cast<BubblePattern>(i))) {
      const auto [dash, gap] = dashesOf(lines);
      all.add({static_cast<int>(lines.direction), Writer::tenths(dash), Writer::tenths(gap)});
    }
    out += (i == 0 ? "" : ",") + all.json();
  }
  return out + "]";
}

std::string ScriptDrawing::tables() const {
  std::string out = "\"colors\":[";
  for (const auto* const pair : byNumber(colors_)) {
    char text[32];
    std::snprintf(text, sizeof text, "[\"#%06x\",\"#%06x\"],", (*pair)[0], (*pair)[1]);
    out += text;
  }
  if (out.back() == ',') out.pop_back();
  out += "],\"styles\":[";
  for (const auto* const style : byNumber(styles_)) {
    out += '[';
    for (const int value : *style) out += std::to_string(value) + ",";
    out.back() = ']';
    out += ',';
  }
  if (out.back() == ',') out.pop_back();
  out += "],\"texts\":[";
  for (const auto* const text : byNumber(texts_)) {
    appendScriptString(out, *text);
    out += ',';
  }
  if (out.back() == ',') out.pop_back();
  return out + "]," + hatchings();
}

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
  if (command == nullptr) return;
  command->stroke = hatching.stroke;
  command->pattern = hatching.pattern;
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
