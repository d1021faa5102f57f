#pragma once

#include <vector>

#include "chart/colors/theme.h"

namespace pipetrace {

/// The colour of every event of a run in a theme. A table, so that asking is cheap. Several threads
/// may ask.
class JobColors {
 public:
  /// `chunks`: the largest number of chunks of a rank; 1 for a run without chunks.
  explicit JobColors(const Theme& theme, int chunks = 1);

  const Theme& theme() const { return theme_; }
  int chunks() const { return chunks_; }

  /// The colour of a job; the tint of a bubble.
  Color of(const Event& event) const {
    if (event.kind == JobKind::kBubble) return theme_.tintOf(event.bubbleClass);
    const int chunk = event.chunk <= 0 ? 0 : event.chunk < chunks_ ? event.chunk : chunks_ - 1;
    return shades_[static_cast<std::size_t>(static_cast<int>(event.kind) * chunks_ + chunk)];
  }

 private:
  Theme theme_;
  int chunks_;
  std::vector<Color> shades_;  // by kind, then chunk
};

}  // namespace pipetrace
