#include "chart/links/link_colors.h"

#include "chart/draw/palette.h"

namespace pipetrace {
namespace {

/// Red and magenta are stronger than what bubbles have.
LinkColors linkColorsOn(Color paper, Color ink, Color edge) {
  const bool isDark = contrast(paper, {255, 255, 255}) > contrast(paper, {0, 0, 0});
  if (isDark) return {paper, ink, edge, {255, 150, 160}, {255, 96, 176}};
  return {paper, ink, edge, {150, 16, 44}, {200, 0, 96}};
}

}  // namespace

LinkColors linkColorsOf(const ChartModel& /*model*/) {
  return linkColorsOn(palette::kPaper, palette::kInk, palette::kStepLine);
}

}  // namespace pipetrace
