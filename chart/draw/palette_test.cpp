#include "chart/draw/palette.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "chart/draw/legend.h"
#include "chart/testing/timelines.h"

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

TEST(PaletteTest, ForwardIsBlueAndBackwardIsGreen) {
  const Color forward = jobColor(jobOf(JobKind::kForward));
  EXPECT_GT(forward.blue, forward.red);
  EXPECT_GT(forward.blue, forward.green);
  for (const JobKind kind : {JobKind::kBackward, JobKind::kBackwardWeight}) {
    const Color color = jobColor(jobOf(kind));
    EXPECT_GT(color.green, color.red);
    EXPECT_GT(color.green, color.blue);
  }
}

TEST(PaletteTest, LaterChunksAreDarker) {
  for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
    double last = 0;
    for (int chunk = 0; chunk < 4; ++chunk) {
      const double withPaper = contrast(jobColor(jobOf(kind, chunk)), palette::kPaper);
      EXPECT_GT(withPaper, last);
      last = withPaper;
    }
  }
}

TEST(PaletteTest, TextIsLegibleOnEveryColour) {
  for (int kind = 0; kind < kJobKindCount; ++kind) {
    for (int chunk = 0; chunk < 8; ++chunk) {
      const Color color = jobColor(jobOf(static_cast<JobKind>(kind), chunk));
      EXPECT_GE(contrast(textColorOn(color), color), 4.5)  // WCAG AA
          << logName(static_cast<JobKind>(kind)) << " " << toHex(color);
    }
  }
}

TEST(PaletteTest, TheKindsOfAScheduleDifferForTheColourBlind) {
  const std::array<JobKind, 6> kinds = {JobKind::kForward,         JobKind::kBackward,
                                        JobKind::kBackwardInput,   JobKind::kBackwardWeight,
                                        JobKind::kForwardBackward, JobKind::kOptimizer};
  for (const auto& sight : {kNormal, kProtanopia, kDeuteranopia}) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      EXPECT_GT(distance(jobColor(jobOf(kinds[i])), palette::kBubble, sight), 15);
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_GT(distance(jobColor(jobOf(kinds[i])), jobColor(jobOf(kinds[j])), sight), 15)
            << logName(kinds[i]) << " and " << logName(kinds[j]);
      }
    }
  }
}

Event bubbleOf(BubbleClass bubbleClass) {
  Event event = jobOf(JobKind::kBubble);
  event.bubbleClass = bubbleClass;
  return event;
}

constexpr std::array<BubbleClass, 8> kTinted = {
    BubbleClass::kWarmUp, BubbleClass::kSteady,   BubbleClass::kDrain,    BubbleClass::kSync,
    BubbleClass::kLaunch, BubbleClass::kTransfer, BubbleClass::kPeerWait, BubbleClass::kImbalance};

TEST(PaletteTest, ClassesOfBubblesDifferFromEachOtherAndFromJobsForTheColourBlind) {
  for (const auto& sight : {kNormal, kProtanopia, kDeuteranopia}) {
    for (const BubbleClass tinted : kTinted) {
      const Color tint = jobColor(bubbleOf(tinted));
      for (const BubbleClass other : kTinted) {
        if (other == tinted) continue;
        EXPECT_GT(distance(tint, bubbleColor(other), sight), 12)
            << bubbleClassName(tinted) << " and " << bubbleClassName(other);
      }
      for (const JobKind kind :
           {JobKind::kForward, JobKind::kBackward, JobKind::kBackwardInput,
            JobKind::kBackwardWeight, JobKind::kForwardBackward, JobKind::kOptimizer}) {
        EXPECT_GT(distance(tint, jobColor(jobOf(kind)), sight), 12)
            << bubbleClassName(tinted) << " and " << logName(kind);
      }
      EXPECT_GT(distance(tint, palette::kRowShade, sight), 6) << bubbleClassName(tinted);
      EXPECT_GE(contrast(textColorOn(tint), tint), 4.5) << bubbleClassName(tinted);
    }
  }
}

TEST(PaletteTest, TheSchedulesOwnBubblesAreCalmerThanFaults) {
  const auto chroma = [](BubbleClass bubbleClass) {
    const Color c = bubbleColor(bubbleClass);
    const Triple lab = toLab({toLinear(c.red), toLinear(c.green), toLinear(c.blue)});
    return std::hypot(lab[1], lab[2]);
  };
  for (const BubbleClass own : {BubbleClass::kWarmUp, BubbleClass::kSteady, BubbleClass::kDrain}) {
    for (const BubbleClass fault : {BubbleClass::kLaunch, BubbleClass::kTransfer,
                                    BubbleClass::kPeerWait, BubbleClass::kImbalance}) {
      EXPECT_LT(chroma(own) + 10, chroma(fault))
          << bubbleClassName(own) << " and " << bubbleClassName(fault);
    }
  }
}

TEST(ColorTest, ContrastEqualsThatOfWcag) {
  EXPECT_NEAR(contrast({0, 0, 0}, {255, 255, 255}), 21.0, 1e-9);
  EXPECT_NEAR(contrast({119, 119, 119}, {255, 255, 255}), 4.48, 0.005);  // #777 on white
  EXPECT_EQ(toHex({1, 171, 255}), "#01abff");
  EXPECT_EQ(mix({0, 10, 20}, {100, 110, 120}, 128), (Color{50, 60, 70}));
}

TEST(LegendTest, NamesEachKindThatOccursOnce) {
  const Timeline timeline = makeTestTimeline({});
  std::vector<std::string> labels;
  for (const LegendEntry& entry : legendOf(timeline)) labels.push_back(entry.label);
  EXPECT_EQ(labels,
            (std::vector<std::string>{"lr", "forward", "backward", "optimizer", "send forward",
                                      "recv forward", "send backward", "recv backward", "bubble"}));
}

TEST(LegendTest, NamesEachClassOfBubblesThatOccurs) {
  Timeline timeline;
  for (const BubbleClass bubbleClass : {BubbleClass::kUnknown, BubbleClass::kPeerWait,
                                        BubbleClass::kWarmUp, BubbleClass::kPeerWait}) {
    timeline.track(0, kBubbleLane).events.push_back(bubbleOf(bubbleClass));
  }
  const auto legend = legendOf(timeline);
  std::vector<std::string> labels;
  for (const LegendEntry& entry : legend) labels.push_back(entry.label);
  ASSERT_EQ(labels, (std::vector<std::string>{"bubbles:", "warm up", "peer wait", "unknown"}));
  EXPECT_TRUE(legend[0].isHeading);
  EXPECT_EQ(legend[1].color, bubbleColor(BubbleClass::kWarmUp));
  EXPECT_EQ(legend[2].color, bubbleColor(BubbleClass::kPeerWait));
  EXPECT_FALSE(legend[2].isHatched);
  EXPECT_TRUE(legend[3].isHatched);
}

TEST(LegendTest, ShowsTheFirstAndTheLastChunkOfInterleavedRuns) {
  Timeline timeline;
  for (int chunk = 0; chunk < 3; ++chunk) {
    timeline.track(0, kComputeLane).events.push_back(jobOf(JobKind::kForward, chunk));
  }
  const auto legend = legendOf(timeline);
  ASSERT_EQ(legend.size(), 2U);
  EXPECT_EQ(legend[0].label, "forward");
  EXPECT_EQ(legend[1].label, "forward, chunk 2");
  EXPECT_NE(legend[0].color, legend[1].color);
}

}  // namespace
}  // namespace pipetrace
