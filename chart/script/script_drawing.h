#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chart/draw/canvas.h"

namespace pipetrace {

/// One thing that was drawn on a canvas, cut off at its clip.
struct DrawCommand {
  enum class Kind : std::uint8_t { kFill, kHatch, kText, kLine, kPolygon, kVeil };

  Kind kind = Kind::kFill;
  PixelRect rect;              ///< not of lines and polygons
  Color color;                 ///< of hatching: its ground
  Color stroke;                ///< of hatching
  BubblePattern pattern = {};  ///< of hatching
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

/// Appends `text` as a JSON string that may stand in a <script> element of a page: `<`, `>` and `&`
/// are escaped, so no text ends the element. Bytes that are no UTF-8 become U+FFFD.
void appendScriptString(std::string& out, std::string_view text);

/// Whole numbers as a JSON array.
class NumberList {
 public:
  void add(std::int64_t number) {
    if (!text_.empty()) text_ += ',';
    text_ += std::to_string(number);
  }
  void add(std::initializer_list<std::int64_t> numbers) {
    for (const std::int64_t number : numbers) add(number);
  }

  std::string json() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
};

/// Drawings as JSON that the script of a page draws again, in a light or a dark form. All drawings
/// of one object share the tables of colours, text styles and texts, to which their commands refer
/// by number. Not thread-safe.
///
/// A drawing is a list of whole numbers, a command after the other:
///
///     0 y h            the rows [y, y + h), for the commands up to the next 0
///     1 dx w c         a rectangle in colour c; dx: from the begin of the one before
///     2 dx w c t s     the same with text t in style s in its middle
///     3 dx w c d p     hatching with ground c and lines of colour d, of pattern p
///     4 dx w t s       text t in style s in a box
///     5 c u d n x y …  a line through n points; u: tenths of pixels wide; d: 1 for dashes; points
///                      in tenths of pixels
///     6 c n x y …      an area with n corners, in tenths of pixels
///     7 dx w c o       a rectangle of o % opacity
class ScriptDrawing {
 public:
  /// The commands of a drawing as a JSON array, recorded once in its light and once in its dark
  /// form. Throws Error if they differ in more than colours.
  std::string commands(const std::vector<DrawCommand>& light, const std::vector<DrawCommand>& dark);

  /// The numbers of a text and of a pair of colours in the tables.
  int textNumber(std::string_view text);
  int colorNumber(Color light, Color dark);

  /// The tables, as members of a JSON object: "colors":[["#fff","#000"],…], "styles":[[size, bold,
  /// align, color],…] with align 0 to 2 for left, centre and right, "texts":[…], and "hatchings":
  /// of each pattern its lines as HatchDirection, tenths of pixels that are drawn, and that are
  /// free. Call it last.
  std::string tables() const;

 private:
  class Writer;
  static std::string hatchings();
  int styleNumber(const DrawCommand& light, const DrawCommand& dark);

  std::map<std::array<std::uint32_t, 2>, int> colors_;
  std::map<std::array<int, 4>, int> styles_;
  std::map<std::string, int, std::less<>> texts_;
};

}  // namespace pipetrace
