#pragma once

#include <string>

#include "analysis/causes/explanation.h"

namespace pipetrace {

/// The steps of a run, for the script of a page: their lengths as bars. Below them, the bubble
/// ratio of each rank in each step is a colour.
struct StepsChart {
  std::string json;   ///< one JSON object that may stand in a <script> element
  std::string scale;  ///< what the colours mean, as HTML
  std::string note;   ///< which steps or ranks share a column or a line; empty: none do. A sentence
};

/// Draws all steps, also those that do not count. Where there are many, several in a row share a
/// column, and the ranks that follow each other a line: the lengths and ratios are then means. The
/// run must have steps. The colours and the heights of bars have one scale with `beside`, a run of
/// another chart, if that is not null.
StepsChart stepsChart(const Explanation& run, const Explanation* beside = nullptr);

}  // namespace pipetrace
