#pragma once

#include "chart/chart_model.h"

namespace pipetrace {

/// The colours of what is drawn over rows.
struct LinkColors {
  Color paper;    ///< under lines, so that they stand out from jobs; of veils and notes
  Color ink;      ///< arrows between jobs, texts
  Color edge;     ///< of notes
  Color culprit;  ///< arrows to culprits
  Color path;     ///< critical paths
};

/// Those that suit the model's paper.
inline LinkColors linkColorsOf(const ChartModel& model) {
  const Theme& theme = model.theme();
  // Red and magenta are stronger than what bubbles have.
  if (theme.isDark)
    return {theme.paper, theme.ink, theme.stepLine, {255, 150, 160}, {255, 96, 176}};
  return {theme.paper, theme.ink, theme.stepLine, {150, 16, 44}, {200, 0, 96}};
}

}  // namespace pipetrace
