#pragma once

#include <cstdint>
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
  Color of(const Event& event) const { return ofSlot(slotOf(event)); }

  /// A number for all that the colour depends on; the same in all themes. Bubbles have the same
  /// numbers whatever the number of chunks.
  std::uint16_t slotOf(const Event& event) const {
    if (event.kind == JobKind::kBubble) return static_cast<std::uint16_t>(event.bubbleClass);
    const int chunk = event.chunk <= 0 ? 0 : event.chunk < chunks_ ? event.chunk : chunks_ - 1;
    return static_cast<std::uint16_t>(kBubbleClassCount + static_cast<int>(event.kind) * chunks_ +
                                      chunk);
  }
  Color ofSlot(std::uint16_t slot) const { return slots_[slot]; }

 private:
  Theme theme_;
  int chunks_;
  std::vector<Color> slots_;  // by class of bubbles; then by kind and chunk
};

}  // namespace pipetrace
