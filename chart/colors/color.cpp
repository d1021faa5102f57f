#include "chart/colors/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace pipetrace {
namespace {

std::uint8_t mixChannel(std::uint8_t from, std::uint8_t to, int share) {
  return static_cast<std::uint8_t>((from * (256 - share) + to * share + 128) / 256);
}

double linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(Color c) {
  return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
}

}  // namespace

Color mix(Color from, Color to, int share) {
  share = std::clamp(share, 0, 256);
  return {mixChannel(from.red, to.red, share), mixChannel(from.green, to.green, share),
          mixChannel(from.blue, to.blue, share)};
}

std::string toHex(Color color) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", color.red, color.green, color.blue);
  return text.data();
}

double lightness(Color color) {
  const double y = luminance(color);
  return y > 216.0 / 24389 ? 116 * std::cbrt(y) - 16 : y * 24389 / 27;
}

double contrast(Color a, Color b) {
  const double la = luminance(a) + 0.05;
  const double lb = luminance(b) + 0.05;
  return std::max(la, lb) / std::min(la, lb);
}

}  // namespace pipetrace
