#include <tuple>

#include "chart/colors/theme.h"

// The colours of all themes. The tests of theme_test.cpp say what they must hold.
namespace pipetrace {
namespace {

/// The colours of the kinds of jobs, which their rows have (trace/job_kind.h).
constexpr std::array<Color, kJobKindCount> jobColors(ThemeName name, bool isDark) {
  static_assert(std::tuple_size_v<decltype(JobKindRow::colors)> == 2 * kThemeCount);
  std::array<Color, kJobKindCount> jobs{};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::uint32_t rgb = kJobKinds[i].colors[2 * static_cast<std::size_t>(name) + isDark];
    jobs[i] = {static_cast<std::uint8_t>(rgb >> 16), static_cast<std::uint8_t>(rgb >> 8),
               static_cast<std::uint8_t>(rgb)};
  }
  return jobs;
}

/// The parts of a theme that do not depend on its name.
constexpr Theme light(ThemeName name) {
  Theme theme;
  theme.name = name;
  theme.paper = {255, 255, 255};
  theme.ink = {27, 31, 36};
  theme.faintInk = {95, 104, 115};
  theme.grid = {225, 229, 234};
  theme.stepLine = {150, 158, 168};
  theme.rowShade = {247, 248, 250};
  theme.jobs = jobColors(name, false);
  return theme;
}

constexpr Theme dark(ThemeName name) {
  Theme theme;
  theme.name = name;
  theme.isDark = true;
  theme.paper = {23, 25, 30};
  theme.ink = {233, 236, 241};
  theme.faintInk = {158, 166, 178};
  theme.grid = {48, 52, 60};
  theme.stepLine = {104, 112, 124};
  theme.rowShade = {33, 36, 42};
  theme.jobs = jobColors(name, true);
  return theme;
}

constexpr Theme paperLight() {
  Theme theme = light(ThemeName::kPaper);
  theme.tints = {{
      {129, 150, 161},  // none
      {216, 229, 244},  // warm_up
      {189, 177, 171},  // steady
      {214, 213, 188},  // drain
      {182, 171, 239},  // sync
      {246, 236, 148},  // launch
      {180, 89, 126},   // transfer
      {84, 60, 200},    // blocked
      {204, 150, 132},  // peer_wait
      {210, 69, 75},    // imbalance
      {129, 150, 161},  // unknown
  }};
  return theme;
}

constexpr Theme paperDark() {
  Theme theme = dark(ThemeName::kPaper);
  theme.tints = {{
      {135, 142, 139},  // none
      {43, 61, 78},     // warm_up
      {61, 62, 58},     // steady
      {92, 80, 61},     // drain
      {80, 81, 153},    // sync
      {139, 133, 28},   // launch
      {136, 48, 117},   // transfer
      {112, 48, 196},   // blocked
      {142, 87, 103},   // peer_wait
      {180, 53, 42},    // imbalance
      {135, 142, 139},  // unknown
  }};
  return theme;
}

constexpr Theme paddleLight() {
  Theme theme = light(ThemeName::kPaddle);
  theme.tints = {{
      {177, 200, 222},  // none
      {213, 241, 253},  // warm_up
      {201, 202, 199},  // steady
      {255, 243, 220},  // drain
      {218, 180, 250},  // sync
      {221, 244, 162},  // launch
      {170, 94, 162},   // transfer
      {84, 60, 200},    // blocked
      {213, 148, 117},  // peer_wait
      {215, 76, 78},    // imbalance
      {177, 200, 222},  // unknown
  }};
  return theme;
}

constexpr Theme paddleDark() {
  Theme theme = dark(ThemeName::kPaddle);
  theme.tints = {{
      {86, 114, 127},  // none
      {41, 58, 71},    // warm_up
      {76, 86, 89},    // steady
      {74, 64, 49},    // drain
      {106, 83, 148},  // sync
      {142, 133, 46},  // launch
      {123, 44, 110},  // transfer
      {84, 60, 200},   // blocked
      {164, 96, 86},   // peer_wait
      {176, 41, 39},   // imbalance
      {86, 114, 127},  // unknown
  }};
  return theme;
}

constexpr Theme colourBlindLight() {
  Theme theme = light(ThemeName::kColourBlind);
  theme.tints = {{
      {201, 189, 194},  // none
      {225, 237, 252},  // warm_up
      {166, 156, 146},  // steady
      {246, 239, 216},  // drain
      {121, 145, 233},  // sync
      {203, 224, 126},  // launch
      {167, 94, 153},   // transfer
      {84, 60, 200},    // blocked
      {237, 175, 156},  // peer_wait
      {229, 72, 83},    // imbalance
      {201, 189, 194},  // unknown
  }};
  return theme;
}

constexpr Theme colourBlindDark() {
  Theme theme = dark(ThemeName::kColourBlind);
  theme.tints = {{
      {119, 118, 124},  // none
      {55, 60, 72},     // warm_up
      {87, 87, 86},     // steady
      {58, 50, 34},     // drain
      {64, 70, 138},    // sync
      {148, 134, 48},   // launch
      {145, 55, 117},   // transfer
      {112, 48, 196},   // blocked
      {157, 95, 81},    // peer_wait
      {183, 32, 43},    // imbalance
      {119, 118, 124},  // unknown
  }};
  return theme;
}

}  // namespace

const Theme& themeOf(ThemeName name, bool isDark) {
  static constexpr std::array<Theme, 2> kPaper{paperLight(), paperDark()};
  static constexpr std::array<Theme, 2> kPaddle{paddleLight(), paddleDark()};
  static constexpr std::array<Theme, 2> kColourBlind{colourBlindLight(), colourBlindDark()};
  const std::size_t form = isDark ? 1 : 0;
  switch (name) {
    case ThemeName::kPaper: return kPaper[form];
    case ThemeName::kPaddle: return kPaddle[form];
    case ThemeName::kColourBlind: return kColourBlind[form];
  }
  return kPaper[form];
}

}  // namespace pipetrace
