#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chart/colors/color.h"
#include "chart/colors/hatch_pattern.h"
#include "trace/event.h"

namespace pipetrace {

/// paper: the colours of the papers of Megatron-LM, PipeDream and zero bubble. paddle: those of
/// Catapult's viewer for the profiles that PaddlePaddle writes. colour-blind: after Okabe and Ito.
enum class ThemeName : std::uint8_t { kPaper, kPaddle, kColourBlind };
inline constexpr int kThemeCount = 3;

/// "paper", "paddle", "colour-blind": the name in command lines and settings.
std::string_view nameOf(ThemeName theme);
std::optional<ThemeName> themeNamed(std::string_view name);

/// Lines on a ground, whose mean is the tint of the bubble.
struct Hatching {
  Color ground;
  Color stroke;
  BubblePattern pattern = BubblePattern::kRising;

  friend bool operator==(const Hatching&, const Hatching&) = default;
};

/// All colours of a chart. A value; themeOf() has the known ones.
struct Theme {
  ThemeName name = ThemeName::kPaper;
  bool isDark = false;
  Color paper;  ///< behind everything
  Color ink;    ///< text, and the outline of the selection
  Color faintInk;
  Color grid;
  Color stepLine;
  Color rowShade;                                ///< a row where nothing runs
  std::array<Color, kJobKindCount> jobs{};       ///< by kind; that of bubbles is not used
  std::array<Color, kBubbleClassCount> tints{};  ///< by class, the mean of its hatching

  /// The tint of a bubble: of its column, and the mean of its hatching.
  Color tintOf(BubbleClass bubbleClass) const {
    return tints[static_cast<std::size_t>(bubbleClass)];
  }
  /// The hatching of a bubble.
  Hatching hatchingOf(BubbleClass bubbleClass) const;

  /// The same name and the same form: there are no others that would differ.
  friend bool operator==(const Theme& a, const Theme& b) {
    return a.name == b.name && a.isDark == b.isDark;
  }
};

/// The theme of that name, in its light or its dark form. Both have kinds of jobs that differ for
/// people with protanopia and deuteranopia, and classes of bubbles that also do with tritanopia.
/// The kinds of the colour-blind theme do with tritanopia, too.
const Theme& themeOf(ThemeName name, bool isDark = false);

/// The colour of a job in chunk `chunk` of `chunks` on its rank. Later chunks are darker;
/// neighbours differ the more the fewer there are. `color`: the colour of a job without chunks.
Color shadeOfChunk(const Theme& theme, Color color, int chunk, int chunks);

/// Black or white: the one that is easier to read on `background`.
Color textColorOn(Color background);

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
