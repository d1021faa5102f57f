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

/// The tints of bubbles, which the rows of their classes have.
constexpr std::array<Color, kBubbleClassCount> tintsOf(ThemeName name, bool isDark) {
  std::array<Color, kBubbleClassCount> tints{};
  for (std::size_t i = 0; i < tints.size(); ++i) {
    const BubbleTints& all = kBubbleClasses[i].tints;
    const BubbleTints::Forms& forms = name == ThemeName::kPaper    ? all.paper
                                      : name == ThemeName::kPaddle ? all.paddle
                                                                   : all.colourBlind;
    const std::uint32_t tint = isDark ? forms.dark : forms.light;
    tints[i] = {static_cast<std::uint8_t>(tint >> 16U), static_cast<std::uint8_t>(tint >> 8U),
                static_cast<std::uint8_t>(tint)};
  }
  return tints;
}

/// A theme with what all of one form share, and its tints.
constexpr Theme light(ThemeName name) {
  Theme theme;
  theme.name = name;
  theme.tints = tintsOf(name, false);
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
  theme.tints = tintsOf(name, true);
  theme.paper = {23, 25, 30};
  theme.ink = {233, 236, 241};
  theme.faintInk = {158, 166, 178};
  theme.grid = {48, 52, 60};
  theme.stepLine = {104, 112, 124};
  theme.rowShade = {33, 36, 42};
  theme.jobs = jobColors(name, true);
  return theme;
}

}  // namespace

const Theme& themeOf(ThemeName name, bool isDark) {
  static constexpr std::array<std::array<Theme, 2>, kThemeCount> kThemes{
      {{light(ThemeName::kPaper), dark(ThemeName::kPaper)},
       {light(ThemeName::kPaddle), dark(ThemeName::kPaddle)},
       {light(ThemeName::kColourBlind), dark(ThemeName::kColourBlind)}}};
  return kThemes[static_cast<std::size_t>(name)][isDark ? 1 : 0];
}

}  // namespace pipetrace
