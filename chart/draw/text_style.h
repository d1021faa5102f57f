#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "chart/draw/palette.h"

namespace pipetrace {

enum class TextAlign : std::uint8_t { kLeft, kCenter, kRight };

struct TextStyle {
  int size = 12;  ///< font size in pixels
  bool bold = false;
  Color color = palette::kInk;
  TextAlign align = TextAlign::kLeft;
};

/// Returns the width of a text in pixels.
using TextMeasure = std::function<int(std::string_view, const TextStyle&)>;

}  // namespace pipetrace
