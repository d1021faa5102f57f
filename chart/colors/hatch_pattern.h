#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "trace/bubble_class.h"

namespace pipetrace {

/// The lines of a hatching are 1 pixel wide. Parallel ones are that far apart along the row, or
/// across it; so every pattern repeats itself in squares of that size.
inline constexpr int kHatchSpacing = 6;  ///< pixels

/// From the lower left to the upper right, from the upper left to the lower right, across the row,
/// along the row.
enum class HatchDirection : std::uint8_t { kRising, kFalling, kUpright, kLevel };

/// Parallel lines.
struct HatchLines {
  HatchDirection direction = HatchDirection::kRising;
  /// The part of each stretch of kHatchSpacing pixels, along the row or, of upright lines, across
  /// it, that is drawn.
  double drawn = kHatchSpacing;

  bool isDashed() const { return drawn < kHatchSpacing; }
};

/// The one or two sets of lines that a pattern is made of.
std::span<const HatchLines> linesOf(BubblePattern pattern);

/// The share of a hatched area that its lines cover, of 256.
int strokeShareOf(BubblePattern pattern);

}  // namespace pipetrace
