#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "chart/colors/color.h"

namespace pipetrace {

enum class TextAlign : std::uint8_t { kLeft, kCenter, kRight };

struct TextStyle {
  int size = 12;  ///< font size in pixels
  bool bold = false;
  Color color{};
  TextAlign align = TextAlign::kLeft;

  /// The same in another colour.
  TextStyle in(Color another) const { return {size, bold, another, align}; }
};

/// Returns the width of a text in pixels.
using TextMeasure = std::function<int(std::string_view, const TextStyle&)>;

/// An upper estimate of the width in pixels of a text in a sans-serif font, for use without a font.
/// Adds the advance widths of DejaVu Sans, which is a wide font.
int estimatedTextWidth(std::string_view text, const TextStyle& style);

}  // namespace pipetrace
