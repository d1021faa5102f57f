#include <gtest/gtest.h>

#include "chart/chart_model.h"
#include "chart/testing/paper_colors.h"
#include "chart/testing/timelines.h"

namespace pipetrace {
namespace {

/// Whether all lanes have the same loads in `parts` equal parts of the run.
void expectEqualLoads(const ChartModel& a, const ChartModel& b, int parts) {
  ASSERT_EQ(a.rows().size(), b.rows().size());
  const Nanoseconds length = (a.span().end - a.span().begin) / parts;
  for (std::size_t row = 0; row < a.rows().size(); ++row) {
    const auto compare = [&](const LaneIndex& first, const LaneIndex& second) {
      for (int i = 0; i < parts; ++i) {
        const Nanoseconds begin = a.span().begin + i * length;
        const LaneLoad one = first.load(begin, begin + length);
        const LaneLoad other = second.load(begin, begin + length);
        ASSERT_EQ(one.busy, other.busy);
        ASSERT_EQ(one.color, other.color) << toHex(one.color) << " " << toHex(other.color);
      }
    };
    compare(a.rows()[row].lanes[0], b.rows()[row].lanes[0]);
    for (std::size_t i = 0; i < a.rows()[row].bubbles.size(); ++i) {
      compare(a.rows()[row].bubbles[i], b.rows()[row].bubbles[i]);
    }
  }
}

TEST(ChartColorsTest, AModelInAnotherThemeEqualsOneThatWasBuiltWithIt) {
  const Timeline timeline = makeTestTimeline({.steps = 40});
  ChartModel model(timeline);
  EXPECT_TRUE(model.theme() == kPaperTheme);
  for (const ThemeName name : {ThemeName::kColourBlind, ThemeName::kPaddle, ThemeName::kPaper}) {
    for (const bool isDark : {true, false}) {
      model.setTheme(themeOf(name, isDark));
      const ChartModel built(timeline, themeOf(name, isDark));
      EXPECT_TRUE(model.theme() == built.theme());
      expectEqualLoads(model, built, 37);
    }
  }
}

TEST(ChartColorsTest, ARunWithChunksHasShadesInEveryTheme) {
  Timeline timeline;
  for (int chunk = 0; chunk < 4; ++chunk) {
    timeline.track(0, kComputeLane)
        .events.push_back({.begin = chunk * 10,
                           .end = chunk * 10 + 10,
                           .chunk = static_cast<std::int16_t>(chunk),
                           .kind = JobKind::kForward});
  }
  ChartModel model(timeline);
  for (const ThemeName name : {ThemeName::kPaper, ThemeName::kPaddle}) {
    model.setTheme(themeOf(name));
    EXPECT_EQ(model.colors().chunks(), 4);
    const LaneIndex& lane = model.rows()[0].lanes[0];
    for (int chunk = 1; chunk < 4; ++chunk) {
      EXPECT_GT(lightness(lane.load(chunk * 10 - 10, chunk * 10).color),
                lightness(lane.load(chunk * 10, chunk * 10 + 10).color) + 10);
    }
  }
}

TEST(ChartColorsTest, AMovedModelKeepsItsColours) {
  const Timeline timeline = makeTestTimeline({.steps = 3});
  ChartModel model(timeline);
  ChartModel moved(std::move(model));
  moved.setTheme(themeOf(ThemeName::kPaddle));
  expectEqualLoads(moved, ChartModel(timeline, themeOf(ThemeName::kPaddle)), 5);
}

}  // namespace
}  // namespace pipetrace
