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
LinkColors linkColorsOf(const ChartModel& model);

}  // namespace pipetrace
