#pragma once

#include <optional>
#include <string>

#include "chart/steps/step_choice.h"

namespace pipetrace {

/// The part to export, and the size of the picture.
struct ExportOptions {
  std::string path;                 ///< ends in .png or .svg
  std::optional<int> width;         ///< pixels
  std::optional<int> height;        ///< pixels; not given: as high as the rows need
  std::optional<StepChoice> steps;  ///< not given: a few, so that the micro-batches are legible
  bool isAll = false;               ///< the whole run
};

}  // namespace pipetrace
