#include "chart/links/link_colors.h"

namespace pipetrace {

LinkColors linkColorsOf(const ChartModel& model) {
  const Theme& theme = model.theme();
  // Red and magenta are stronger than what bubbles have.
  if (theme.isDark)
    return {theme.paper, theme.ink, theme.stepLine, {255, 150, 160}, {255, 96, 176}};
  return {theme.paper, theme.ink, theme.stepLine, {150, 16, 44}, {200, 0, 96}};
}

}  // namespace pipetrace
