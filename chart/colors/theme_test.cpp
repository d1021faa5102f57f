#include "chart/colors/theme.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "chart/colors/heat_color.h"

namespace pipetrace {
namespace {

Event jobOf(JobKind kind, int chunk = 0) {
  Event event;
  event.kind = kind;
  event.chunk = static_cast<std::int16_t>(chunk);
  return event;
}

using Triple = std::array<double, 3>;

double toLinear(int c) {
  const double v = c / 255.0;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

Triple times(const std::array<Triple, 3>& m, const Triple& v) {
  Triple out{};
  for (std::size_t i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return out;
}

/// CIE L*a*b* under D65 of a linear sRGB colour.
Triple toLab(const Triple& rgb) {
  const Triple xyz =
      times({{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}}, rgb);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f(xyz[0] / 0.95047);
  const double y = f(xyz[1]);
  const double z = f(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double distance(Color a, Color b, const std::array<Triple, 3>& sight) {
  const auto seen = [&](Color c) {
    return toLab(times(sight, {toLinear(c.red), toLinear(c.green), toLinear(c.blue)}));
  };
  const Triple la = seen(a);
  const Triple lb = seen(b);
  return std::hypot(la[0] - lb[0], la[1] - lb[1], la[2] - lb[2]);
}

// Machado, Oliveira and Fernandes 2009, severity 1.0.
constexpr std::array<Triple, 3> kNormal{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr std::array<Triple, 3> kProtanopia{{{0.152286, 1.052583, -0.204868},
                                             {0.114503, 0.786281, 0.099216},
                                             {-0.003882, -0.048116, 1.051998}}};
constexpr std::array<Triple, 3> kDeuteranopia{{{0.367322, 0.860646, -0.227968},
                                               {0.280085, 0.672501, 0.047413},
                                               {-0.011820, 0.042940, 0.968881}}};
constexpr std::array<Triple, 3> kTritanopia{{{1.255528, -0.076749, -0.178779},
                                             {-0.078411, 0.930809, 0.147602},
                                             {0.004733, 0.691367, 0.303900}}};

Triple labOf(Color c) { return toLab({toLinear(c.red), toLinear(c.green), toLinear(c.blue)}); }

std::vector<Theme> allThemes() {
  std::vector<Theme> themes;
  for (int i = 0; i < kThemeCount; ++i) {
    for (const bool isDark : {false, true}) {
      themes.push_back(themeOf(static_cast<ThemeName>(i), isDark));
    }
  }
  return themes;
}

std::string named(const Theme& theme) {
  return std::string(nameOf(theme.name)) + (theme.isDark ? ", dark: " : ", light: ");
}

TEST(ThemeTest, EveryNameIsReadAgain) {
  for (const Theme& theme : allThemes()) EXPECT_EQ(themeNamed(nameOf(theme.name)), theme.name);
  EXPECT_FALSE(themeNamed("Paper"));
}

TEST(ThemeTest, ForwardIsBlueAndBackwardIsGreenOnPaper) {
  for (const bool isDark : {false, true}) {
    const JobColors colors(themeOf(ThemeName::kPaper, isDark));
    const Color forward = colors.of(jobOf(JobKind::kForward));
    EXPECT_GT(forward.blue, forward.red);
    EXPECT_GT(forward.blue, forward.green);
    for (const JobKind kind : {JobKind::kBackward, JobKind::kBackwardWeight}) {
      const Color color = colors.of(jobOf(kind));
      EXPECT_GT(color.green, color.red);
      EXPECT_GT(color.green, color.blue);
    }
  }
}

TEST(ThemeTest, PaddleHasCatapultsColoursOfPaddlePaddlesKinds) {
  for (const bool isDark : {false, true}) {
    const JobColors colors(themeOf(ThemeName::kPaddle, isDark));
    EXPECT_EQ(colors.of(jobOf(JobKind::kForward)), (Color{126, 200, 148}));
    EXPECT_EQ(colors.of(jobOf(JobKind::kBackward)), (Color{238, 142, 0}));
    EXPECT_EQ(colors.of(jobOf(JobKind::kOptimizer)), (Color{67, 135, 253}));
    EXPECT_EQ(colors.of(jobOf(JobKind::kDefault)), (Color{199, 155, 125}));
  }
}

constexpr std::array<JobKind, 5> kShaded = {JobKind::kForward, JobKind::kBackward,
                                            JobKind::kBackwardInput, JobKind::kBackwardWeight,
                                            JobKind::kForwardBackward};

TEST(ThemeTest, NeighbouringChunksDifferClearlyAndLaterOnesAreDarker) {
  // The least distance in CIE L*a*b* between neighbours.
  const std::vector<std::pair<int, double>> cases = {{2, 24}, {3, 22}, {4, 16}, {8, 7}};
  for (const Theme& theme : allThemes()) {
    for (const auto& [chunks, least] : cases) {
      const JobColors colors(theme, chunks);
      for (const JobKind kind : kShaded) {
        for (int chunk = 1; chunk < chunks; ++chunk) {
          const Color before = colors.of(jobOf(kind, chunk - 1));
          const Color color = colors.of(jobOf(kind, chunk));
          EXPECT_GE(distance(before, color, kNormal), least)
              << named(theme) << logName(kind) << ", chunk " << chunk << " of " << chunks;
          EXPECT_LT(labOf(color)[0], labOf(before)[0]);
        }
      }
    }
  }
}

TEST(ThemeTest, ARunWithoutChunksHasTheColourOfTheKind) {
  for (const Theme& theme : allThemes()) {
    EXPECT_EQ(JobColors(theme).of(jobOf(JobKind::kForward)),
              theme.jobs[static_cast<std::size_t>(JobKind::kForward)]);
    EXPECT_EQ(JobColors(theme, 4).of(jobOf(JobKind::kSendForward, 3)),
              theme.jobs[static_cast<std::size_t>(JobKind::kSendForward)]);
  }
}

TEST(ThemeTest, ChunksBeyondTheLastHaveItsColour) {
  const JobColors colors(themeOf(ThemeName::kPaper), 2);
  EXPECT_EQ(colors.of(jobOf(JobKind::kForward, 1)), colors.of(jobOf(JobKind::kForward, 30'000)));
  EXPECT_EQ(colors.of(jobOf(JobKind::kForward, kNotGiven)), colors.of(jobOf(JobKind::kForward, 0)));
}

TEST(ThemeTest, TextIsLegibleOnEveryColour) {
  for (const Theme& theme : allThemes()) {
    for (const int chunks : {1, 2, 3, 4, 8}) {
      const JobColors colors(theme, chunks);
      for (int kind = 0; kind < kJobKindCount; ++kind) {
        for (int chunk = 0; chunk < chunks; ++chunk) {
          const Color color = colors.of(jobOf(static_cast<JobKind>(kind), chunk));
          EXPECT_GE(contrast(textColorOn(color), color), 4.5)  // WCAG AA
              << named(theme) << logName(static_cast<JobKind>(kind)) << " " << toHex(color);
        }
      }
    }
    for (int i = 0; i < kBubbleClassCount; ++i) {
      const Color ground = theme.hatchingOf(static_cast<BubbleClass>(i)).ground;
      EXPECT_GE(contrast(textColorOn(ground), ground), 4.5) << named(theme) << i;
    }
    for (int i = 0; i <= 100; ++i) {
      const Color cell = heatColor(theme, i / 100.0);
      EXPECT_GE(contrast(textColorOn(cell), cell), 4.5) << named(theme) << i;
    }
    EXPECT_GE(contrast(theme.ink, theme.paper), 10) << named(theme);
    EXPECT_GE(contrast(theme.faintInk, theme.paper), 4.5) << named(theme);
  }
}

TEST(ThemeTest, EveryKindOfJobHasAColourThatIsSeenOnItsRow) {
  for (const Theme& theme : allThemes()) {
    for (int i = 0; i < kJobKindCount; ++i) {
      const auto kind = static_cast<JobKind>(i);
      if (kind == JobKind::kBubble) continue;
      const Color color = theme.jobs[static_cast<std::size_t>(i)];
      EXPECT_NE(color, Color()) << named(theme) << logName(kind) << " has none, and is black";
      EXPECT_GT(distance(color, theme.rowShade, kNormal), 8) << named(theme) << logName(kind);
    }
  }
}

TEST(ThemeTest, AllKindsOfTheComputeLaneDifferInTheColourBlindTheme) {
  for (const bool isDark : {false, true}) {
    const Theme& theme = themeOf(ThemeName::kColourBlind, isDark);
    for (const auto& sight : {kNormal, kProtanopia, kDeuteranopia, kTritanopia}) {
      for (const JobKindRow& a : kJobKinds) {
        for (const JobKindRow& b : kJobKinds) {
          if (a.kind >= b.kind || !isComputeLane(a.kind) || !isComputeLane(b.kind)) continue;
          const auto colorOf = [&](const JobKindRow& row) {
            return theme.jobs[static_cast<std::size_t>(row.kind)];
          };
          EXPECT_GT(distance(colorOf(a), colorOf(b), sight), 7)
              << named(theme) << a.name << " and " << b.name;
        }
      }
    }
  }
}

constexpr std::array<JobKind, 6> kOfSchedules = {
    JobKind::kForward,        JobKind::kBackward,        JobKind::kBackwardInput,
    JobKind::kBackwardWeight, JobKind::kForwardBackward, JobKind::kOptimizer};

TEST(ThemeTest, TheKindsOfAScheduleDifferForTheColourBlind) {
  for (const Theme& theme : allThemes()) {
    const JobColors colors(theme);
    std::vector<std::array<Triple, 3>> sights = {kNormal, kProtanopia, kDeuteranopia};
    if (theme.name == ThemeName::kColourBlind) sights.push_back(kTritanopia);
    for (const auto& sight : sights) {
      for (std::size_t i = 0; i < kOfSchedules.size(); ++i) {
        const Color color = colors.of(jobOf(kOfSchedules[i]));
        EXPECT_GT(distance(color, theme.rowShade, sight), 15) << named(theme) << i;
        for (std::size_t j = 0; j < i; ++j) {
          EXPECT_GT(distance(color, colors.of(jobOf(kOfSchedules[j])), sight), 15)
              << named(theme) << logName(kOfSchedules[i]) << " and " << logName(kOfSchedules[j]);
        }
      }
    }
  }
}

Event bubbleOf(BubbleClass bubbleClass) {
  Event event = jobOf(JobKind::kBubble);
  event.bubbleClass = bubbleClass;
  return event;
}

/// The classes whose tints must differ.
std::vector<BubbleClass> tintedClasses() {
  std::vector<BubbleClass> classes;
  for (const BubbleClassRow& row : kBubbleClasses) {
    if (row.of != BubbleClass::kNone) classes.push_back(row.of);
  }
  return classes;
}

TEST(ThemeTest, ClassesOfBubblesDifferFromEachOtherAndFromJobsForTheColourBlind) {
  for (const Theme& theme : allThemes()) {
    const JobColors colors(theme);
    for (const auto& sight : {kNormal, kProtanopia, kDeuteranopia, kTritanopia}) {
      for (const BubbleClass tinted : tintedClasses()) {
        const Color tint = colors.of(bubbleOf(tinted));
        for (const BubbleClass other : tintedClasses()) {
          if (other == tinted) continue;
          EXPECT_GT(distance(tint, theme.tintOf(other), sight), 12)
              << named(theme) << bubbleClassName(tinted) << " and " << bubbleClassName(other);
        }
        for (const JobKind kind : kOfSchedules) {
          EXPECT_GT(distance(tint, colors.of(jobOf(kind)), sight), 12)
              << named(theme) << bubbleClassName(tinted) << " and " << logName(kind);
        }
        EXPECT_GT(distance(tint, theme.rowShade, sight), 6)
            << named(theme) << bubbleClassName(tinted);
      }
    }
  }
}

TEST(ThemeTest, TheMeanOfAHatchingIsItsTint) {
  for (const Theme& theme : allThemes()) {
    for (const BubbleClass tinted : tintedClasses()) {
      const Hatching hatching = theme.hatchingOf(tinted);
      const Color mean = mix(hatching.ground, hatching.stroke, strokeShareOf(hatching.pattern));
      EXPECT_LT(distance(mean, theme.tintOf(tinted), kNormal), 2)
          << named(theme) << bubbleClassName(tinted);
      EXPECT_GT(distance(hatching.ground, hatching.stroke, kNormal), 8)
          << named(theme) << bubbleClassName(tinted) << ": the lines can be seen";
    }
  }
}

TEST(ThemeTest, TheSchedulesOwnBubblesAreCalmerThanFaults) {
  for (const Theme& theme : allThemes()) {
    const auto chroma = [&](BubbleClass bubbleClass) {
      const Triple lab = labOf(theme.tintOf(bubbleClass));
      return std::hypot(lab[1], lab[2]);
    };
    for (const BubbleClassRow& own : kBubbleClasses) {
      for (const BubbleClassRow& fault : kBubbleClasses) {
        if (!isOfSchedule(own.of) || fault.blame == BubbleBlame::kNobody) continue;
        EXPECT_LT(chroma(own.of) + 10, chroma(fault.of))
            << named(theme) << own.name << " and " << fault.name;
      }
    }
  }
}

TEST(ColorTest, ContrastEqualsThatOfWcag) {
  EXPECT_NEAR(contrast({0, 0, 0}, {255, 255, 255}), 21.0, 1e-9);
  EXPECT_NEAR(contrast({119, 119, 119}, {255, 255, 255}), 4.48, 0.005);  // #777 on white
  EXPECT_EQ(toHex({1, 171, 255}), "#01abff");
  EXPECT_EQ(mix({0, 10, 20}, {100, 110, 120}, 128), (Color{50, 60, 70}));
}

TEST(ColorTest, LightnessEqualsThatOfCie) {
  EXPECT_NEAR(lightness({0, 0, 0}), 0, 1e-9);
  EXPECT_NEAR(lightness({255, 255, 255}), 100, 1e-9);
  EXPECT_NEAR(lightness({119, 119, 119}), 50.03, 0.01);
  EXPECT_NEAR(lightness({255, 0, 0}), 53.24, 0.01);
}

}  // namespace
}  // namespace pipetrace
