#include "chart/draw/draw_chart.h"

namespace pipetrace {
namespace {

constexpr int kSwatchWidth = 18;
constexpr int kSwatchHeight = 12;
constexpr int kSwatchGap = 6;
constexpr int kEntryGap = 18;
constexpr TextStyle kStyle{11, false, {}, TextAlign::kLeft};

/// Calls `place(entry, x, y, textWidth)` for each entry, x and y from the legend's corner; returns
/// the height of all lines.
template <typename Place>
int layOut(const TextMeasure& measure, const std::vector<LegendEntry>& legend, int width,
           Place place) {
  int x = 0;
  int y = 0;
  for (const LegendEntry& entry : legend) {
    const int textWidth = measure(entry.label, kStyle);
    const int entryWidth = (entry.isHeading ? 0 : kSwatchWidth + kSwatchGap) + textWidth;
    if (x > 0 && (entry.isHeading || x + entryWidth > width)) {
      x = 0;
      y += kLegendLineHeight;
    }
    place(entry, x, y, textWidth);
    x += entryWidth + kEntryGap;
  }
  return legend.empty() ? 0 : y + kLegendLineHeight;
}

}  // namespace

void drawLegend(Canvas& canvas, const std::vector<LegendEntry>& legend, const JobColors& colors,
                PixelRect box) {
  const TextStyle style = kStyle.in(colors.theme().ink);
  layOut(canvas.measure(), legend, box.width,
         [&](const LegendEntry& entry, int x, int y, int textWidth) {
           if (entry.isHeading) {
             canvas.text({box.x + x, box.y + y, textWidth, kLegendLineHeight}, entry.label, style);
             return;
           }
           const PixelRect swatch{box.x + x, box.y + y + (kLegendLineHeight - kSwatchHeight) / 2,
                                  kSwatchWidth, kSwatchHeight};
           if (entry.kind == JobKind::kBubble) {
             canvas.hatch(swatch, colors.theme().hatchingOf(entry.bubbleClass));
           } else {
             canvas.fill(swatch, colors.of({.chunk = static_cast<std::int16_t>(entry.chunk),
                                            .kind = entry.kind}));
           }
           canvas.text({swatch.right() + kSwatchGap, box.y + y, textWidth, kLegendLineHeight},
                       entry.label, style);
         });
}

int legendHeight(const TextMeasure& measure, const std::vector<LegendEntry>& legend, int width) {
  return layOut(measure, legend, width, [](const LegendEntry&, int, int, int) {});
}

}  // namespace pipetrace
