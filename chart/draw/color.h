#pragma once

#include <cstdint>
#include <string>

namespace pipetrace {

/// An opaque sRGB colour.
struct Color {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  friend bool operator==(const Color&, const Color&) = default;
};

/// `share` of 0 is `from`, 256 is `to`.
Color mix(Color from, Color to, int share);

/// "#4c78a8"
std::string toHex(Color color);

/// WCAG 2 contrast ratio, 1 to 21.
double contrast(Color a, Color b);

}  // namespace pipetrace
