#include "chart/colors/theme.h"

#include <algorithm>
#include <cstdlib>

namespace pipetrace {
namespace {

constexpr Color kBlack{0, 0, 0};
constexpr Color kWhite{255, 255, 255};
constexpr std::array<std::string_view, kThemeCount> kNames = {"paper", "paddle", "colour-blind"};

// Lightness of CIE L*a*b*.
constexpr double kChunkStep = 26;  // between two chunks, where there is room
constexpr double kDarkestShade = 30;
constexpr double kDarkestOnDark = 34;  // a job must not vanish on dark paper
constexpr double kLightestShade = 88;

/// Sets one channel of both colours. The lines are a `share` of 256 of the way from `mean` to
/// `end`. The ground is on the other side, as far as the mean asks for. Where that is too far,
/// lines are fainter.
void hatchChannel(int mean, int end, int share, std::uint8_t& ground, std::uint8_t& stroke) {
  constexpr int kGroundShare = 256 - kStrokeShare;
  const int room = (end == 0 ? 255 - mean : mean) * kGroundShare / kStrokeShare;
  const int distance = std::min(std::abs(end - mean) * share / 256, room);
  const int sign = end == 0 ? -1 : 1;
  stroke = static_cast<std::uint8_t>(mean + sign * distance);
  ground = static_cast<std::uint8_t>(mean - sign * (distance * kStrokeShare / kGroundShare));
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

}  // namespace

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
  Hatching hatching;
  hatchChannel(tint.red, end, share, hatching.ground.red, hatching.stroke.red);
  hatchChannel(tint.green, end, share, hatching.ground.green, hatching.stroke.green);
  hatchChannel(tint.blue, end, share, hatching.ground.blue, hatching.stroke.blue);
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

}  // namespace pipetrace
