#pragma once

#include <algorithm>

namespace pipetrace {

/// Pixels [x, x + width) by [y, y + height), y downwards.
struct PixelRect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  int right() const { return x + width; }
  int bottom() const { return y + height; }
  bool contains(int px, int py) const {
    return px >= x && px < right() && py >= y && py < bottom();
  }
};

/// The part that two rectangles share. Its width or height is 0 if there is none.
inline PixelRect intersection(const PixelRect& a, const PixelRect& b) {
  const int left = std::max(a.x, b.x);
  const int top = std::max(a.y, b.y);
  return {left, top, std::max(std::min(a.right(), b.right()) - left, 0),
          std::max(std::min(a.bottom(), b.bottom()) - top, 0)};
}

}  // namespace pipetrace
