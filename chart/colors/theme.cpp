#include "chart/colors/theme.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace pipetrace {
namespace {

// The colours of all themes. The tests of theme_test.cpp say what they must hold.

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

constexpr Color kBlack{0, 0, 0};
constexpr Color kWhite{255, 255, 255};
constexpr std::array<std::string_view, kThemeCount> kNames = {"paper", "paddle", "colour-blind"};

// Lightness of CIE L*a*b*.
constexpr double kChunkStep = 26;  // between two chunks, where there is room
constexpr double kDarkestShade = 30;
constexpr double kDarkestOnDark = 34;  // a job must not vanish on dark paper
constexpr double kLightestShade = 88;

/// Sets one channel of both colours. The lines are a `share` of 256 of the way from `mean` to
/// `end`. The ground is on the other side, as far as the mean asks for where lines cover `covered`
/// of 256. Where that is too far, lines are fainter.
void hatchChannel(int mean, int end, int share, int covered, std::uint8_t& ground,
                  std::uint8_t& stroke) {
  const int groundShare = 256 - covered;
  const int room = (end == 0 ? 255 - mean : mean) * groundShare / covered;
  const int distance = std::min(std::abs(end - mean) * share / 256, room);
  const int sign = end == 0 ? -1 : 1;
  stroke = static_cast<std::uint8_t>(mean + sign * distance);
  ground = static_cast<std::uint8_t>(mean - sign * (distance * covered / groundShare));
}

/// `color`, mixed with black or white until it is that light.
Color withLightness(Color color, double wanted) {
  const Color towards = wanted < lightness(color) ? kBlack : kWhite;
  int low = 0;  // shares; the lightness changes steadily between them
  int high = 256;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    const double now = lightness(mix(color, towards, middle));
    const bool isBefore = towards == kBlack ? now > wanted : now < wanted;
    (isBefore ? low : high) = middle;
  }
  return mix(color, towards, low);
}

constexpr int kMostChunks = 32;  // later ones have the colour of the last

}  // namespace

const Theme& themeOf(ThemeName name, bool isDark) {
  static constexpr std::array<std::array<Theme, 2>, kThemeCount> kThemes{
      {{light(ThemeName::kPaper), dark(ThemeName::kPaper)},
       {light(ThemeName::kPaddle), dark(ThemeName::kPaddle)},
       {light(ThemeName::kColourBlind), dark(ThemeName::kColourBlind)}}};
  return kThemes[static_cast<std::size_t>(name)][isDark ? 1 : 0];
}

std::string_view nameOf(ThemeName theme) { return kNames[static_cast<std::size_t>(theme)]; }

std::optional<ThemeName> themeNamed(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<ThemeName>(found - kNames.begin());
}

Hatching Theme::hatchingOf(BubbleClass bubbleClass) const {
  const Color tint = tintOf(bubbleClass);
  const int share = rowOf(bubbleClass).stroke;
  const int end = isDark ? 255 : 0;
  Hatching hatching{.ground = {}, .stroke = {}, .pattern = rowOf(bubbleClass).pattern};
  const int covered = strokeShareOf(hatching.pattern);
  hatchChannel(tint.red, end, share, covered, hatching.ground.red, hatching.stroke.red);
  hatchChannel(tint.green, end, share, covered, hatching.ground.green, hatching.stroke.green);
  hatchChannel(tint.blue, end, share, covered, hatching.ground.blue, hatching.stroke.blue);
  return hatching;
}

Color shadeOfChunk(const Theme& theme, Color color, int chunk, int chunks) {
  if (chunks <= 1) return color;
  const double darkest = theme.isDark ? kDarkestOnDark : kDarkestShade;
  const double range = std::min(kChunkStep * (chunks - 1), kLightestShade - darkest);
  // The first chunk has the colour of the kind, unless the others then have too little room.
  const double first = std::clamp(lightness(color), darkest + range, kLightestShade);
  const double wanted = first - range * std::clamp(chunk, 0, chunks - 1) / (chunks - 1);
  return withLightness(color, wanted);
}

Color textColorOn(Color background) {
  // Black, not ink: on some colours neither ink nor white could be read.
  return contrast(background, kBlack) >= contrast(background, kWhite) ? kBlack : kWhite;
}

JobColors::JobColors(const Theme& theme, int chunks)
    : theme_(theme), chunks_(std::clamp(chunks, 1, kMostChunks)) {
  slots_.assign(theme.tints.begin(), theme.tints.end());
  for (int kind = 0; kind < kJobKindCount; ++kind) {
    const Color color = theme.jobs[static_cast<std::size_t>(kind)];
    const bool isShaded = isCompute(static_cast<JobKind>(kind));
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      slots_.push_back(isShaded ? shadeOfChunk(theme, color, chunk, chunks_) : color);
    }
  }
}

}  // namespace pipetrace
