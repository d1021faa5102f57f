#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "chart/draw/chart_picture.h"
#include "chart/draw/svg_canvas.h"
#include "chart/links/draw_path.h"
#include "chart/testing/timelines.h"
#include "chart/testing/xml_check.h"

// The contrast of all texts of pictures to what is under them, in all themes.
namespace pipetrace {
namespace {

constexpr double kLeast = 4.5;  // WCAG AA

std::optional<Color> colorIn(const std::string& text) {
  unsigned red = 0;
  unsigned green = 0;
  unsigned blue = 0;
  if (std::sscanf(text.c_str(), "#%2x%2x%2x", &red, &green, &blue) != 3) return std::nullopt;
  return Color{static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(green),
               static_cast<std::uint8_t>(blue)};
}

double numberIn(const XmlElement& element, const char* attribute) {
  const std::string text = element.attribute(attribute);
  return text.empty() ? 0 : std::stod(text);
}

/// A rectangle as it was painted.
struct Painted {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  Color color;
  int opacity = 256;  // of 256

  explicit Painted(const XmlElement& rect)
      : left(numberIn(rect, "x")),
        top(numberIn(rect, "y")),
        right(left + numberIn(rect, "width")),
        bottom(top + numberIn(rect, "height")),
        color(colorIn(rect.attribute("fill")).value_or(Color{})) {
    const std::string text = rect.attribute("fill-opacity");
    if (!text.empty()) opacity = static_cast<int>(256 * std::stod(text));
  }
};

Color paintedAt(const std::vector<Painted>& painted, double x, double y) {
  Color ground{255, 255, 255};
  for (const Painted& rect : painted) {
    const bool covers = rect.left <= x && x < rect.right && rect.top <= y && y < rect.bottom;
    if (covers) ground = mix(ground, rect.color, rect.opacity);
  }
  return ground;
}

/// The texts of a picture. Of several that are drawn over each other at one place, the last.
std::vector<const XmlElement*> topmostTexts(const std::vector<XmlElement>& elements) {
  std::map<std::pair<std::string, std::string>, const XmlElement*> texts;
  for (const XmlElement& e : elements) {
    if (e.name == "text") texts[{e.attribute("x"), e.attribute("y")}] = &e;
  }
  std::vector<const XmlElement*> last;
  for (const auto& [place, text] : texts) last.push_back(text);
  return last;
}

/// A run of two chunks in which every class of idle time and a slow step occur, and kinds of jobs
/// beside those of a schedule.
Timeline manyColours() {
  Timeline timeline = makeTestTimeline({.ranks = 3, .microBatches = 4, .steps = 3});
  Nanoseconds last = kNsMax;  // when the last step begins, which is slow
  for (const Event& event : timeline.findTrack(0, kComputeLane)->events) {
    if (event.step == 2) last = std::min(last, event.begin);
  }
  const auto later = [last](Nanoseconds time) {
    return time < last ? time : last + (time - last) * 4 / 3;
  };
  int next = 0;
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      event.begin = later(event.begin);
      event.end = later(event.end);
      if (event.kind == JobKind::kBubble) {
        event.bubbleClass = static_cast<BubbleClass>(1 + next++ % (kBubbleClassCount - 1));
      } else if (isCompute(event.kind)) {
        event.chunk = static_cast<std::int16_t>(event.microBatch % 2);
        if (event.microBatch == 3 && track.rank == 1) event.kind = JobKind::kRecompute;
        if (event.microBatch == 3 && track.rank == 2) event.kind = JobKind::kBackwardWeight;
        if (event.microBatch == 2 && track.rank == 2) event.kind = JobKind::kBackwardInput;
      }
    }
  }
  timeline.sort();
  return timeline;
}

TEST(TextContrastTest, EveryTextOfAPictureCanBeReadInAllThemes) {
  const Timeline timeline = manyColours();
  for (int name = 0; name < kThemeCount; ++name) {
    for (const bool isDark : {false, true}) {
      const Theme& theme = themeOf(static_cast<ThemeName>(name), isDark);
      const ChartModel model(timeline, theme);
      for (const Nanoseconds slack : {0, 3, 40, 400}) {
        PictureOptions options{.width = 6000, .caption = "a caption"};
        options.overRows = [slack](Canvas& canvas, const ChartView& view) {
          drawSlack(canvas, view, [slack](std::size_t, const Event&) { return slack * kNsPerMs; });
        };
        SvgCanvas canvas(6000, 1000, "");
        ChartPicture(model, options).draw(canvas);
        const std::vector<XmlElement> elements = parseXml(canvas.finish());
        std::vector<Painted> painted;
        for (const XmlElement& e : elements) {
          if (e.name == "rect") painted.emplace_back(e);
        }
        int texts = 0;
        for (const XmlElement* text : topmostTexts(elements)) {
          const auto ink = colorIn(text->attribute("fill"));
          if (!ink) continue;
          ++texts;
          const double inside = text->attribute("text-anchor") == "end" ? -2 : 2;
          const Color ground =
              paintedAt(painted, numberIn(*text, "x") + inside,
                        numberIn(*text, "y") - 0.36 * numberIn(*text, "font-size"));
          EXPECT_GE(contrast(*ink, ground), kLeast)
              << nameOf(theme.name) << (isDark ? ", dark: " : ": ") << text->text << ", "
              << toHex(*ink) << " on " << toHex(ground) << ", slack of " << slack << " ms";
        }
        EXPECT_GT(texts, 80);
      }
    }
  }
}

}  // namespace
}  // namespace pipetrace
