#pragma once

#include "chart/chart_view.h"
#include "chart/draw/chart_picture.h"
#include "viewer/export_options.h"
#include "viewer/loaded_profile.h"

namespace pipetrace {

/// The title, the caption and the part of the run that `options` ask for. Throws Error when the
/// profile has none of the steps.
PictureOptions pictureOf(const LoadedProfile& profile, const ExportOptions& options);

/// Writes the picture; options.path has it whole or not at all. PNG needs a QGuiApplication. Throws
/// Error for a name that ends in neither .png nor .svg, for steps and sizes that cannot be, and
/// when writing fails.
void exportPicture(const LoadedProfile& profile, const ExportOptions& options);

/// Writes what `view` shows of the profile's time, all rows.
void exportView(const LoadedProfile& profile, const ChartView& view, const std::string& path);

/// Throws Error unless `path` ends as one of the formats does.
void checkExportName(const std::string& path);

}  // namespace pipetrace
