#pragma once

#include <QImage>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/causes/explanation.h"
#include "chart/colors/theme.h"
#include "chart/draw/chart_picture.h"
#include "chart/draw/draw_chart.h"
#include "chart/marks/draw_marks.h"
#include "chart/rows/row_state.h"
#include "chart/steps/step_span.h"
#include "trace/files/output_set.h"
#include "trace/timeline.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// A run that is drawn under the first one.
struct SecondRun {
  std::shared_ptr<const LoadedProfile> profile;  ///< null: there is none
  std::string answer;  ///< what is said of both, on top of the picture; may be empty
  /// Of a stretch of time: how much later that of the second run is.
  std::optional<Nanoseconds> later = {};
};

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
  /// Drawn over the rows; a picture with a column for each step has none.
  std::vector<ChartMark> marks{};
  SecondRun second = {};
  ThemeName theme = ThemeName::kPaper;
  bool isDark = false;
};

inline constexpr double kLeastScale = 0.25;
inline constexpr double kMostScale = 8;

/// The kinds of picture files, by the ending of their names in small letters.
inline constexpr const char* kPictureEndings = ".png, .pdf or .svg";

/// The ending of a file's name in small letters, such as ".pdf".
std::string pictureEnding(const std::string& path);

/// Throws Error unless `path` ends as a picture does.
void checkExportName(const std::string& path);

/// Draws the picture with `scale` pixels for each of its own. Needs a QGuiApplication. Throws Error
/// when there is not enough memory.
QImage imageOf(const Drawing& drawing, double scale);

/// The bytes of the file `path`, by its ending. A PNG has `scale` pixels for each of the picture's;
/// a PDF has one page of the picture's size at 96 pixels an inch, with its texts as text. Title:
/// of the document. Throws Error as the functions above do.
std::string pictureFile(const Drawing& drawing, const std::string& title, const std::string& path,
                        double scale);

/// Gives the profile, and the second run, the colours that `options` ask for, and their own ones
/// back at the end. Nothing else may draw them meanwhile. They must outlive it.
class ColoursForExport {
 public:
  ColoursForExport(const LoadedProfile& profile, const ExportOptions& options);
  ~ColoursForExport();
  ColoursForExport(const ColoursForExport&) = delete;
  ColoursForExport& operator=(const ColoursForExport&) = delete;

 private:
  const LoadedProfile& profile_;
  std::shared_ptr<const LoadedProfile> second_;
  Theme own_;
};

/// Whether the picture has a column for each step, rather than an axis of time.
bool isStepByStep(const LoadedProfile& profile, const ExportOptions& options);

/// The title, the caption and the part of the run for `options`. Throws Error when the
/// profile has none of the steps.
PictureOptions pictureOf(const LoadedProfile& profile, const ExportOptions& options);

/// The picture that `options` ask for: a Gantt chart; for a whole run of many steps, a step a
/// column; with a second run bothRuns(). Refers to the profile. Throws Error for impossible steps
/// and sizes.
std::unique_ptr<Drawing> drawingOf(const LoadedProfile& profile, const ExportOptions& options);

/// Adds the picture, in the colours that `options` ask for, to `files`, under the name
/// options.path. PNG and PDF need a QGuiApplication. Throws Error for a name that does not end as a
/// picture does, for impossible steps and sizes, and when writing fails.
void addPicture(const LoadedProfile& profile, const ExportOptions& options, OutputSet& files);

/// Writes that picture to options.path, whole or not at all.
void exportPicture(const LoadedProfile& profile, const ExportOptions& options);

}  // namespace pipetrace
