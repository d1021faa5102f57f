#pragma once

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

}  // namespace pipetrace
