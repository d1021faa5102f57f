#pragma once

#include "chart/chart_view.h"
#include "chart/draw/chart_picture.h"
#include "trace/files/output_set.h"
#include "viewer/export/export_options.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {

/// The title, the caption and the part of the run for `options`. Throws Error when the
/// profile has none of the steps.
PictureOptions pictureOf(const LoadedProfile& profile, const ExportOptions& options);

/// Adds the picture to `files`, under the name options.path. PNG needs a QGuiApplication. Throws
/// Error for a name that ends in neither .png nor .svg, for impossible steps and sizes, and when
/// writing fails.
void addPicture(const LoadedProfile& profile, const ExportOptions& options, OutputSet& files);

/// Writes that picture to options.path, whole or not at all.
void exportPicture(const LoadedProfile& profile, const ExportOptions& options);

/// Writes a picture of the time that `view` shows, with the rows of that state, in view or not.
void exportView(const LoadedProfile& profile, const ChartView& view, const std::string& path,
                const RowState& rows = {});

/// Throws Error unless `path` ends in .png or .svg.
void checkExportName(const std::string& path);

}  // namespace pipetrace
