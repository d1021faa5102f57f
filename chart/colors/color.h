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

/// Mixes two colours: a `share` of 0 gives `from`, 256 gives `to`.
Color mix(Color from, Color to, int share);

/// The colour as text: "#4c78a8".
std::string toHex(Color color);

/// The lightness L* of CIE L*a*b*: 0 is black, 100 is white.
double lightness(Color color);

/// The contrast ratio of WCAG 2, 1 to 21.
double contrast(Color a, Color b);

}  // namespace pipetrace
