#pragma once

#include <memory>

#include "chart/draw/chart_picture.h"
#include "trace/files/output_set.h"
#include "viewer/export/export_options.h"
#include "viewer/export/picture_file.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// Gives the profile the colours that `options` ask for, and its own ones back at the end. Nothing
/// else may draw it meanwhile. The profile must outlive it.
class ColoursForExport {
 public:
  ColoursForExport(const LoadedProfile& profile, const ExportOptions& options);
  ~ColoursForExport();
  ColoursForExport(const ColoursForExport&) = delete;
  ColoursForExport& operator=(const ColoursForExport&) = delete;

 private:
  const LoadedProfile& profile_;
  Theme own_;
};

/// The title, the caption and the part of the run for `options`. Throws Error when the
/// profile has none of the steps.
PictureOptions pictureOf(const LoadedProfile& profile, const ExportOptions& options);

/// The picture that `options` ask for: a Gantt chart; for a whole run of many steps, a step a
/// column. Refers to the profile. Throws Error for impossible steps and sizes.
std::unique_ptr<Drawing> drawingOf(const LoadedProfile& profile, const ExportOptions& options);

/// Adds the picture, in the colours that `options` ask for, to `files`, under the name
/// options.path. PNG and PDF need a QGuiApplication. Throws Error for a name that does not end as a
/// picture does, for impossible steps and sizes, and when writing fails.
void addPicture(const LoadedProfile& profile, const ExportOptions& options, OutputSet& files);

/// Writes that picture to options.path, whole or not at all.
void exportPicture(const LoadedProfile& profile, const ExportOptions& options);

}  // namespace pipetrace
