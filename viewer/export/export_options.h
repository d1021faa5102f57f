#pragma once

#include <memory>
#include <optional>
#include <string>

#include "analysis/explain/explanation.h"
#include "chart/colors/theme.h"
#include "chart/rows/row_state.h"
#include "chart/steps/notable_steps.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The part to export, and the form of the picture.
struct ExportOptions {
  std::string path;                 ///< ends in .png, .pdf or .svg
  std::optional<int> width;         ///< pixels
  std::optional<int> height;        ///< pixels; not given: as high as the rows need
  std::optional<StepChoice> steps;  ///< not given: a few, so that the micro-batches are legible
  bool isAll = false;               ///< the whole run
  RowState rows = {};               ///< which rows, and their order
  std::optional<Timeline::Span> time = {};  ///< this stretch of time, instead of steps
  double scale = 1;                         ///< a PNG has that many pixels in a pixel of the size
  bool showsClasses = true;                 ///< as PictureOptions::showsClasses
  bool showsCriticalPath = false;           ///< outlines of the jobs on it
  /// That of the profile. Critical paths need one: without it, they make it.
  std::shared_ptr<const Explanation> explanation = {};
  ThemeName theme = ThemeName::kPaper;
  bool isDark = false;
};

inline constexpr double kLeastScale = 0.25;
inline constexpr double kMostScale = 8;

}  // namespace pipetrace
