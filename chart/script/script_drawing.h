#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chart/script/recorded_canvas.h"

namespace pipetrace {

/// Appends `text` as a JSON string that may stand in a <script> element of a page: `<`, `>` and `&`
/// are escaped, so no text ends the element. Bytes that are no UTF-8 become U+FFFD.
void appendScriptString(std::string& out, std::string_view text);

/// Drawings as JSON that the script of a page draws again, in a light or a dark form. All drawings
/// of one object share the tables of colours, text styles and texts, to which their commands refer
/// by number. Not thread-safe.
///
/// A drawing is a list of whole numbers (ScriptNumbers), a command after the other:
///
///     0 y h            the rows [y, y + h), for the commands up to the next 0
///     1 dx w c         a rectangle in colour c; dx: from the begin of the one before
///     2 dx w c t s     the same with text t in style s in its middle
///     3 dx w c d       hatching with ground c and lines of colour d
///     4 dx w t s       text t in style s in a box
///     5 c u d n x y …  a line through n points; u: tenths of pixels wide; d: 1 for dashes; points
///                      in tenths of pixels
///     6 c n x y …      an area with n corners, likewise
///     7 dx w c o       a rectangle of o % opacity
class ScriptDrawing {
 public:
  /// The commands of a drawing as a JSON string, recorded once in its light and once in its dark
  /// form. Throws Error if they differ in more than colours.
  std::string commands(const std::vector<DrawCommand>& light, const std::vector<DrawCommand>& dark);

  /// The numbers of a text and of a pair of colours in the tables.
  int textNumber(std::string_view text);
  int colorNumber(Color light, Color dark);

  /// The tables, as members of a JSON object: "colors":[["#fff","#000"],…], "styles":[[size, bold,
  /// align, color],…] with align 0 to 2 for left, centre and right, "texts":[…]. Call it last.
  std::string tables() const;

 private:
  class Writer;
  int styleNumber(const DrawCommand& light, const DrawCommand& dark);

  std::map<std::array<std::uint32_t, 2>, int> colors_;
  std::map<std::array<int, 4>, int> styles_;
  std::map<std::string, int, std::less<>> texts_;
};

}  // namespace pipetrace
