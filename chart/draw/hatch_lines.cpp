#include "chart/draw/hatch_lines.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pipetrace {
namespace {

constexpr double kMiddle = 2.5;  // of upright and level lines in their square: they fill pixels

/// Calls `add(c)` for all numbers a multiple of the spacing above `offset`, in (from, to).
template <typename Add>
void forEachLine(double from, double to, double offset, const Add& add) {
  double c = std::floor((from - offset) / kHatchSpacing) * kHatchSpacing + offset;
  for (; c < to; c += kHatchSpacing) {
    if (c > from) add(c);
  }
}

}  // namespace

std::vector<std::pair<PixelPoint, PixelPoint>> linesIn(const PixelRect& rect,
                                                       HatchDirection direction) {
  std::vector<std::pair<PixelPoint, PixelPoint>> lines;
  if (rect.width <= 0 || rect.height <= 0) return lines;
  const double left = rect.x;
  const double right = rect.right();
  const double top = rect.y;
  const double bottom = rect.bottom();
  switch (direction) {
    case HatchDirection::kRising:  // x + y = c
      forEachLine(left + top, right + bottom, 0, [&](double c) {
        const double from = std::max(left, c - bottom);
        const double to = std::min(right, c - top);
        lines.push_back({{from, c - from}, {to, c - to}});
      });
      break;
    case HatchDirection::kFalling:  // x - y = c
      forEachLine(left - bottom, right - top, 0, [&](double c) {
        const double from = std::max(left, c + top);
        const double to = std::min(right, c + bottom);
        lines.push_back({{from, from - c}, {to, to - c}});
      });
      break;
    case HatchDirection::kUpright:
      forEachLine(left, right, kMiddle, [&](double x) {
        lines.push_back({{x, top}, {x, bottom}});
      });
      break;
    case HatchDirection::kLevel:
      forEachLine(top, bottom, kMiddle, [&](double y) {
        lines.push_back({{left, y}, {right, y}});
      });
      break;
  }
  return lines;
}

std::pair<double, double> dashesOf(const HatchLines& lines) {
  const bool isStraight =
      lines.direction == HatchDirection::kUpright || lines.direction == HatchDirection::kLevel;
  const double scale = isStraight ? 1 : std::numbers::sqrt2;
  return {lines.drawn * scale, (kHatchSpacing - lines.drawn) * scale};
}

}  // namespace pipetrace
